// The MCP server of a greenhouse, on the low-level Server class of the
// TypeScript SDK. Speaks stdio, or streamable HTTP with --http PORT (at /mcp).
// DEFECT=name switches on one mistake.
import { createServer } from 'node:http';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema, CompleteRequestSchema, CreateMessageResultSchema, ElicitResultSchema, ErrorCode,
  GetPromptRequestSchema, ListPromptsRequestSchema, ListResourcesRequestSchema, ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema, McpError, ReadResourceRequestSchema, SubscribeRequestSchema, UnsubscribeRequestSchema,
  isInitializeRequest,
} from '@modelcontextprotocol/sdk/types.js';

const defect = (name) => process.env.DEFECT === name;

// What the greenhouse looks like. Sensor s4 has been offline since the storm.
const sensors = {
  s1: { bed: 'ferns', kind: 'temperature', unit: 'C', value: 21.5, at: '2026-11-28T08:00:00Z' },
  s2: { bed: 'ferns', kind: 'humidity', unit: '%', value: 64, at: '2026-11-28T08:00:05Z' },
  s3: { bed: 'tomatoes', kind: 'temperature', unit: 'C', value: 24, at: '2026-11-28T08:00:10Z' },
  s4: { bed: 'tomatoes', kind: 'moisture', unit: '%', value: undefined, at: '2026-11-20T03:12:00Z' },
  s5: { bed: 'orchids', kind: 'temperature', unit: 'C', value: 26.25, at: '2026-11-28T08:00:15Z' },
};
const valves = { v1: { bed: 'ferns', open: 0 }, v2: { bed: 'tomatoes', open: 0 }, v3: { bed: 'orchids', open: 0 } };
const beds = ['ferns', 'orchids', 'tomatoes'];
const alarms = [{ text: 'Frost warning', at: '2026-11-20T02:00:00Z' }];
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const servers = new Set(); // one for each client
const everyone = new Set(); // uris that somebody is subscribed to
let current; // the sensor being read

const text = (t) => ({ type: 'text', text: t });
const say = (t) => ({ content: [text(t)] });
const sorry = (t) => ({ content: [text(t)], isError: true });
const structured = (value) => ({ content: [text(JSON.stringify(value))], structuredContent: value });
const invalid = (message) => new McpError(ErrorCode.InvalidParams, message);

const str = (more) => ({ type: 'string', ...more });
const object = (properties, required = []) => ({ type: 'object', properties, required, additionalProperties: false });
const reading = {
  type: 'object',
  properties: {
    sensor: str(), kind: str({ enum: ['temperature', 'humidity', 'moisture'] }), at: str({ format: 'date-time' }),
    value: { type: 'number', description: 'absent while the sensor is offline' }, unit: str({ enum: ['C', 'F', '%'] }),
  },
  required: ['sensor', 'kind', 'unit', 'at'],
};

const tools = [
  {
    name: 'read_sensor', title: 'Read a sensor', description: 'The latest value of a sensor.',
    inputSchema: object({ sensor: str(), unit: str({ enum: ['C', 'F'], description: 'for temperatures' }) }, ['sensor']),
    outputSchema: reading, annotations: { readOnlyHint: true },
    async run(args) {
      current = args.sensor;
      const mine = args.sensor;
      await sleep(20 + (sensors[mine] ? 10 * Number(mine[1]) : 0)); // the bus is slow
      const id = defect('mixed-readings') ? current : mine;
      const s = sensors[id];
      if (!s) return sorry(`There is no sensor ${id}.`);
      const out = { sensor: id, kind: s.kind, unit: s.unit, at: s.at };
      if (s.value !== undefined) out.value = s.value;
      if (defect('offline-nan')) out.value = Math.round(s.value * 100) / 100;
      if (args.unit === 'F' && s.kind === 'temperature') {
        out.unit = 'F';
        out.value = (s.value * 9) / 5 + 32;
        if (defect('fahrenheit-text')) out.value = out.value.toFixed(1);
      }
      return structured(out);
    },
  },
  {
    name: 'list_sensors', description: 'All sensors, or those of one bed.',
    inputSchema: object({ bed: str() }), annotations: { readOnlyHint: true },
    outputSchema: { type: 'object', properties: { sensors: { type: 'array', items: reading } }, required: ['sensors'] },
    run(args) {
      const bed = defect('optional-bed') ? args.bed.toLowerCase() : args.bed?.toLowerCase();
      const found = Object.entries(sensors).filter(([, s]) => !bed || s.bed === bed);
      return structured({ sensors: found.map(([sensor, s]) => ({ sensor, kind: s.kind, unit: s.unit, at: s.at, value: s.value })) });
    },
  },
  {
    name: 'sensor_history', description: 'Values of the last hours, one an hour.',
    inputSchema: object({ sensor: str(), hours: { type: 'integer', minimum: 0, maximum: 48 } }, ['sensor', 'hours']),
    outputSchema: {
      type: 'object', required: ['points'],
      properties: { points: { type: 'array', items: { type: 'object', properties: { hour: { type: 'integer' }, value: { type: 'number' } }, required: ['hour', 'value'] } } },
    },
    run(args) {
      const s = sensors[args.sensor];
      if (!s) return sorry(`There is no sensor ${args.sensor}.`);
      const points = [];
      for (let hour = 1; s.value !== undefined && hour <= args.hours; hour++) points.push({ hour: -hour, value: s.value - hour / 10 });
      if (points.length === 0 && defect('empty-unstructured')) return say('There are no values for that time.');
      return structured({ points });
    },
  },
  {
    name: 'open_valve', description: 'Waters a bed. More than 30 minutes need a yes of the user.',
    inputSchema: object({ valve: str({ enum: Object.keys(valves) }), minutes: { type: 'integer', minimum: 1, maximum: 120 } }, ['valve', 'minutes']),
    annotations: { destructiveHint: false, idempotentHint: true },
    async run(args, extra, house) {
      let minutes = args.minutes;
      if (minutes > 30) {
        if (!house.server.getClientCapabilities()?.elicitation) return sorry('More than 30 minutes only if the client can ask the user.');
        const answer = await extra.sendRequest({
          method: 'elicitation/create',
          params: {
            message: `Really water the ${valves[args.valve].bed} for ${minutes} minutes?`,
            requestedSchema: {
              type: 'object', required: ['minutes'],
              properties: { minutes: { type: 'integer', title: 'Minutes', minimum: 1, maximum: 120, default: defect('default-as-text') ? String(minutes) : minutes } },
            },
          },
        }, ElicitResultSchema);
        if (answer.action !== 'accept') return say(`The valve stays shut: the user said ${answer.action}.`);
        minutes = answer.content?.minutes ?? minutes;
      }
      valves[args.valve].open = minutes;
      await updated(`greenhouse://valve/${args.valve}`);
      return say(`${args.valve} is open for ${minutes} minutes.`);
    },
  },
  {
    name: 'calibrate', description: 'Calibrates a sensor step by step; takes a moment.',
    inputSchema: object({ sensor: str(), steps: { type: 'integer', minimum: 1, maximum: 50 }, pauseMs: { type: 'integer', minimum: 0, maximum: 1000 } }, ['sensor']),
    async run(args, extra, house) {
      if (!sensors[args.sensor]) {
        if (defect('prints-failures')) console.log('calibrate: no sensor %s', args.sensor);
        return sorry(`There is no sensor ${args.sensor}.`);
      }
      const steps = args.steps ?? 4;
      const progressToken = defect('token-is-id') ? extra.requestId : extra._meta?.progressToken;
      for (let step = 1; step <= steps; step++) {
        await sleep(args.pauseMs ?? 40, undefined, { signal: extra.signal });
        await log(house, extra, 'debug', { sensor: args.sensor, step });
        if (extra._meta?.progressToken === undefined) continue;
        const progress = defect('progress-text') ? `${step}` : step;
        await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress, total: steps, message: `step ${step}` } });
      }
      await log(house, extra, 'info', `calibrated ${args.sensor}`);
      return say(`${args.sensor} is calibrated.`);
    },
  },
  {
    name: 'photograph', description: 'A picture of a bed.', inputSchema: object({ bed: str({ enum: beds }) }, ['bed']),
    run: (args) => ({
      content: [
        { type: 'image', data: PICTURE, mimeType: 'image/png', annotations: { audience: ['user'], priority: 0.9 } },
        { type: 'resource_link', uri: `greenhouse://picture/${args.bed}`, name: `picture of ${args.bed}`, mimeType: 'image/png' },
      ],
    }),
  },
  {
    name: 'raise_alarm', description: 'Records an alarm.', inputSchema: object({ text: str({ minLength: 1, maxLength: 200 }) }, ['text']),
    async run(args) {
      alarms.push({ text: args.text, at: '2026-11-28T09:00:00Z' });
      if (defect('emoji-kills')) void archive(args.text); else await archive(args.text).catch(() => {});
      for (const house of servers) await house.server.sendResourceListChanged().catch(() => {});
      return say(`Alarm ${alarms.length} is recorded.`);
    },
  },
  {
    name: 'growing_advice', description: "Has the client's model advise on a bed.", inputSchema: object({ bed: str({ enum: beds }) }, ['bed']),
    async run(args, extra, house) {
      if (!house.server.getClientCapabilities()?.sampling) return sorry('The client has no model to offer.');
      const params = { messages: [{ role: 'user', content: text(`What do ${args.bed} need in winter?`) }], maxTokens: 200 };
      if (defect('no-max-tokens')) delete params.maxTokens;
      const answer = await extra.sendRequest({ method: 'sampling/createMessage', params }, CreateMessageResultSchema);
      return say([answer.content].flat().filter((c) => c.type === 'text').map((c) => c.text).join('\n'));
    },
  },
  {
    name: 'shut_all', description: 'Shuts all valves.', inputSchema: defect('schema-without-type') ? {} : { type: 'object', additionalProperties: false },
    annotations: { idempotentHint: true },
    run() {
      for (const v of Object.values(valves)) v.open = 0;
      return say('All valves are shut.');
    },
  },
];

async function archive(note) {
  await sleep(5);
  return encodeURIComponent(note.slice(0, 12)); // the name of the file it goes to
}

async function updated(uri) {
  for (const house of servers) {
    const wants = defect('shared-subscriptions') ? everyone.has(uri) : house.subscriptions.has(uri);
    if (wants) await house.server.sendResourceUpdated({ uri }).catch(() => {});
  }
}

async function log(house, extra, level, data) {
  if (defect('loud-log')) {
    await extra.sendNotification({ method: 'notifications/message', params: { level, logger: 'greenhouse', data } });
  } else if (defect('log-message-field') && typeof data === 'string') {
    await extra.sendNotification({ method: 'notifications/message', params: { level, logger: 'greenhouse', message: data } });
  } else if (!house.server.isMessageIgnored(level, extra.sessionId)) {
    await extra.sendNotification({ method: 'notifications/message', params: { level, logger: 'greenhouse', data } });
  }
}

// check says what is wrong with the arguments of a tool, or nothing.
function check(schema, args) {
  for (const name of schema.required ?? []) if (args[name] === undefined) return `${name} is missing`;
  for (const [name, v] of Object.entries(args)) {
    const s = schema.properties?.[name];
    if (!s) return `there is no argument ${name}`;
    if (s.type === 'integer' ? !Number.isInteger(v) : typeof v !== s.type) return `${name} must be of type ${s.type}`;
    if (s.enum && !s.enum.includes(v)) return `${name} must be one of ${s.enum.join(', ')}`;
    if (v < s.minimum || v > s.maximum) return `${name} must lie between ${s.minimum} and ${s.maximum}`;
    if (typeof v === 'string' && ([...v].length < (s.minLength ?? 0) || [...v].length > (s.maxLength ?? Infinity))) return `${name} has the wrong length`;
  }
}

function resources() {
  return [
    ...Object.entries(sensors).map(([id, s]) => ({ uri: `greenhouse://sensor/${id}`, name: `sensor ${id}`, description: `${s.kind} of the ${s.bed}`, mimeType: 'application/json' })),
    ...Object.keys(valves).map((id) => ({ uri: `greenhouse://valve/${id}`, name: `valve ${id}`, mimeType: 'application/json' })),
    ...beds.map((bed) => ({ uri: `greenhouse://picture/${bed}`, name: `picture of ${bed}`, mimeType: 'image/png' })),
    ...alarms.map((a, i) => ({ uri: `greenhouse://alarm/${i + 1}`, name: `alarm ${i + 1}`, mimeType: 'text/plain', annotations: { lastModified: a.at } })),
  ];
}

function read(uri) {
  const [, kind, id] = /^greenhouse:\/\/(\w+)\/(\w+)$/.exec(uri) ?? [];
  const json = (v) => [{ uri, mimeType: 'application/json', text: JSON.stringify(v) }];
  if (kind === 'sensor' && sensors[id]) return json({ sensor: id, ...sensors[id] });
  if (kind === 'valve' && valves[id]) return json({ valve: id, ...valves[id] });
  if (kind === 'picture' && beds.includes(id)) return [{ uri, mimeType: 'image/png', blob: defect('blob-data-url') ? `data:image/png;base64,${PICTURE}` : PICTURE }];
  const alarm = kind === 'alarm' && alarms[Number(id) - 1];
  if (alarm) return defect('alarm-without-uri') ? [{ mimeType: 'text/plain', text: alarm.text }] : [{ uri, mimeType: 'text/plain', text: alarm.text }];
  throw new McpError(-32002, 'Resource not found', { uri });
}

const prompts = [
  { name: 'bed_report', description: 'A report on one bed.', arguments: [{ name: 'bed', required: true }, { name: 'length', description: 'short or long' }] },
  { name: 'weekly_plan', description: 'A plan of the work of the week.' },
];

function page(all, cursor, size) {
  let start = 0;
  if (cursor !== undefined) {
    if (defect('cursor-internal')) {
      start = JSON.parse(Buffer.from(cursor, 'base64').toString()).from;
    } else {
      try { start = JSON.parse(Buffer.from(cursor, 'base64').toString()).from; } catch { start = -1; }
      if (!Number.isInteger(start) || start < 1 || start > all.length) throw invalid('Invalid cursor');
    }
  }
  const end = start + size;
  const next = end < all.length ? Buffer.from(JSON.stringify({ from: end })).toString('base64') : null;
  const items = all.slice(start, end);
  return next === null && !defect('null-cursor') ? { items } : { items, nextCursor: next };
}

// newHouse makes the server of one client.
function newHouse() {
  const server = new Server(
    { name: 'greenhouse', title: 'Greenhouse', version: '2.4.0' },
    {
      capabilities: {
        tools: {}, prompts: {}, completions: {}, logging: {},
        resources: defect('quiet-list-changed') ? { subscribe: true } : { subscribe: true, listChanged: true },
      },
      instructions: 'Sensors are called s1 to s5.',
    },
  );
  const house = { server, subscriptions: new Set() };
  server.onerror = (error) => console.error(error.message);
  const list = (schema, field, all, size) => server.setRequestHandler(schema, (request) => {
    const { items, ...more } = page(all(), request.params?.cursor, size);
    return { [field]: items, ...more };
  });
  list(ListToolsRequestSchema, 'tools', () => tools.map(({ run, ...tool }) => tool), 50);
  list(ListResourcesRequestSchema, 'resources', resources, 4);
  list(ListPromptsRequestSchema, 'prompts', () => prompts, 50);
  list(ListResourceTemplatesRequestSchema, 'resourceTemplates', () => [
    { uriTemplate: 'greenhouse://sensor/{sensor}', name: 'sensor', mimeType: 'application/json' },
    { uriTemplate: 'greenhouse://picture/{bed}', name: 'picture', mimeType: 'image/png' },
  ], 50);

  server.setRequestHandler(CallToolRequestSchema, async (request, extra) => {
    const tool = tools.find((t) => t.name === request.params.name);
    if (!tool) throw invalid(`Unknown tool: ${request.params.name}`);
    const args = defect('needs-arguments') ? request.params.arguments : request.params.arguments ?? {};
    const wrong = check(tool.inputSchema, args);
    return wrong ? sorry(wrong) : tool.run(args, extra, house);
  });
  server.setRequestHandler(ReadResourceRequestSchema, (request) => ({ contents: read(request.params.uri) }));
  server.setRequestHandler(SubscribeRequestSchema, (request) => {
    read(request.params.uri);
    house.subscriptions.add(request.params.uri);
    everyone.add(request.params.uri);
    return {};
  });
  server.setRequestHandler(UnsubscribeRequestSchema, (request) => {
    house.subscriptions.delete(request.params.uri);
    return {};
  });
  server.setRequestHandler(GetPromptRequestSchema, (request) => {
    const { name, arguments: args = {} } = request.params;
    if (name === 'weekly_plan') return { messages: [{ role: 'user', content: text('Plan the work in the greenhouse for this week.') }] };
    if (name !== 'bed_report') throw invalid(`Unknown prompt: ${name}`);
    if (!beds.includes(args.bed)) throw invalid('bed must name a bed');
    const ask = text(`Write a ${args.length ?? 'short'} report on the ${args.bed}.`);
    return { description: `Report on the ${args.bed}`, messages: [{ role: 'user', content: defect('content-array') ? [ask] : ask }] };
  });
  server.setRequestHandler(CompleteRequestSchema, (request) => {
    const { ref, argument } = request.params;
    let from;
    if (ref.type === 'ref/prompt' && ref.name === 'bed_report') from = { bed: beds, length: ['long', 'short'] }[argument.name];
    if (ref.type === 'ref/resource' && ref.uri === 'greenhouse://sensor/{sensor}') from = { sensor: Object.keys(sensors) }[argument.name];
    if (ref.type === 'ref/resource' && ref.uri === 'greenhouse://picture/{bed}') from = { bed: beds }[argument.name];
    if (!from) throw invalid('There is nothing to complete there');
    const values = from.filter((v) => v.startsWith(argument.value));
    if (defect('labelled-completions') && ref.type === 'ref/resource') {
      return { completion: { values: values.map((value) => ({ value, label: value.toUpperCase() })), total: values.length, hasMore: false } };
    }
    return { completion: { values, total: values.length, hasMore: false } };
  });
  servers.add(house);
  server.onclose = () => servers.delete(house);
  return house;
}

function serveHttp(port) {
  const sessions = new Map();
  let only;
  const refuse = (res, status, code, message) => {
    res.writeHead(status, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', error: { code, message } }));
  };
  const open = async () => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => sessions.set(id, transport),
    });
    const house = newHouse();
    await house.server.connect(transport);
    const closed = transport.onclose;
    transport.onclose = () => { sessions.delete(transport.sessionId); closed?.(); };
    return transport;
  };
  const handle = async (req, res) => {
    const { pathname } = new URL(req.url, 'http://localhost');
    if (pathname !== '/mcp') return refuse(res, 404, -32600, 'Not found');
    if (req.headers.origin && !['localhost', '127.0.0.1'].includes(URL.canParse(req.headers.origin) && new URL(req.headers.origin).hostname)) {
      return refuse(res, 403, -32600, 'Origin not allowed');
    }
    if (defect('only-post') && req.method !== 'POST') return refuse(res, 404, -32600, 'Not found');
    let body;
    if (req.method === 'POST') {
      const chunks = [];
      for await (const chunk of req) chunks.push(chunk);
      const raw = Buffer.concat(chunks).toString();
      if (defect('bad-json-kills')) {
        body = JSON.parse(raw);
      } else {
        try { body = JSON.parse(raw); } catch { return refuse(res, 400, -32700, 'Parse error'); }
      }
    }
    if (defect('single-transport')) {
      only ??= await open();
      return only.handleRequest(req, res, body);
    }
    const id = req.headers['mcp-session-id'];
    if (id) {
      const transport = sessions.get(id);
      return transport ? transport.handleRequest(req, res, body) : refuse(res, 404, -32600, 'Session not found');
    }
    if (req.method === 'POST' && isInitializeRequest(body)) return (await open()).handleRequest(req, res, body);
    return refuse(res, 400, -32600, 'An Mcp-Session-Id is needed');
  };
  const http = createServer((req, res) => {
    const done = handle(req, res);
    if (!defect('bad-json-kills')) {
      done.catch((error) => { console.error(error); if (!res.headersSent) refuse(res, 500, -32603, 'Internal error'); });
    }
  });
  http.listen(port, '127.0.0.1', () => console.error(`listening on http://127.0.0.1:${http.address().port}/mcp`));
}

const at = process.argv.indexOf('--http');
if (at > 0) {
  serveHttp(Number(process.argv[at + 1]));
} else {
  const transport = new StdioServerTransport();
  process.stdin.on('end', () => transport.close().then(() => process.exit(0)));
  await newHouse().server.connect(transport);
}
