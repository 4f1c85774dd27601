// A host that is a command of others: the CLI of the MCP Inspector, one process for each
// order, with the server in a configuration file.
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serve } from './orders.mjs';

const folder = mkdtempSync(join(tmpdir(), 'inspector-'));
const config = join(folder, 'mcp.json');
const program = join(dirname(fileURLToPath(import.meta.url)), 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js');

// inspect returns the result that the CLI prints, also that of a tool that failed.
function inspect(method, ...args) {
  const argv = [program, '--cli', '--config', config, '--server', 'it', '--quiet', '--method', method, ...args];
  const options = { env: { ...process.env, HOME: folder, MCP_INSPECTOR_SECRET_STORE: 'memory' }, maxBuffer: 1 << 24 };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, argv, options, (failed, stdout, stderr) => {
      try {
        if (failed && !stdout.trim()) reject(new Error(JSON.parse(stderr.trim().split('\n').at(-1)).error.message));
        else resolve(JSON.parse(stdout));
      } catch {
        reject(failed ?? new Error(`not JSON: ${stdout}`));
      }
    });
  });
}

const names = async (what, member, kind, name) => (await inspect(`${what}/list`))[member].map((m) => `${kind} ${m[name]}`);

await serve({
  async connect({ command, url }) {
    const server = url ? { type: 'streamable-http', url } : { command: command[0], args: command.slice(1), env: process.env };
    writeFileSync(config, JSON.stringify({ mcpServers: { it: server } }));
    const { serverInfo, protocolVersion } = await inspect('initialize');
    return { server: serverInfo.name, revision: protocolVersion };
  },
  async list() {
    return { names: [
      ...await names('tools', 'tools', 'tool', 'name'),
      ...await names('prompts', 'prompts', 'prompt', 'name'),
      ...await names('resources', 'resources', 'resource', 'uri'),
    ] };
  },
  async call({ name, args }) {
    const result = await inspect('tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args));
    return { text: result.content.map((c) => c.text ?? '').join(''), failed: result.isError };
  },
  async prompt({ name }) { await inspect('prompts/get', '--prompt-name', name); },
  async close() { rmSync(folder, { recursive: true }); },
});
