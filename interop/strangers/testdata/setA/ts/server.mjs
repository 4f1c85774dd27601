// Meeting rooms and their bookings as an MCP server on the TypeScript SDK: on
// stdio, or over streamable HTTP at /mcp with `--http PORT`.
//
// DEFECT=name in the environment switches one mistake on.
import { randomUUID } from 'node:crypto';
import { deflateSync, crc32 as zlibCrc32 } from 'node:zlib';
import express from 'express';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import {
  CallToolRequestSchema, ErrorCode, ListResourcesRequestSchema, ListToolsRequestSchema, McpError, ReadResourceRequestSchema,
  SubscribeRequestSchema, UnsubscribeRequestSchema, isInitializeRequest
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const on = name => process.env.DEFECT === name;
const pause = ms => new Promise(resolve => setTimeout(resolve, ms));

// ------------------------------------------------------------------ the rooms

const ROOMS = [
  { id: 'attic', name: 'Attic', seats: 4, floor: 5, screen: true },
  { id: 'cafe-corner', name: 'Café corner', seats: 6, floor: 0, screen: false },
  { id: 'Größer Saal', name: 'Größer Saal', seats: 80, floor: 1, screen: true },
  ...Array.from({ length: 20 }, (_, i) => ({
    id: `box-${i + 1}`, name: `Box ${i + 1}`, seats: 2 + (i % 3), floor: 2, screen: i % 2 === 0
  }))
];
const roomOf = id => ROOMS.find(room => room.id === id);
const uriOf = room => `rooms://plan/${encodeURIComponent(room.id)}`;
const bookings = new Map();
const watchers = new Set(); // the servers of all sessions, with what they subscribed to
const waiting = new Map(); // resolvers of the bookings that are being cancelled

function crc32(buffer) {
  if (zlibCrc32) return zlibCrc32(buffer);
  let crc = ~0;
  for (const byte of buffer) {
    crc ^= byte;
    for (let k = 0; k < 8; k++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

/** A floor plan of 16 by 16 points. */
function plan(room) {
  const chunk = (kind, data) => {
    const body = Buffer.concat([Buffer.from(kind), data]);
    const out = Buffer.alloc(8 + body.length);
    out.writeUInt32BE(data.length, 0);
    body.copy(out, 4);
    out.writeUInt32BE(crc32(body), 4 + body.length);
    return out;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(16, 0);
  head.writeUInt32BE(16, 4);
  head[8] = 8;
  const rows = Buffer.alloc(16 * 17);
  for (let i = 0; i < rows.length; i++) rows[i] = i % 17 === 0 ? 0 : (i * room.seats) % 256;
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))
  ]);
}

const text = words => [{ type: 'text', text: words }];
const refuse = words => ({ content: text(words), isError: true });

// ------------------------------------------------------------------ the server

function createServer() {
  const server = new McpServer(
    { name: 'meeting-rooms', title: 'Meeting rooms', version: '3.2.1' },
    { capabilities: { logging: {}, resources: { subscribe: true } }, instructions: 'Find a room before you book it.' }
  );
  const watched = new Set();
  const watcher = { server, watched };
  watchers.add(watcher);
  server.server.onclose = () => watchers.delete(watcher);

  server.registerTool('find_rooms', {
    description: 'Rooms with enough seats',
    inputSchema: { seats: z.number().int().min(1), screen: z.boolean().optional() }
  }, async ({ seats, screen }) => {
    const found = ROOMS.filter(r => r.seats >= seats && (screen === undefined || r.screen === screen));
    return { content: text(found.map(r => `${r.id}: ${r.name}, ${r.seats} seats`).join('\n') || 'no room') };
  });

  const count = on('coerced-seats') ? z.coerce.number() : z.number();
  server.registerTool('room_details', {
    description: 'Seats, floor and equipment of a room',
    inputSchema: { room: z.string(), unit: z.enum(['m', 'ft']).optional() },
    outputSchema: { id: z.string(), seats: count, floor: z.number(), screen: z.boolean(), width: count.optional() }
  }, async ({ room, unit }) => {
    const found = roomOf(room);
    if (!found) return refuse(`no room ${room}`);
    const out = { id: found.id, seats: found.seats, floor: found.floor, screen: found.screen };
    if (unit) {
      const width = (Math.sqrt(found.seats) * (unit === 'ft' ? 6.56 : 2)).toFixed(1);
      out.width = on('coerced-seats') ? width : Number(width);
    }
    return { content: text(JSON.stringify(out)), structuredContent: out };
  });

  server.registerTool('book_room', {
    description: 'Book a room for a day',
    inputSchema: { room: z.string(), day: z.string().regex(/^\d{4}-\d\d-\d\d$/), by: z.string().min(1) },
    outputSchema: { booking: z.string(), room: z.string(), day: z.string() }
  }, async ({ room, day, by }, extra) => {
    if (!roomOf(room)) return refuse(`no room ${room}`);
    if ([...bookings.values()].some(b => b.room === room && b.day === day)) return refuse('already booked on this day');
    if (on('console-log')) console.log(`booked ${room} for ${by}`);
    const booking = `B${1000 + bookings.size}`;
    bookings.set(booking, { room, day, by });
    const uri = uriOf(roomOf(room));
    for (const watcher of watchers) {
      if (watcher.watched.has(uri)) await watcher.server.server.sendResourceUpdated({ uri });
    }
    const session = on('log-without-session') ? undefined : extra.sessionId;
    await server.sendLoggingMessage({ level: 'info', logger: 'bookings', data: { booking, room } }, session);
    const out = { booking, room, day };
    return { content: text(JSON.stringify(out)), structuredContent: out };
  });

  server.registerTool('cancel_booking', {
    description: 'Give a booked room back',
    inputSchema: { booking: z.string() }
  }, ({ booking }) => new Promise(resolve => {
    if (on('unknown-booking-hangs')) {
      waiting.set(booking, resolve);
      if (bookings.delete(booking)) {
        waiting.get(booking)({ content: text('given back') });
        waiting.delete(booking);
      }
      return;
    }
    resolve(bookings.delete(booking) ? { content: text('given back') } : refuse(`no booking ${booking}`));
  }));

  server.registerTool('month_report', {
    description: 'How full the rooms were in a month; takes a while',
    inputSchema: { month: z.number().int(), weeks: z.number().int().min(1).max(20).optional() }
  }, async ({ month, weeks = 4 }, extra) => {
    if (on('report-timer-crash')) setTimeout(() => warmCache(month), 20);
    else if (month < 1 || month > 12) return refuse('a month is between 1 and 12');
    let token = extra._meta?.progressToken;
    if (on('progress-default-token')) token ??= 'report';
    const step = async week => {
      if (token === undefined) return;
      await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken: token, progress: week, total: weeks, message: `week ${week}` }
      });
    };
    if (on('progress-outlives-answer')) {
      let week = 0;
      const timer = setInterval(() => {
        if (++week >= weeks) clearInterval(timer);
        step(week).catch(() => {});
      }, 50);
      return { content: text(`report of month ${month}: ${bookings.size} bookings`) };
    }
    for (let week = 1; week <= weeks && !extra.signal.aborted; week++) {
      await pause(50);
      await step(week);
    }
    return { content: text(`report of month ${month}: ${bookings.size} bookings`) };
  });

  const season = month => ['winter', 'spring', 'summer', 'autumn'][Math.floor((month % 12) / 3)];
  const warmCache = month => season(month).toUpperCase();

  server.registerTool('room_photo', {
    description: 'The plan of a room as a picture',
    inputSchema: { room: z.string() }
  }, async ({ room }) => {
    const found = roomOf(room);
    if (!found) return refuse(`no room ${room}`);
    return { content: [{ type: 'image', data: plan(found).toString('base64'), mimeType: 'image/png' }] };
  });

  // ---- resources

  const listed = room => ({
    uri: uriOf(room), mimeType: 'image/png',
    ...(on('listed-without-name') && room.floor === 0 ? { title: room.name } : { name: room.name })
  });
  server.registerResource('house-rules', 'rooms://rules', { mimeType: 'text/markdown', description: 'How to use the rooms' },
    async uri => ({ contents: [{ uri: uri.href, mimeType: 'text/markdown', text: '# Rules\n\nLeave the room tidy.\n' }] }));
  const byStart = value => ROOMS.map(r => r.id).filter(id => id.startsWith(value));
  server.registerResource('room-plan', new ResourceTemplate('rooms://plan/{room}', {
    list: undefined, complete: { room: byStart }
  }), { mimeType: 'image/png', description: 'Floor plan of a room' }, async (uri, { room }) => {
    const found = roomOf(decodeURIComponent(room));
    if (!found) {
      if (on('http-status-as-error-code')) throw Object.assign(new Error('room not found'), { code: 404 });
      throw new McpError(-32002, 'Resource not found', { uri: uri.href });
    }
    const data = plan(found).toString('base64');
    return {
      contents: [{
        uri: on('contents-uri-decoded') ? decodeURIComponent(uri.href) : uri.href,
        mimeType: 'image/png',
        blob: on('blob-as-data-url') ? `data:image/png;base64,${data}` : data
      }]
    };
  });

  server.server.setRequestHandler(ListResourcesRequestSchema, async request => {
    const all = [{ uri: 'rooms://rules', name: 'house-rules', mimeType: 'text/markdown' }, ...ROOMS.map(listed)];
    const size = 8;
    let start = 0;
    if (request.params?.cursor !== undefined) {
      start = Number(Buffer.from(request.params.cursor, 'base64').toString());
      if (!Number.isInteger(start) || start <= 0 || start >= all.length) throw new McpError(ErrorCode.InvalidParams, 'invalid cursor');
    }
    const end = start + size;
    const resources = all.slice(start, on('page-overlap') ? end + 1 : end);
    return end < all.length ? { resources, nextCursor: Buffer.from(String(end)).toString('base64') } : { resources };
  });
  server.server.setRequestHandler(SubscribeRequestSchema, async request => {
    watched.add(request.params.uri);
    return {};
  });
  server.server.setRequestHandler(UnsubscribeRequestSchema, async request => {
    watched.delete(request.params.uri);
    return {};
  });

  // ---- prompts

  const sizes = ['2', '3', '4', '6', '80'];
  server.registerPrompt('invitation', {
    description: 'An invitation to a meeting',
    argsSchema: {
      room: completable(z.string(), byStart),
      guests: completable(z.string().optional(), value => {
        const fitting = sizes.filter(size => size.startsWith(value ?? ''));
        return on('completion-numbers') ? fitting.map(Number) : fitting;
      })
    }
  }, ({ room, guests }) => {
    const words = `Write an invitation to a meeting in ${room}${guests ? ` for ${guests} guests` : ''}.`;
    const content = { type: 'text', text: words };
    return { messages: [{ role: 'user', content: on('prompt-content-list') ? [content] : content }] };
  });
  server.registerPrompt('tidy_up', { description: 'Remind people to tidy up' }, () => ({
    messages: [
      { role: 'user', content: { type: 'text', text: 'Remind us kindly to leave the room tidy.' } },
      ...(on('prompt-role-system') ? [{ role: 'system', content: { type: 'text', text: 'Be brief.' } }] : [])
    ]
  }));

  useSpecifiedErrors(server);
  if (on('featured-listed-twice')) featureTools(server);
  if (on('schema-simplified')) simplifySchemas(server);
  return server;
}

/** Puts fn around the SDK's own handler of a method. */
function wrap(server, schema, method, fn) {
  const inner = server.server._requestHandlers.get(method);
  server.server.setRequestHandler(schema, (request, extra) => fn(request, () => inner(request, extra)));
}

/** The error codes of the specification, where the SDK has others. */
function useSpecifiedErrors(server) {
  wrap(server, CallToolRequestSchema, 'tools/call', (request, next) => {
    if (!server._registeredTools[request.params.name]) throw new McpError(ErrorCode.InvalidParams, `Unknown tool: ${request.params.name}`);
    return next();
  });
  wrap(server, ReadResourceRequestSchema, 'resources/read', (request, next) => {
    const { uri } = request.params;
    if (uri !== 'rooms://rules' && !uri.startsWith('rooms://plan/')) throw new McpError(-32002, 'Resource not found', { uri });
    return next();
  });
}

/** The tools that most clients want come first. */
function featureTools(server) {
  wrap(server, ListToolsRequestSchema, 'tools/list', async (request, next) => {
    const { tools } = await next();
    const featured = tools.filter(tool => ['book_room', 'cancel_booking'].includes(tool.name));
    return { tools: [...featured, ...tools] };
  });
}

/** Some models like schemas better without their details. */
function simplifySchemas(server) {
  wrap(server, ListToolsRequestSchema, 'tools/list', async (request, next) => {
    const { tools } = await next();
    for (const tool of tools) {
      for (const [name, rule] of Object.entries(tool.inputSchema.properties ?? {})) {
        tool.inputSchema.properties[name] = { type: rule.type === 'string' ? 'str' : rule.type };
      }
    }
    return { tools };
  });
}

// ------------------------------------------------------------------ transports

function serveHttp(port) {
  const app = express();
  app.use(express.json());
  const transports = new Map();

  const failure = (res, status, message) =>
    res.status(status).json({ jsonrpc: '2.0', error: { code: -32000, message } });
  app.use('/mcp', (req, res, next) => {
    const origin = req.headers.origin;
    const own = ['localhost', '127.0.0.1', '[::1]'];
    if (origin && !on('origin-unchecked') && !(URL.canParse(origin) && own.includes(new URL(origin).hostname))) {
      return failure(res, 403, 'Origin not allowed');
    }
    next();
  });
  app.post('/mcp', async (req, res) => {
    const id = req.headers['mcp-session-id'];
    let transport = transports.get(id);
    if (!transport) {
      if (!isInitializeRequest(req.body) || id) {
        if (id && !on('ended-session-400')) return failure(res, 404, 'Session not found');
        return failure(res, 400, 'Bad Request: No valid session ID provided');
      }
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => (on('session-id-with-name') ? `${req.body.params.clientInfo.name} ${randomUUID()}` : randomUUID()),
        onsessioninitialized: name => {
          transports.set(name, transport);
        }
      });
      transport.onclose = () => transports.delete(transport.sessionId);
      await createServer().connect(transport);
    }
    await transport.handleRequest(req, res, req.body);
  });
  const existing = async (req, res) => {
    const id = req.headers['mcp-session-id'];
    const transport = transports.get(id);
    if (!transport) {
      return id && !on('ended-session-400') ? failure(res, 404, 'Session not found') : failure(res, 400, 'Invalid or missing session ID');
    }
    await transport.handleRequest(req, res);
  };
  app.get('/mcp', existing);
  app.delete('/mcp', existing);
  app.listen(port, '127.0.0.1');
}

const http = process.argv.indexOf('--http');
if (http > 0) serveHttp(Number(process.argv[http + 1]));
else await createServer().connect(new StdioServerTransport());
