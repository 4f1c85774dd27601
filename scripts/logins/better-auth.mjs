// better-auth with its plugin oauth-provider, in memory:
//   node better-auth.mjs ISSUER
// Clients register themselves. Its access tokens are JWTs for one MCP server, which POST
// /control/resource?url=URL names.
import { betterAuth } from 'better-auth';
import { memoryAdapter } from 'better-auth/adapters/memory';
import { toNodeHandler } from 'better-auth/node';
import { jwt } from 'better-auth/plugins';
import { oauthProvider, oauthProviderAuthServerMetadata } from '@better-auth/oauth-provider';
import { form, known, lasting, page, person, serve } from './control.mjs';

const issuer = process.argv[2];
const scopes = ['mcp:read', 'mcp:write', 'offline_access'];
const account = { email: `${person.name}@example.com`, password: `${person.password} ${person.password}` };
let auth, answer, metadata, tables;

// open begins for an MCP server: the plugin reads its resources once.
async function open(resource) {
  tables = Object.fromEntries([
    'user', 'session', 'account', 'verification', 'jwks', 'oauthClient', 'oauthAccessToken', 'oauthRefreshToken', 'oauthConsent',
    'oauthResource', 'oauthClientResource', 'oauthClientAssertion',
  ].map((name) => [name, []]));
  auth = betterAuth({
    baseURL: issuer,
    secret: 'a secret of one play, thirty-two long',
    database: memoryAdapter(tables),
    emailAndPassword: { enabled: true },
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    plugins: [
      jwt({ jwt: { issuer }, jwks: { keyPairConfig: { alg: 'ES256' } } }),
      oauthProvider({
        loginPage: '/login', consentPage: '/consent', scopes,
        allowDynamicClientRegistration: true, allowUnauthenticatedClientRegistration: true,
        resources: [{ identifier: resource, accessTokenTtl: lasting }], enforcePerClientResources: false,
      }),
    ],
  });
  await auth.api.signUpEmail({ body: { ...account, name: person.name } });
  answer = toNodeHandler(auth);
  metadata = oauthProviderAuthServerMetadata(auth);
}

// post asks an endpoint of better-auth in the name of the person's browser, and sends
// that on to where the answer says.
async function post(req, res, path, body) {
  const reply = await auth.handler(new Request(`${issuer}/api/auth${path}`, {
    method: 'POST', body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', origin: issuer, cookie: req.headers.cookie ?? '' },
  }));
  const text = await reply.text();
  const to = JSON.parse(text || '{}').url;
  res.setHeader('set-cookie', reply.headers.getSetCookie());
  res.writeHead(to ? 302 : 500, to ? { location: to } : {}).end(text);
}

// pages are those that better-auth leaves to the program around it.
async function pages(req, res) {
  const at = new URL(req.url, issuer);
  if (at.pathname === '/.well-known/oauth-authorization-server') {
    const reply = await metadata(new Request(at));
    res.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text());
    return;
  }
  if (at.pathname !== '/login' && at.pathname !== '/consent') {
    await answer(req, res);
    return;
  }
  if (req.method === 'GET') {
    res.writeHead(200, { 'content-type': 'text/html' }).end(page(at.pathname + at.search));
    return;
  }
  const oauth_query = at.search.slice(1);
  if (!known(await form(req))) res.writeHead(403).end('who are you?');
  else if (at.pathname === '/login') await post(req, res, '/sign-in/email', { ...account, oauth_query });
  else await post(req, res, '/oauth2/consent', { accept: true, oauth_query });
}

serve(pages, {
  resource: (query) => open(query.get('url')),
  lifetime: (query) => { tables.oauthResource[0].accessTokenTtl = Number(query.get('seconds')); },
  end: () => {
    for (const name of ['oauthAccessToken', 'oauthRefreshToken', 'session']) tables[name].splice(0);
  },
});
