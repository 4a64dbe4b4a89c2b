// Reads answers as front ends do, with the npm packages that they use, and gives what came of it. One line of JSON in,
// {reader, body | url | api and messages and chatId and leaves}, and one out: {value} or {error}.
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";
import {createInterface} from "node:readline";

const [modules] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${modules}/none.js`));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const {default: OpenAI} = await load("openai");

const asked = {model: "any", messages: [{role: "user", content: "?"}]};

function fetchFor({body, url}) {
	const headers = {"content-type": "text/event-stream; charset=utf-8"};
	return (_, options) => (url ? fetch(url, {...options, method: "GET", body: undefined}) : new Response(body, {headers}));
}

// What useChat does with an answer.
async function readUI(name, given) {
	const {DefaultChatTransport, readUIMessageStream, validateUIMessages} = await load(name);
	const {api = "http://127.0.0.1/", messages, chatId = "chat", leaves} = given;
	const transport = new DefaultChatTransport({api, fetch: given.api ? fetch : fetchFor(given)});
	let chunks = null;
	if (messages || !given.api) {
		const abort = new AbortController();
		const asked = {trigger: "submit-message", chatId, messages: messages ?? [], abortSignal: abort.signal};
		chunks = await transport.sendMessages(asked);
		if (leaves) {
			await chunks.getReader().read();
			abort.abort();
		}
	}
	// A page that comes back has the messages, but not what it was reading.
	if (leaves || !chunks) chunks = await transport.reconnectToStream({chatId});
	if (!chunks) return null;
	const errors = [], kinds = [];
	const told = chunks.pipeThrough(new TransformStream({transform: (chunk, to) => (kinds.push(chunk.type), to.enqueue(chunk))}));
	let message = null;
	for await (const next of readUIMessageStream({stream: told, onError: (error) => errors.push(String(error.message))}))
		message = next;
	// A conversation that was kept must be readable too.
	if (message) await validateUIMessages({messages: [message.id ? message : {...message, id: "any"}]});
	return {message, errors, kinds};
}

function client(given) {
	return new OpenAI({apiKey: "any", baseURL: "http://127.0.0.1/", maxRetries: 0, fetch: fetchFor(given)});
}

// What the AI SDK reads where OpenAI is its provider.
async function generate(api, given) {
	const {streamText} = await load("ai6");
	const {createOpenAI} = await load("@ai-sdk/openai");
	const model = createOpenAI({apiKey: "any", baseURL: "http://127.0.0.1/", fetch: fetchFor(given)})[api]("any");
	const errors = [];
	const result = streamText({model, prompt: "?", maxRetries: 0, onError: ({error}) => errors.push(String(error.message ?? error))});
	const text = await result.text.catch(() => null);
	if (errors.length) throw new Error(errors.join("; "));
	const sources = (await result.sources).map(({url, filename}) => url ?? filename);
	return {text, sources, finishReason: await result.finishReason};
}

async function gather(stream) {
	const events = [];
	for await (const event of stream) events.push(event);
	return events;
}

const readers = {
	ai6: (given) => readUI("ai6", given),
	ai7: (given) => readUI("ai7", given),
	"chat-create": async (given) => gather(await client(given).chat.completions.create({...asked, stream: true})),
	"chat-stream": async (given) => client(given).chat.completions.stream(asked).finalChatCompletion(),
	"ai-chat": (given) => generate("chat", given),
	"ai-responses": (given) => generate("responses", given),
	"responses-create": async (given) => gather(await client(given).responses.create({model: "any", input: "?", stream: true})),
	"responses-stream": async (given) => client(given).responses.stream({model: "any", input: "?"}).finalResponse(),
};

console.log(JSON.stringify({value: "ready"}));
for await (const line of createInterface({input: process.stdin})) {
	const {reader, ...given} = JSON.parse(line);
	let outcome;
	try {
		outcome = {value: await readers[reader](given)};
	} catch (error) {
		outcome = {error: `${error.constructor.name}: ${error.message}`};
	}
	console.log(JSON.stringify(outcome));
}
