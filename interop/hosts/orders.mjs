// What the hosts in JavaScript share: orders.go has the form of orders and answers.
import { createInterface } from 'node:readline';

export const serverSent = { logs: [], updates: [], asked: [] };

// What the host gives a server that asks, by method.
export const given = {
  'elicitation/create': { action: 'accept', content: { name: 'Ada', username: 'Ada', email: 'ada@example.com' } },
  'sampling/createMessage': {
    role: 'assistant', model: 'model-1', content: { type: 'text', text: 'a thought' }, stopReason: 'endTurn',
  },
  'roots/list': { roots: [{ name: 'home', uri: 'file:///home/ada' }] },
};

export const capabilities = { elicitation: { form: {} }, sampling: {}, roots: { listChanged: true } };

// clientOf returns how a host with a client of the TypeScript SDK carries out orders.
// connect(order) returns the connected client; callTool and subscribe, which is for the
// stateless era, are what the two SDKs do differently.
export function clientOf(connect, { callTool, subscribe }) {
  let client, level;
  const stateless = () => client.getNegotiatedProtocolVersion() >= '2026';

  async function call({ name, args }, signal, leave) {
    const progress = [];
    const onprogress = (p) => { progress.push(p.progress); leave?.(); };
    const _meta = level && { 'io.modelcontextprotocol/logLevel': level };
    const params = { name, arguments: args, ...(_meta && { _meta }) };
    const result = await callTool(client, params, { onprogress, signal });
    return { text: (result.content ?? []).map((c) => c.text ?? '').join(''), failed: result.isError, progress };
  }

  async function all(list, member, kind, name) {
    const names = [];
    let cursor;
    do {
      const page = await client[list](cursor ? { cursor } : undefined);
      names.push(...page[member].map((m) => `${kind} ${m[name]}`));
      cursor = page.nextCursor;
    } while (cursor);
    return names;
  }

  return {
    async connect(order) {
      client = await connect(order);
      return { server: client.getServerVersion().name, revision: client.getNegotiatedProtocolVersion() };
    },
    async list() {
      return { names: [
        ...await all('listTools', 'tools', 'tool', 'name'),
        ...await all('listPrompts', 'prompts', 'prompt', 'name'),
        ...await all('listResources', 'resources', 'resource', 'uri'),
        ...await all('listResourceTemplates', 'resourceTemplates', 'template', 'uriTemplate'),
      ] };
    },
    call: (order) => call(order),
    cancel(order) {
      const controller = new AbortController();
      return call(order, controller.signal, () => controller.abort('left'));
    },
    async prompt({ name }) { await client.getPrompt({ name }); },
    async level({ name }) {
      if (stateless()) level = name;
      else await client.setLoggingLevel(name);
    },
    async subscribe({ name }) {
      if (stateless()) await subscribe(client, name);
      else await client.subscribeResource({ uri: name });
    },
    async close() {
      await client.transport.terminateSession?.(); // of HTTP: close alone leaves the session
      await client.close();
    },
  };
}

// serve takes orders until stdin ends.
export async function serve(host) {
  for await (const line of createInterface({ input: process.stdin })) {
    const order = JSON.parse(line);
    let answer;
    try {
      if (order.do === 'seen') answer = serverSent;
      else if (host[order.do]) answer = await host[order.do](order) ?? {};
      else answer = { none: `this host has no ${order.do}` };
    } catch (e) {
      const data = e.data === undefined ? '' : JSON.stringify(e.data);
      answer = { error: `${e.code ?? ''} ${e.message ?? e} ${data}`.trim() };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
  process.exit(0);
}
