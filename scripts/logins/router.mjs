// The authorization server of the TypeScript SDK (mcpAuthRouter) with a provider in
// memory, and an MCP server of the SDK that it guards at /mcp.
//   node router.mjs ISSUER
// Its access tokens are opaque, its refresh tokens are good once.
import { randomUUID } from 'node:crypto';
import express from 'express';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { InvalidGrantError, InvalidTokenError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { requireBearerAuth } from '@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js';
import { mcpAuthRouter } from '@modelcontextprotocol/sdk/server/auth/router.js';
import { known, lasting, page, serve } from './control.mjs';

const issuer = process.argv[2];
const resource = new URL('/mcp', issuer);
let lifetime = lasting;
const clients = new Map();
const pages = new Map(); // logins that wait for the person
const codes = new Map();
const access = new Map();
const refresh = new Map();

const provider = {
  clientsStore: {
    getClient: (id) => clients.get(id),
    registerClient: (client) => {
      clients.set(client.client_id, client);
      return client;
    },
  },
  async authorize(client, params, res) {
    const id = randomUUID();
    pages.set(id, { client: client.client_id, ...params });
    res.type('html').send(page('/login', { id }));
  },
  challengeForAuthorizationCode: async (client, code) => taken(codes, code, client, false).codeChallenge,
  exchangeAuthorizationCode: async (client, code) => issue(taken(codes, code, client)),
  async exchangeRefreshToken(client, token, scopes) {
    const login = taken(refresh, token, client);
    return issue({ ...login, scopes: scopes ?? login.scopes });
  },
  async verifyAccessToken(token) {
    const login = access.get(token);
    if (!login) throw new InvalidTokenError('unknown token');
    return { token, clientId: login.client, scopes: login.scopes, expiresAt: login.expiresAt, resource: login.resource };
  },
  async revokeToken(client, { token }) {
    refresh.delete(token);
    access.delete(token);
  },
};

// taken is the login behind a code or a refresh token of a client, which is used up.
function taken(from, key, client, uses = true) {
  const login = from.get(key);
  if (login?.client !== client.client_id) throw new InvalidGrantError('unknown, used or revoked');
  if (uses) from.delete(key);
  return login;
}

function issue(login) {
  const tokens = { access_token: randomUUID(), refresh_token: randomUUID(), token_type: 'bearer', expires_in: lifetime, scope: login.scopes.join(' ') };
  access.set(tokens.access_token, { ...login, expiresAt: Date.now() / 1000 + lifetime });
  refresh.set(tokens.refresh_token, login);
  return tokens;
}

function tools() {
  const server = new McpServer({ name: 'router', version: '1' });
  for (const name of ['read', 'write']) {
    server.registerTool(name, {}, async () => ({ content: [{ type: 'text', text: `${name} is done` }] }));
  }
  return server;
}

const allow = (...requiredScopes) => requireBearerAuth({
  verifier: provider, requiredScopes, expectedResource: resource,
  resourceMetadataUrl: new URL('/.well-known/oauth-protected-resource/mcp', issuer).href,
});

const app = express();
app.post('/login', express.urlencoded({ extended: false }), (req, res) => {
  const login = pages.get(req.body.id);
  if (!login || !known(req.body)) return res.status(403).send('who are you?');
  const code = randomUUID();
  codes.set(code, { ...login, scopes: login.scopes ?? [] });
  const to = new URL(login.redirectUri);
  to.searchParams.set('code', code);
  if (login.state !== undefined) to.searchParams.set('state', login.state);
  return res.redirect(to.href);
});
app.use(mcpAuthRouter({ provider, issuerUrl: new URL(issuer), resourceServerUrl: resource, scopesSupported: ['mcp:read'] }));
app.use('/mcp', express.json(), (req, res, next) => {
  const scopes = req.body?.params?.name === 'write' ? ['mcp:read', 'mcp:write'] : ['mcp:read'];
  return allow(...scopes)(req, res, next);
}, async (req, res) => {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  res.on('close', () => transport.close());
  await tools().connect(transport);
  await transport.handleRequest(req, res, req.body);
});

serve(app, {
  lifetime: (query) => { lifetime = Number(query.get('seconds')); },
  end: () => { access.clear(); refresh.clear(); },
});
