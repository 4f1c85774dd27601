// Package client calls MCP servers.
//
//	c, err := client.Dial(ctx, "https://example.com/mcp")
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	res, err := c.CallTool(ctx, "greet", map[string]any{"name": "you"})
//
// [Dial] speaks streamable HTTP, [DialCommand] starts a program and speaks
// over its stdin and stdout, [Connect] takes any [transport.Transport]. All
// three open a session: initialize, check of the answer,
// notifications/initialized, and one walk of tools/list to fill the schema
// cache. The session is opened once; there is no way to open it again.
//
// With no options a client has deadlines, a circuit breaker, a schema cache
// and bounds on everything a server may send. Every error is a
// [*mcperrors.Error], which says what happened, whether a later attempt may
// succeed, and whether the request may have been executed. A tool that reports
// isError is a result, not an error; see [Client.ToolError].
//
// The types to know are [Client], [Option] and [Resilience]. There is no
// public session: a session is how a server of the older revisions keeps a
// connection, not something users hold.
package client
