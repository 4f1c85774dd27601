// Package jsonrpc is JSON-RPC 2.0 as MCP uses it: messages, strict decoding,
// newline framing and a connection that carries many calls at once. It knows
// nothing of MCP.
//
// The types to know are [Request], [Notification] and [Response] (what goes
// over the wire), [Error] (what a peer answers when it refuses), and [Conn]
// (one byte stream, many calls in flight):
//
//	conn := jsonrpc.NewConn(stream, jsonrpc.Config{})
//	defer conn.Close()
//	resp, err := conn.Call(ctx, jsonrpc.Request{ID: jsonrpc.StringID("1"), Method: "ping"}, jsonrpc.Wait{})
//
// Decoding is strict where a lenient reader would be fooled: member names are
// matched exactly, duplicate members are refused, depth and size are bounded,
// and no number passes through float64. It is lenient where real servers need
// it: unknown members are ignored, and invalid UTF-8 inside result, params and
// error.data arrives as U+FFFD instead of costing the call.
package jsonrpc
