// The authorization server oidc-provider in three configurations:
//   node oidc-provider.mjs registration|document|known ISSUER
// registration: clients register themselves. document: a client is the document that
// describes it, and its tokens are bound to a key (DPoP, with nonces). known: one client
// with a secret, which has to push its requests (RFC 9126).
// Its access tokens are JWTs for one MCP server, which POST /control/resource?url=URL names.
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import Provider, { errors } from 'oidc-provider';
import { lasting, serve } from './control.mjs';

const [how, issuer] = process.argv.slice(2);
const scopes = ['mcp:read', 'mcp:write'];
const documented = 'https://client.example/client.json';
const key = { ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'ES256' };
const grants = new Set();
let lifetime = lasting;
let resource;

// Only the event goes to stdout.
console.info = console.warn = (...text) => console.error(...text);

// guarded is what the MCP server wants of its tokens (RFC 9068).
function guarded(ctx, indicator) {
  if (indicator !== resource) throw new errors.InvalidTarget();
  return { scope: scopes.join(' '), audience: resource, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } };
}

// fetched is the one document of the web that can be reached.
async function fetched(url) {
  if (String(url) !== documented) throw new Error(`${url} cannot be reached`);
  return Response.json({
    client_id: documented, client_name: 'Documented', redirect_uris: ['http://127.0.0.1/callback'], application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none',
    dpop_bound_access_tokens: true,
  });
}

const configurations = {
  registration: { features: { registration: { enabled: true } } },
  document: {
    fetch: fetched,
    features: {
      clientIdMetadataDocument: { enabled: true, ack: 'draft-02', allowFetch: () => true },
      dPoP: { enabled: true, nonceSecret: randomBytes(32), requireNonce: () => true },
    },
  },
  known: {
    features: { pushedAuthorizationRequests: { enabled: true, requirePushedAuthorizationRequests: true } },
    clients: [{
      client_id: 'known', client_secret: 'the secret of the known client', redirect_uris: ['http://127.0.0.1/callback'], application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'client_secret_basic',
    }],
  },
};
const { features, ...more } = configurations[how];

const provider = new Provider(issuer, {
  jwks: { keys: [key] },
  scopes: ['openid', 'offline_access', ...scopes],
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
  cookies: { keys: [randomBytes(16).toString('hex')] },
  pkce: { required: () => true },
  rotateRefreshToken: true,
  ttl: { AccessToken: () => lifetime },
  features: {
    devInteractions: { enabled: true }, // its own pages
    revocation: { enabled: true },
    resourceIndicators: { enabled: true, getResourceServerInfo: guarded },
    ...features,
  },
  ...more,
});
provider.on('grant.saved', (grant) => grants.add(grant.jti));
provider.on('grant.error', (ctx, err) => console.error('refused:', err.error, err.error_detail ?? err.error_description));
provider.on('server_error', (ctx, err) => console.error(err));

serve(provider.callback(), {
  resource: (query) => { resource = query.get('url'); },
  lifetime: (query) => { lifetime = Number(query.get('seconds')); },
  async end() {
    for (const id of grants) {
      await Promise.all([provider.RefreshToken.revokeByGrantId(id), provider.AccessToken.revokeByGrantId(id)]);
      await (await provider.Grant.find(id))?.destroy();
    }
    grants.clear();
  },
});
