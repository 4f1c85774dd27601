// A small bakery as an MCP server, written with the official TypeScript SDK.
//
// Without arguments it speaks stdio; `--http PORT` serves streamable HTTP.
// DEFECT=name in the environment switches one mistake on.
import http from 'node:http';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import {
  CallToolRequestSchema, CompleteRequestSchema, CreateMessageResultSchema, ErrorCode, GetPromptRequestSchema, InitializeRequestSchema,
  ListPromptsRequestSchema, ListResourcesRequestSchema, ListResourceTemplatesRequestSchema, ListToolsRequestSchema,
  McpError, ReadResourceRequestSchema, SetLevelRequestSchema, SubscribeRequestSchema, UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { BREADS, RECIPES, STOCK, labelPng, photoPng } from './goods.mjs';
import { TOOLS } from './tools.mjs';

const on = (name) => process.env.DEFECT === name;

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
const PAGE = 4;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

const validator = new AjvJsonSchemaValidator();
const checks = new Map(TOOLS.map((t) => [t.name, validator.getValidator(t.inputSchema)]));

// Every open session, to tell all of them about changes.
const open = new Set();
// The session that was opened last.
let newest;

const text = (t) => ({ type: 'text', text: t });
const failed = (t) => ({ content: [text(t)], isError: true });
const answer = (value) => ({ content: [text(JSON.stringify(value))], structuredContent: value });

function page(items, cursor) {
  let start = 0;
  if (cursor !== undefined) {
    const at = Buffer.from(cursor, 'base64').toString();
    if (!/^after:\d+$/.test(at)) throw new McpError(ErrorCode.InvalidParams, `unknown cursor ${cursor}`);
    start = Number(at.slice(6));
    if (start < 1 || start >= items.length) throw new McpError(ErrorCode.InvalidParams, `unknown cursor ${cursor}`);
  }
  const end = start + PAGE;
  const next = on('page-overlap') ? end - 1 : end;
  const out = { items: items.slice(start, end) };
  if (end < items.length) out.nextCursor = Buffer.from(`after:${next}`).toString('base64');
  return out;
}

const recipeUri = (name) => `bakery://recipes/${on('recipe-uri-space') ? name : encodeURIComponent(name)}`;

function resources() {
  const menu = menuText();
  const list = [
    { uri: 'bakery://menu', name: 'menu', title: 'Menu', mimeType: 'text/plain', size: size(menu),
      annotations: { audience: ['user', 'assistant'], priority: 0.7 } },
    { uri: 'bakery://stock', name: 'stock', mimeType: 'application/json', description: 'Kilograms of every ingredient' },
    { uri: 'bakery://photos/sourdough.png', name: 'photo of the sourdough', mimeType: 'image/png', size: photoPng().length },
  ];
  for (const [name, body] of Object.entries(RECIPES)) {
    list.push({ uri: recipeUri(name), name: `recipe: ${name}`, mimeType: 'text/plain', size: size(body) });
  }
  return list;
}

const size = (s) => (on('size-in-characters') ? s.length : Buffer.byteLength(s));
const menuText = () => BREADS.map((b) => `${b.name}: ${b.prices.regular.toFixed(2)} €`).join('\n') + '\n';

function read(uri) {
  if (uri === 'bakery://menu') return { uri, mimeType: 'text/plain', text: menuText() };
  if (uri === 'bakery://stock') return { uri, mimeType: 'application/json', text: JSON.stringify(STOCK) };
  if (uri === 'bakery://photos/sourdough.png') {
    return { uri, mimeType: 'image/png', blob: photoPng().toString(on('photo-base64url') ? 'base64url' : 'base64') };
  }
  const recipe = /^bakery:\/\/recipes\/([^/]+)$/.exec(uri);
  if (recipe) {
    const body = RECIPES[decode(recipe[1])];
    if (body !== undefined) return { uri, mimeType: 'text/plain', text: body };
  }
  const stock = /^bakery:\/\/stock\/([^/]+)$/.exec(uri);
  if (stock && decode(stock[1]) in STOCK) {
    return { uri, mimeType: 'text/plain', text: `${STOCK[decode(stock[1])]} kg\n` };
  }
  throw new McpError(on('missing-recipe-404') ? 404 : -32002, 'Resource not found', { uri });
}

function decode(s) {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
}

const PROMPTS = [
  { name: 'menu_of_the_day', description: 'A menu for a season',
    arguments: [{ name: 'season', description: 'Season of the year', required: true }, { name: 'diet', description: 'Diet of the guests' }] },
  { name: 'bread_pairing', description: 'What goes with a bread',
    arguments: [{ name: 'bread', description: 'Number of the bread', required: true }] },
];
const SEASONS = ['spring', 'summer', 'autumn', 'winter'];

function createBakery() {
  const server = new Server(
    { name: 'bakery', title: 'Bakery', version: '2.1.0' },
    {
      capabilities: { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {}, logging: {} },
      instructions: 'Breads, recipes and orders of a small bakery.',
    },
  );
  // Registers a handler; a request of the wrong form is told as invalid params.
  const handle = (schema, run) => {
    const loose = z.looseObject({ method: z.literal(schema.shape.method.value) });
    server.setRequestHandler(loose, async (raw, extra) => {
      const request = schema.safeParse(raw);
      if (!request.success) throw new McpError(ErrorCode.InvalidParams, z.prettifyError(request.error));
      return run(request.data, extra);
    });
  };
  let level = 'info';
  let version;
  const subscriptions = on('update-after-unsubscribe') ? new Set() : new Map();

  const log = async (extra, lvl, data) => {
    const wanted = on('level-as-text') ? lvl >= level : LEVELS.indexOf(lvl) >= LEVELS.indexOf(level);
    if (wanted) await extra.sendNotification({ method: 'notifications/message', params: { level: lvl, logger: 'oven', data } });
  };

  handle(InitializeRequestSchema, async (request) => {
    const result = await server._oninitialize(request);
    if (on('version-echoed')) result.protocolVersion = request.params.protocolVersion;
    version = result.protocolVersion; // older revisions have no forms
    return result;
  });

  handle(SetLevelRequestSchema, async ({ params }) => {
    level = params.level;
    return {};
  });

  handle(ListToolsRequestSchema, async ({ params }) => {
    const { items, nextCursor } = page(TOOLS, params?.cursor);
    return { tools: items, nextCursor };
  });
  handle(ListResourcesRequestSchema, async ({ params }) => {
    const { items, nextCursor } = page(resources(), params?.cursor);
    return { resources: items, nextCursor };
  });
  handle(ListResourceTemplatesRequestSchema, async ({ params }) => {
    const { items, nextCursor } = page([
      { uriTemplate: 'bakery://recipes/{name}', name: 'recipe', mimeType: 'text/plain' },
      { uriTemplate: 'bakery://stock/{ingredient}', name: 'stock of an ingredient', mimeType: 'text/plain' },
    ], params?.cursor);
    return { resourceTemplates: items, nextCursor };
  });
  handle(ReadResourceRequestSchema, async ({ params }) => ({ contents: [read(params.uri)] }));

  handle(SubscribeRequestSchema, async ({ params }) => {
    read(params.uri);
    if (on('update-after-unsubscribe')) subscriptions.add({ uri: params.uri });
    else subscriptions.set(params.uri, true);
    return {};
  });
  handle(UnsubscribeRequestSchema, async ({ params }) => {
    if (on('update-after-unsubscribe')) subscriptions.delete({ uri: params.uri });
    else subscriptions.delete(params.uri);
    return {};
  });
  server.changed = async (uri) => {
    const wanted = on('update-after-unsubscribe')
      ? [...subscriptions].some((s) => s.uri === uri)
      : subscriptions.has(uri);
    if (wanted) await server.notification({ method: 'notifications/resources/updated', params: { uri } });
  };

  handle(ListPromptsRequestSchema, async ({ params }) => {
    const { items, nextCursor } = page(PROMPTS, params?.cursor);
    return { prompts: items, nextCursor };
  });
  handle(GetPromptRequestSchema, async ({ params }) => {
    const prompt = PROMPTS.find((p) => p.name === params.name);
    if (!prompt) throw new McpError(ErrorCode.InvalidParams, `unknown prompt ${params.name}`);
    const args = params.arguments ?? {};
    for (const a of prompt.arguments) {
      if (a.required && !args[a.name]) throw new McpError(ErrorCode.InvalidParams, `missing argument ${a.name}`);
    }
    if (prompt.name === 'menu_of_the_day') {
      const diet = args.diet ? ` The guests eat ${args.diet}.` : '';
      return { description: prompt.description, messages: [{ role: 'user', content: text(`Write a menu for ${args.season}.${diet}`) }] };
    }
    const bread = BREADS.find((b) => b.id === args.bread);
    if (!bread) throw new McpError(ErrorCode.InvalidParams, `unknown bread ${args.bread}`);
    const content = text(`What goes with ${bread.name}?`);
    return { messages: [{ role: 'user', content: on('prompt-content-array') ? [content] : content }] };
  });

  handle(CompleteRequestSchema, async ({ params }) => {
    const { ref, argument } = params;
    let all;
    const key = `${ref.type === 'ref/prompt' ? ref.name : ref.uri}#${argument.name}`;
    if (key === 'menu_of_the_day#season') all = SEASONS;
    else if (key === 'menu_of_the_day#diet') all = ['no meat', 'no milk', 'no gluten'];
    else if (key === 'bread_pairing#bread') all = BREADS.map((b) => b.id);
    else if (key === 'bakery://recipes/{name}#name') all = Object.keys(RECIPES);
    else if (key === 'bakery://stock/{ingredient}#ingredient') all = Object.keys(STOCK);
    else throw new McpError(ErrorCode.InvalidParams, `nothing to complete for ${key}`);
    const values = all.filter((v) => v.toLowerCase().startsWith(argument.value.toLowerCase()));
    return { completion: { values: values.slice(0, 100), total: values.length, hasMore: values.length > 100 } };
  });

  handle(CallToolRequestSchema, async ({ params }, extra) => {
    const check = checks.get(params.name);
    if (!check && !on('unknown-tool-text')) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
    const args = params.arguments ?? {};
    const checked = check?.(args);
    if (checked && !checked.valid) return failed(`arguments: ${checked.errorMessage}`);
    switch (params.name) {
      case 'search_breads': return searchBreads(args);
      case 'bread_details': return breadDetails(args);
      case 'bake': return bake(args, extra);
      case 'order_cake': return orderCake(args, extra);
      case 'write_slogan': return writeSlogan(args, extra);
      case 'restock': return restock(args, extra);
      case 'print_label': return printLabel(args);
      default: return { content: [text(`Unknown tool: ${params.name}`)] };
    }
  });

  function searchBreads({ query = '', limit = 10 }) {
    const hits = BREADS.filter((b) => b.name.toLowerCase().includes(query.toLowerCase())).slice(0, limit);
    return answer({ breads: hits.map((b) => ({ id: b.id, name: b.name, price: b.prices.regular })) });
  }

  function breadDetails({ id, size: chosen = 'regular' }) {
    const bread = BREADS.find((b) => b.id === id);
    if (!bread) return failed(`There is no bread ${id}.`);
    const sum = bread.ratings.reduce((a, b) => a + b, 0);
    const count = bread.ratings.length;
    const allergens = new Set([...bread.allergens, 'gluten']);
    let price = bread.prices[chosen];
    if (price === undefined && !on('family-price-undefined')) price = bread.prices.regular * 2.5;
    return answer({
      id, name: bread.name, size: chosen, price,
      allergens: on('allergens-set') ? allergens : [...allergens],
      rating: { count, average: count === 0 && !on('rating-nan') ? 0 : sum / count },
    });
  }

  async function bake({ bread, trays = 1 }, extra) {
    const found = BREADS.find((b) => b.id === bread);
    if (!found) return failed(`There is no bread ${bread}.`);
    const token = extra._meta?.progressToken;
    const perTray = 4;
    await log(extra, 'info', `oven heats for ${found.name}`);
    for (let tray = 1; tray <= trays; tray++) {
      for (let loaf = 1; loaf <= perTray; loaf++) {
        await sleep(40);
        if (extra.signal.aborted && !on('progress-after-cancel')) return failed('stopped');
        if (token === undefined) continue;
        const done = on('tray-progress-restarts') ? loaf : (tray - 1) * perTray + loaf;
        const note = {
          method: 'notifications/progress',
          params: { progressToken: token, progress: done, total: trays * perTray, message: `tray ${tray}, loaf ${loaf}` },
        };
        if (on('progress-after-cancel')) await server.notification(note, { relatedRequestId: extra.requestId }).catch(() => {});
        else if (on('progress-to-newest')) await newest.notification(note).catch(() => {});
        else await extra.sendNotification(note);
      }
      await log(extra, 'debug', { tray, done: true });
    }
    if (trays > 8) await log(extra, 'warning', 'the oven runs at its limit');
    return { content: [text(`${trays * perTray} loaves of ${found.name} are baked.`)] };
  }

  async function orderCake({ kind, servings }, extra) {
    const caps = server.getClientCapabilities()?.elicitation;
    const canAsk = version >= '2025-06-18' && caps && (caps.form || !caps.url);
    let date = 'open';
    if (canAsk) {
      const day = on('pickup-date-type')
        ? { type: 'date', title: 'Day of collection' }
        : { type: 'string', format: 'date', title: 'Day of collection' };
      const reply = await server.elicitInput({
        mode: 'form',
        message: `When will you collect the ${kind} cake?`,
        requestedSchema: {
          type: 'object',
          properties: { date: day, candles: { type: 'integer', title: 'Candles', minimum: 0, maximum: 120 } },
          required: ['date'],
        },
      }, { relatedRequestId: extra.requestId });
      if (reply.action !== 'accept') return failed('The order was given up.');
      date = String(reply.content?.date);
    }
    return answer({ order: randomUUID().slice(0, 8), kind, servings, collect: date });
  }

  async function writeSlogan({ topic }, extra) {
    if (!server.getClientCapabilities()?.sampling) return failed('This client has no language model to ask.');
    const params = { messages: [{ role: 'user', content: text(`One line of advertising about ${topic}.`) }], maxTokens: 60 };
    if (on('sampling-no-limit')) delete params.maxTokens;
    const reply = await extra.sendRequest({ method: 'sampling/createMessage', params }, CreateMessageResultSchema);
    return { content: [text(reply.content.type === 'text' ? reply.content.text : 'The model gave no text.')] };
  }

  async function restock({ ingredient, kg }, extra) {
    STOCK[ingredient] += kg;
    for (const s of open) {
      await s.changed('bakery://stock');
      await s.changed(`bakery://stock/${encodeURIComponent(ingredient)}`);
    }
    await log(extra, 'notice', `${kg} kg of ${ingredient} came in`);
    return answer({ ingredient, kg: STOCK[ingredient] });
  }

  function printLabel({ bread, copies = 1 }) {
    const found = BREADS.find((b) => b.id === bread);
    if (!found) return failed(`There is no bread ${bread}.`);
    if (on('label-console-log') && copies > 10) console.log(`printing ${copies} labels for ${found.name}`);
    return { content: [
      { type: 'image', mimeType: 'image/png', data: labelPng(copies).toString('base64') },
      text(`${copies} labels for ${found.name}`),
    ] };
  }

  open.add(server);
  newest = server;
  server.onclose = () => open.delete(server);
  return server;
}

async function serveHttp(port) {
  const sessions = new Map();
  const refuse = (res, status, message, code = -32000) => {
    res.writeHead(status, { 'Content-Type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null }));
  };
  const local = (origin) => {
    try {
      return ['localhost', '127.0.0.1', '[::1]'].includes(new URL(origin).hostname);
    } catch {
      return false;
    }
  };
  const web = http.createServer(async (req, res) => {
    const path = req.url.split('?')[0];
    if (path !== '/mcp' && path !== '/') return refuse(res, 404, 'no such page');
    if (req.headers.origin !== undefined && !local(req.headers.origin)) return refuse(res, 403, 'origin not allowed');
    const id = req.headers['mcp-session-id'];
    let transport = sessions.get(id);
    if (id !== undefined && !transport) {
      if (on('ended-session-400')) return refuse(res, 400, 'Bad Request: no valid session id');
      return refuse(res, 404, 'Session not found', -32001);
    }
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (sid) => void sessions.set(sid, transport),
        onsessionclosed: (sid) => void sessions.delete(sid),
      });
      await createBakery().connect(transport);
    }
    await transport.handleRequest(req, res);
  });
  web.listen(port, '127.0.0.1');
}

const flag = process.argv.indexOf('--http');
if (flag > 0) {
  await serveHttp(Number(process.argv[flag + 1]));
} else {
  await createBakery().connect(new StdioServerTransport());
  // Answers that are under way may still be written.
  process.stdin.on('end', () => setTimeout(() => process.exit(0), 300).unref());
}
