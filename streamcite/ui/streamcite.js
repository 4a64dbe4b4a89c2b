// Shows an answer of the protocol in native.md while it streams.
const PROBLEMS = {
	"unknown-source": "Source not known",
	"ambiguous-source": "More than one source may be meant",
	"stale-source": "Source was shown earlier only",
	"unknown-lines": "Source has no such lines",
};
const NAMES = ["start", "cited", "resolved", "patch", "end"];
let count = 0;

/** Show an answer in an element, of a Response of fetch or an EventSource. Gives whether it is complete. */
export async function show(root, source) {
	const answer = new Answer(root);
	await (source instanceof EventSource ? listen : read)(source, answer).finally(() => answer.stop());
	return answer.complete;
}

function listen(source, answer) {
	return new Promise((done) => {
		const stop = () => (source.close(), done());
		for (const name of NAMES) source.addEventListener(name, ({data}) => answer.take(name, data) && stop());
		source.onerror = () => source.readyState === 2 && stop();
	});
}

async function read(response, answer) {
	if (!response.ok) throw new Error(`HTTP ${response.status}`);
	const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
	let rest = "", name;
	for (;;) {
		const {value, done} = await reader.read().catch(() => ({done: true}));
		if (done) return;
		const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
		rest = lines.pop();
		for (const line of lines) {
			const [, field, text] = /^([^:]*):? ?(.*)$/s.exec(line);
			if (field === "event") name = text;
			else if (field === "data" && answer.take(name, text)) return reader.cancel();
		}
	}
}

class Answer {
	complete = false;
	blocks = [];
	changed = new Set();
	links = [];
	resolved = this.cited;

	constructor(root) {
		root.classList.add("sc");
		root.ariaBusy = "true";
		this.root = root;
		this.body = element("div", root);
		this.status = element("div", root, {className: "sc-status", role: "status"});
		this.card = element("div", root, {className: "sc-card", role: "tooltip", id: `sc-card-${++count}`, hidden: true});
		const on = (listener, ...types) => types.forEach((type) => root.addEventListener(type, listener));
		on(({target}) => this.enter(target), "pointerover", "focusin");
		on(() => this.leave(), "pointerleave", "focusout");
		on(({key}) => key === "Escape" && this.hide(), "keydown");
	}

	take(name, text) {
		if (NAMES.includes(name)) this[name](JSON.parse(text));
		return name === "end";
	}

	start() {
		for (const known of this.blocks) this.set(known, ""); // it comes anew
	}

	cited({index, links}) {
		this.links[index] = links;
	}

	end({complete}) {
		this.complete = complete;
	}

	patch({block, html, keep = 0}) {
		const known = (this.blocks[block] ??= {html: "", node: element("div", this.body)});
		this.set(known, known.html.slice(0, keep) + html);
	}

	set(known, html) {
		known.html = html;
		if (!this.changed.size) requestAnimationFrame(() => this.draw());
		this.changed.add(known);
	}

	draw() {
		for (const {node, html} of this.changed) {
			const next = document.createElement("div");
			next.innerHTML = html;
			for (const chip of next.querySelectorAll(".cite")) this.label(chip);
			update(node, next);
		}
		this.changed.clear();
		if (this.chip) this.chip.isConnected ? this.fill() : this.hide();
	}

	label(chip) {
		const {number, pending, problem} = chip.dataset;
		const what = pending !== undefined ? "still looked for" : chip.title || PROBLEMS[problem] || "";
		chip.ariaLabel = `Source ${number ?? "unknown"}: ${what}`;
		chip.dataset.name = chip.title;
		chip.removeAttribute("title");
		if (!chip.href) Object.assign(chip, {role: "note", tabIndex: 0});
	}

	enter(target) {
		const chip = target.closest(".cite");
		if (chip) this.open(chip);
		else if (!this.card.contains(target)) this.leave();
	}

	leave() {
		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.root.querySelector(".cite:focus, .sc-card:hover") || this.hide(), 200);
	}

	open(chip) {
		clearTimeout(this.timer);
		if (this.chip !== chip) this.hide();
		this.chip = chip;
		this.fill();
		this.card.hidden = false;
		const at = chip.getBoundingClientRect(), root = this.root.getBoundingClientRect();
		const left = Math.max(Math.min(at.left - root.left, root.width - this.card.offsetWidth), 0);
		Object.assign(this.card.style, {left: `${left}px`, top: `${at.bottom - root.top + 4}px`});
	}

	fill() {
		const {citation, id, lines, name, problem, pending} = this.chip.dataset, {href} = this.chip;
		const link = (this.links[citation] ?? []).find(({reference, passage: part}) =>
			reference.source_id === id && (!lines || !part || `${part.first_line}-${part.last_line}` === lines));
		this.chip.setAttribute("aria-describedby", this.card.id);
		this.card.replaceChildren();
		element(href ? "a" : "strong", element("p", this.card), {textContent: name || id, ...(href && {href})});
		const note = pending === undefined ? PROBLEMS[problem] : "Source still looked for";
		for (const textContent of [note, link?.passage?.text]) if (textContent) element("p", this.card, {textContent});
	}

	hide() {
		this.chip?.removeAttribute("aria-describedby");
		this.chip = null;
		this.card.hidden = true;
	}

	stop() {
		this.draw();
		this.root.ariaBusy = "false";
		this.status.textContent = `The answer ${this.complete ? "is complete" : "broke off"}.`;
	}
}

function element(name, parent, properties) {
	return parent.appendChild(Object.assign(document.createElement(name), properties));
}

// Make a node like another, but leave what is alike: focus and selection stay.
function update(node, next) {
	const old = [...node.childNodes], fresh = [...next.childNodes];
	fresh.forEach((child, index) => {
		const known = old[index];
		if (!known) node.append(child);
		else if (known.isEqualNode(child)) return;
		else if (known.nodeType === 3 && child.nodeType === 3) known.data = child.data;
		else if (known.nodeName === child.nodeName) {
			for (const name of known.getAttributeNames()) known.removeAttribute(name);
			for (const {name, value} of child.attributes) known.setAttribute(name, value);
			update(known, child);
		} else known.replaceWith(child);
	});
	old.slice(fresh.length).forEach((child) => child.remove());
}
