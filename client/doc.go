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
// three find out which revision the server speaks ([WithProtocolVersion] pins
// one), open the conversation, in the session era with initialize, a check of
// the answer and notifications/initialized, and walk tools/list once to fill
// the schema cache. A session that the server loses is opened again by itself.
//
// The same calls work in both eras of the protocol. What a server may ask is
// answered by handlers that are registered once: [OnSampling], [OnElicitForm],
// [OnElicitURL], [WithRoots]. [OnEvent] tells what happens to the connection.
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
