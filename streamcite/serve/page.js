// Asks, and shows the answer, its sources with what is cited of them, and its findings.
import {show} from "./streamcite.js";

const SIZES = [0, 1, 2, 3, 5, 8, 13, 40, 10000];
const OWN = "own";
const $ = (id) => document.getElementById(id);
let stream;

$("size").oninput = () => {
	const size = SIZES[$("size").value];
	$("size-shown").value = size ? (size > 1000 ? "all at once" : `${size} characters each`) : "as a model's tokens";
};
$("size").onchange = () => $("form").requestSubmit();
$("which").onchange = () => {
	for (const id of ["own", "own-files"]) $(id).hidden = $("which").value !== OWN;
};
$("files").onchange = () => tell(async () => {
	for (const file of $("files").files) listed(await post(`files?name=${encodeURIComponent(file.name)}`, file));
});
$("form").onsubmit = (event) => {
	event.preventDefault();
	tell(async () => {
		const {key} = await post("ask", JSON.stringify({
			answer: $("which").value, question: $("question").value, size: SIZES[$("size").value],
		}));
		// What a reload finds again.
		history.replaceState(null, "", `#${key}`);
		await follow(key);
	});
};

function listed({files}) {
	$("told").textContent = files.length ? `Files: ${files.join(", ")}` : "";
}

// Do something, and say what went wrong with it.
async function tell(something) {
	try {
		$("told").textContent = "";
		await something();
	} catch (error) {
		$("told").textContent = error.message;
	}
}

async function post(path, body) {
	return json(await fetch(path, {method: "POST", body}));
}

async function json(response) {
	const value = await response.json().catch(() => ({}));
	if (!response.ok) throw new Error(value.error ?? `The server of this page has failed (${response.status}).`);
	return value;
}

async function follow(key) {
	stream?.close();
	const {question, sources} = await json(await fetch(`answers/${key}/about`));
	$("asked").textContent = question;
	$("findings").replaceChildren();
	const cards = new Map(sources.map((source) => [source.id, new Card(source)]));
	$("sources").replaceChildren(...[...cards.values()].map((card) => card.root));
	const root = element("div", {id: "answer"});
	$("answer").replaceWith(root);
	for (const type of ["pointerover", "focusin"]) root.addEventListener(type, ({target}) => {
		const chip = target.closest(".cite");
		if (chip) for (const [id, card] of cards) card.point(id === chip.dataset.id);
	});
	// It comes back by itself where the connection breaks, and says which event it had last.
	const source = stream = new EventSource(`answers/${key}`);
	for (const name of ["cited", "resolved"]) source.addEventListener(name, ({data}) => {
		for (const link of JSON.parse(data).links) cards.get(link.source?.id)?.mark(link.passage);
	});
	source.addEventListener("end", ({data}) => $("told").textContent = JSON.parse(data).error ?? "");
	await show(root, source);
	const findings = await json(await fetch(`answers/${key}/findings`));
	if (source !== stream) return;
	$("findings").replaceChildren(...findings.map(({severity, rule, message, excerpt}) => {
		const item = element("li", {textContent: `${severity}: ${message} (${rule}) `});
		item.append(element("code", {textContent: visible(excerpt.slice(0, 100))}));
		return item;
	}));
	if (!findings.length) $("findings").append(element("li", {textContent: "none"}));
}

// A source, with what is cited of it marked.
class Card {
	ranges = [];

	constructor({id, title, text}) {
		this.root = element("article", {className: "source"});
		this.body = element("p");
		this.points = [...text];
		this.root.append(element("h3", {textContent: title ? `${title} (${id})` : id}), this.body);
		this.draw();
	}

	// Passages count code points.
	mark(passage) {
		if (!passage) return;
		this.ranges.push([passage.start, passage.start + [...passage.text].length]);
		this.draw();
	}

	draw() {
		const cited = new Uint8Array(this.points.length);
		for (const [start, end] of this.ranges) cited.fill(1, start, end);
		this.body.replaceChildren();
		for (let at = 0, end; at < cited.length; at = end) {
			for (end = at; end < cited.length && cited[end] === cited[at]; ) end++;
			const text = this.points.slice(at, end).join("");
			this.body.append(cited[at] ? element("mark", {textContent: text}) : text);
		}
	}

	point(current) {
		this.root.classList.toggle("current", current);
		if (current) $("beside").scrollTop = this.root.offsetTop; // and not the page, which would take the chip away
	}
}

// The tokens of a marker, which no font has.
function visible(text) {
	return text.replace(/[\ue000-\uf8ff]/g, (token) => `⟨${token.charCodeAt(0).toString(16).toUpperCase()}⟩`);
}

function element(name, properties) {
	return Object.assign(document.createElement(name), properties);
}

await tell(async () => {
	const {answers, files, model} = await json(await fetch("choices"));
	const own = [OWN, model ? "a question of your own" : "a question of your own, answered by quotes of your files"];
	for (const [value, textContent] of [...answers.map(({id, question}) => [id, `${id}: ${question}`]), own])
		$("which").append(element("option", {value, textContent}));
	if (files.length) $("which").value = OWN;
	$("which").onchange();
	$("size").oninput();
	listed({files});
	$("whom").textContent = model ? `Questions of your own go to ${model}.` : "Nothing leaves this machine.";
	if (location.hash) await follow(location.hash.slice(1));
});
