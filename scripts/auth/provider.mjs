// A real authorization server (npm oidc-provider) on loopback, for scripts/auth.sh.
//   node provider.mjs KEY SECRET
// KEY is a file with the public key (PEM) of the client "keyed", and of a platform whose
// tokens are good for the client "pod"; SECRET one with the secret of the client "robot".
// It prints one JSON line for each event, "listening" first; no token is in them.
// POST /control/resource?url=URL: the MCP server that it guards.
// POST /control/short?count=N&seconds=S: the next N access tokens live S seconds, the
// others an hour. POST /control/revoke: all grants end, as when an administrator ends them.
import { readFileSync } from 'node:fs';
import { createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { jwtVerify } from 'jose';
import Provider, { errors } from 'oidc-provider';

const [keyFile, secretFile] = process.argv.slice(2);
const lifetime = 3600;
const scopes = ['mcp:read', 'mcp:write'];
const documented = 'https://client.example/mcpctl.json';
const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const short = { count: 0, seconds: 0 };
const grants = new Set();
let resource;

const say = (event, more = {}) => console.log(JSON.stringify({ event, ...more }));
// The provider warns of its development pages; only events go to stdout.
console.info = console.warn = (...text) => console.error(...text);

function tokenLifetime(ctx) {
  if (ctx.oidc.route !== 'token' || short.count === 0) return lifetime;
  short.count -= 1;
  return short.seconds;
}

// guarded is what the MCP server wants of its tokens (RFC 9068).
function guarded(indicator) {
  if (indicator !== resource) throw new errors.InvalidTarget();
  return {
    scope: scopes.join(' '), audience: resource, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } },
  };
}

// described is the one document of the web that the provider can fetch: it describes a
// client, whose id is the URL, and is as auth.ClientMetadata makes it.
async function described(url) {
  if (String(url) !== documented) throw new Error(`${url} cannot be reached`);
  return Response.json({
    client_id: documented, client_name: 'Documented', redirect_uris: ['http://127.0.0.1/callback'], application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none',
  });
}

// exchanged gives an access token for that of the platform (RFC 7523 section 2.1), a grant
// that the provider leaves to those who run it.
async function exchanged(provider, ctx) {
  const { client, params: { assertion, scope, resource: wanted } } = ctx.oidc;
  try {
    await jwtVerify(assertion, createPublicKey(readFileSync(keyFile)), {
      issuer: 'https://platform.example', subject: 'pod', audience: provider.issuer, requiredClaims: ['exp'],
    });
  } catch (err) {
    throw new errors.InvalidGrant(err.message);
  }
  const token = new provider.ClientCredentials({ client, scope });
  token.resourceServer = new provider.ResourceServer(wanted, guarded(wanted));
  ctx.oidc.entity('ClientCredentials', token);
  ctx.body = { access_token: await token.save(), expires_in: token.expiration, token_type: 'Bearer', scope };
}

const signing = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    jwks: { keys: [{ ...signing, use: 'sig', alg: 'ES256' }] },
    scopes: ['openid', 'offline_access', ...scopes],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    cookies: { keys: [randomBytes(16).toString('hex')] },
    fetch: described,
    pkce: { required: () => true },
    rotateRefreshToken: true,
    ttl: { AccessToken: tokenLifetime, ClientCredentials: tokenLifetime },
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      clientIdMetadataDocument: { enabled: true, ack: 'draft-02', allowFetch: () => true },
      revocation: { enabled: true },
      clientCredentials: { enabled: true },
      dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (ctx, indicator) => guarded(indicator),
      },
    },
    clients: [
      {
        client_id: 'robot', client_secret: readFileSync(secretFile, 'utf8'), grant_types: ['client_credentials'], redirect_uris: [], response_types: [],
        token_endpoint_auth_method: 'client_secret_basic', scope: scopes.join(' '),
      },
      {
        client_id: 'keyed', grant_types: ['client_credentials'], redirect_uris: [], response_types: [],
        token_endpoint_auth_method: 'private_key_jwt', token_endpoint_auth_signing_alg: 'ES256',
        jwks: { keys: [createPublicKey(readFileSync(keyFile)).export({ format: 'jwk' })] }, scope: scopes.join(' '),
      },
      {
        client_id: 'known', grant_types: ['authorization_code', 'refresh_token'], redirect_uris: ['http://127.0.0.1/callback'],
        response_types: ['code'], token_endpoint_auth_method: 'none', application_type: 'native',
      },
      {
        client_id: 'pod', grant_types: [jwtBearer], redirect_uris: [], response_types: [], token_endpoint_auth_method: 'none', scope: scopes.join(' '),
      },
    ],
  });

  provider.registerGrantType(jwtBearer, (ctx) => exchanged(provider, ctx), ['assertion', 'scope', 'resource']);

  const about = (ctx) => ({
    grant: ctx.oidc?.params?.grant_type, client: ctx.oidc?.client?.clientId, scope: ctx.oidc?.params?.scope, resource: ctx.oidc?.params?.resource,
  });
  provider.on('grant.success', (ctx) => say('token', { ...about(ctx), type: ctx.body.token_type, granted: ctx.body.scope, seconds: ctx.body.expires_in }));
  provider.on('grant.error', (ctx, err) => say('refused', { ...about(ctx), error: err.error, detail: err.error_detail ?? err.error_description }));
  provider.on('authorization.success', (ctx) => say('authorized', about(ctx)));
  provider.on('authorization.error', (ctx, err) => say('not authorized', { ...about(ctx), error: err.error, detail: err.error_description }));
  provider.on('interaction.started', (ctx, prompt) => say('asked', { ...about(ctx), prompt: prompt.name, reasons: prompt.reasons }));
  provider.on('registration_create.success', (ctx, client) => say('registered', { client: client.clientId, name: client.clientName, type: client.applicationType }));
  provider.on('registration_create.error', (ctx, err) => say('not registered', { error: err.error, detail: err.error_description }));
  provider.on('refresh_token.saved', (token) => say('refresh token', { rotation: token.rotations ?? 0 }));
  provider.on('refresh_token.consumed', () => say('refresh token used'));
  provider.on('grant.saved', (grant) => grants.add(grant.jti));
  provider.on('grant.revoked', () => say('revoked'));
  provider.on('revocation.error', (ctx, err) => say('not revoked', { hint: ctx.oidc?.params?.token_type_hint, error: err.error }));
  provider.on('server_error', (ctx, err) => say('server error', { detail: err.message }));

  const serve = provider.callback();
  server.on('request', async (req, res) => {
    const at = new URL(req.url, issuer);
    if (at.pathname === '/control/resource' && req.method === 'POST') {
      resource = at.searchParams.get('url');
      return res.end();
    }
    if (at.pathname === '/control/short' && req.method === 'POST') {
      short.count = Number(at.searchParams.get('count'));
      short.seconds = Number(at.searchParams.get('seconds'));
      return res.end();
    }
    if (at.pathname === '/control/revoke' && req.method === 'POST') {
      for (const id of grants) {
        await Promise.all([provider.RefreshToken.revokeByGrantId(id), provider.AccessToken.revokeByGrantId(id)]);
        await (await provider.Grant.find(id))?.destroy();
      }
      grants.clear();
      return res.end();
    }
    return serve(req, res);
  });
  say('listening', { url: issuer });
});
