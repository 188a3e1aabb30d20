// Runs the official OpenAI SDK against Hob: node openai_sdk.mjs MODULES URL TOKEN. It prints what
// each call returned as one JSON object per line.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [modules, baseURL, apiKey] = process.argv.slice(2);
const { default: OpenAI } = await import(pathToFileURL(createRequire(modules + '/x.js').resolve('openai')).href);
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 });
const image = { type: 'input_image', detail: 'auto', image_url: 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==' };

async function say(name, call) {
	try {
		console.log(JSON.stringify({ name, ...(await call()) }));
	} catch (e) {
		console.log(JSON.stringify({ name, error: e.constructor.name, status: e.status, code: e.code, message: e.message }));
	}
}

const chat = content => ({ model: 'hob', messages: [{ role: 'system', content: 'be brief' }, { role: 'user', content }] });

await say('models', async () => {
	const models = [];
	for await (const m of client.models.list()) models.push(m.id);
	return { text: models.join(' ') };
});
await say('chat', async () => {
	const c = await client.chat.completions.create(chat('say one'));
	return { text: c.choices[0].message.content, reason: c.choices[0].finish_reason, object: c.object, tokens: c.usage?.total_tokens };
});
await say('chat stream', async () => {
	let text = '', reason, usage;
	for await (const c of await client.chat.completions.create({ ...chat('say two'), stream: true, stream_options: { include_usage: true } })) {
		text += c.choices[0]?.delta?.content ?? '';
		reason = c.choices[0]?.finish_reason ?? reason;
		usage = c.usage ?? usage;
	}
	return { text, reason, tokens: usage?.total_tokens };
});
await say('chat helper', async () => {
	const s = client.chat.completions.stream(chat('say three'));
	return { text: await s.finalContent(), reason: (await s.finalChatCompletion()).choices[0].finish_reason };
});
let previous;
await say('response', async () => {
	const r = await client.responses.create({ model: 'hob', instructions: 'be brief', input: 'say four' });
	previous = r.id;
	return { text: r.output_text, status: r.status, object: r.object, tokens: r.usage?.total_tokens };
});
await say('response stream', async () => {
	let text = '', types = [], last;
	for await (const e of await client.responses.create({ model: 'hob', input: [{ role: 'user', content: [{ type: 'input_text', text: 'say five' }] }], previous_response_id: previous, stream: true })) {
		if (e.type === 'response.output_text.delta') text += e.delta;
		if (types.at(-1) !== e.type) types.push(e.type);
		last = e;
	}
	return { text, types: types.join(' '), status: last.response.status };
});
await say('response helper', async () => {
	const s = client.responses.stream({ model: 'hob', input: 'say six' });
	return { text: (await s.finalResponse()).output_text };
});
await say('response image', async () => {
	const r = await client.responses.create({ model: 'hob', input: [{ role: 'user', content: [{ type: 'input_text', text: 'say seven' }, image] }] });
	return { text: r.output_text };
});
await say('unknown response', () => client.responses.create({ model: 'hob', input: 'x', previous_response_id: 'resp_none' }));
await say('background', () => client.responses.create({ model: 'hob', input: 'x', background: true }));
await say('no user message', () => client.chat.completions.create({ model: 'hob', messages: [] }));
await say('wrong key', () => new OpenAI({ baseURL, apiKey: 'wrong', maxRetries: 0 }).models.list());
await say('cancel', async () => {
	const s = await client.chat.completions.create({ ...chat('say slow'), stream: true });
	for await (const c of s) if (c.choices[0]?.delta?.content) break; // the SDK ends the request
	return { text: 'stopped' };
});
