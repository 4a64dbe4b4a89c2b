// Asks a server as programs do, with npm `openai` and the AI SDK, and gives the text and what it cites. One line of JSON
// in, {client, baseURL, model, messages}, and one out: {value} or {error}.
import {createRequire} from "node:module";
import {pathToFileURL} from "node:url";
import {createInterface} from "node:readline";

const [modules] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${modules}/none.js`));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const {default: OpenAI} = await load("openai");
const {createOpenAI} = await load("@ai-sdk/openai");
const {streamText} = await load("ai6");

const openai = ({baseURL}) => new OpenAI({apiKey: "any", baseURL, maxRetries: 0});
const asked = ({model, messages}) => ({model, messages});

async function ofAISDK(model, {messages}) {
	const errors = [];
	// The SDK wants the instructions apart from the conversation.
	const system = messages.filter(({role}) => role === "system").map(({content}) => content).join("\n");
	const rest = messages.filter(({role}) => role !== "system");
	const result = streamText({model, system, messages: rest, maxRetries: 0, onError: ({error}) => errors.push(String(error))});
	const text = await result.text;
	if (errors.length) throw new Error(errors.join("; "));
	return {text, cited: (await result.sources).map(({url, title, filename}) => url ?? filename ?? title)};
}

const clients = {
	"chat-create": async (given) => {
		let text = "";
		const cited = [];
		for await (const chunk of await openai(given).chat.completions.create({...asked(given), stream: true})) {
			const delta = chunk.choices[0]?.delta;
			text += delta?.content ?? "";
			for (const {url_citation} of delta?.annotations ?? []) cited.push(url_citation.url);
		}
		return {text, cited};
	},
	"chat-stream": async (given) => {
		const {content, annotations} = await openai(given).chat.completions.stream(asked(given)).finalMessage();
		return {text: content, cited: (annotations ?? []).map(({url_citation}) => url_citation.url)};
	},
	"responses-stream": async ({messages, model, ...given}) => {
		const response = await openai(given).responses.stream({model, input: messages}).finalResponse();
		const {annotations} = response.output.at(-1).content[0];
		return {text: response.output_text, cited: annotations.map(({url, filename}) => url ?? filename)};
	},
	"ai-chat": (given) => ofAISDK(createOpenAI({apiKey: "any", baseURL: given.baseURL}).chat(given.model), given),
	"ai-responses": (given) => ofAISDK(createOpenAI({apiKey: "any", baseURL: given.baseURL}).responses(given.model), given),
};

console.log(JSON.stringify({value: "ready"}));
for await (const line of createInterface({input: process.stdin})) {
	const {client, ...given} = JSON.parse(line);
	let outcome;
	try {
		outcome = {value: await clients[client](given)};
	} catch (error) {
		outcome = {error: `${error.constructor.name}: ${error.message}`};
	}
	console.log(JSON.stringify(outcome));
}
