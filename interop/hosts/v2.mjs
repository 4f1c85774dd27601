// A host with the client of @modelcontextprotocol/client, the second TypeScript SDK. By
// default it speaks the session era, with "auto" the newest that the server offers.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { capabilities, clientOf, given, serve, serverSent } from './orders.mjs';

async function connect({ command, url, pinned }) {
  const client = new Client({ name: 'typescript-v2-host', version: '1' },
    { capabilities, versionNegotiation: { mode: pinned ? 'legacy' : 'auto' } });
  for (const method of Object.keys(given)) {
    client.setRequestHandler(method, () => {
      serverSent.asked.push(method);
      return given[method];
    });
  }
  client.setNotificationHandler('notifications/message', ({ params }) => { serverSent.logs.push(params.level); });
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => { serverSent.updates.push(params.uri); });
  await client.connect(url ? new StreamableHTTPClientTransport(new URL(url))
    : new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env }));
  return client;
}

await serve(clientOf(connect, {
  callTool: (client, params, options) => client.callTool(params, options),
  subscribe: (client, uri) => client.listen({ resourceSubscriptions: [uri] }),
}));
