// A host with the client of @modelcontextprotocol/sdk, the first TypeScript SDK.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import {
  CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema, LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { capabilities, clientOf, given, serve, serverSent } from './orders.mjs';

async function connect({ command, url }) {
  const client = new Client({ name: 'typescript-v1-host', version: '1' }, { capabilities });
  for (const schema of [ElicitRequestSchema, CreateMessageRequestSchema, ListRootsRequestSchema]) {
    client.setRequestHandler(schema, ({ method }) => {
      serverSent.asked.push(method);
      return given[method];
    });
  }
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => { serverSent.logs.push(params.level); });
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => { serverSent.updates.push(params.uri); });
  const transport = url ? new StreamableHTTPClientTransport(new URL(url))
    : new StdioClientTransport({ command: command[0], args: command.slice(1), env: process.env });
  // This client has no getter for the revision: it tells its transport.
  let revision;
  const told = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => { revision = version; told?.(version); };
  await client.connect(transport);
  client.getNegotiatedProtocolVersion = () => revision;
  return client;
}

await serve(clientOf(connect, { callTool: (client, params, options) => client.callTool(params, undefined, options) }));
