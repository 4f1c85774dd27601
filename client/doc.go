// Package client calls MCP servers.
//
//	c, err := client.Dial(ctx, "https://example.com/mcp")
//	if err != nil {
//		return err
//	}
//	defer c.Close()
//	res, err := c.CallTool(ctx, "greet", map[string]any{"name": "you"})
//
// [Dial] connects over streamable HTTP. [DialCommand] starts a program and
// connects over its stdin and stdout. [Connect] takes any [transport.Transport].
//
// MCP has two eras: in the session era a conversation opens with initialize, and
// since revision 2026-07-28, in the stateless era, each request is independent. The
// client finds out which era a server speaks, and every call works the same in
// both. [WithProtocolVersion] pins a revision.
//
// With no options a client has deadlines, a circuit breaker, retries, a schema
// cache and bounds on everything a server may send. A call is retried only if that
// is proven safe ([RetryPolicy]). A program that exits is restarted ([Restart]),
// and a lost session is reopened. [Resilience] holds the settings.
//
// Servers may ask the application for input. Register handlers once, for both
// eras: [OnSampling], [OnElicitForm], [OnElicitURL], [WithRoots]. [OnRequest] takes
// requests as raw JSON.
//
// There are four ways to watch a client. Each answers a question:
//
//   - [OnEvent]: what happened to the connection?
//   - [WithMeter]: how often, and how long? Counts of requests, calls, retries, refusals.
//   - [WithMiddleware]: what did this call do, and may it run? It may also change the call.
//   - [WithTrace]: which bytes were sent and received?
//
// To use several servers through one handle, see package
// github.com/mainstay-mcp/mainstay/pool.
//
// These are the types to know first:
//
//   - [Client], one connection to one server; safe for concurrent use
//   - [CallAs], which calls a tool and decodes its result into a Go type
//   - [mcp.CallToolResult], what a tool returned; IsError makes it a failure of
//     the tool, which is still a result
//   - [mcperrors.Error], the type of every error: what happened, whether a retry may
//     help, and whether the call may have run
//
// Docs with the heading "Experimental" describe what a minor version may change or remove;
// everything else follows SemVer from v1.0.0.
package client
