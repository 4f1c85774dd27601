// A server in the shape of mcp-server-github: the low-level Server of the official
// TypeScript SDK, whose handler of tools/call throws. The SDK answers a plain Error with
// the JSON-RPC error -32603.
//   thrower.mjs [SECONDS]   stays mute for so long before it reads stdin
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const server = new Server({ name: "thrower", version: "1" }, { capabilities: { tools: {} } });

server.setRequestHandler(ListToolsRequestSchema, async () => ({
	tools: [{
		name: "get_issue",
		description: "Returns an issue; only even numbers exist.",
		inputSchema: { type: "object", properties: { number: { type: "integer" } }, required: ["number"] },
	}],
}));

server.setRequestHandler(CallToolRequestSchema, async (request) => {
	const { number } = request.params.arguments;
	if (number % 2 !== 0) throw new Error("Not Found");
	return { content: [{ type: "text", text: `issue ${number}` }] };
});

const mute = Number(process.argv[2] ?? 0) * 1000;
await new Promise((resolve) => setTimeout(resolve, mute));
await server.connect(new StdioServerTransport());
