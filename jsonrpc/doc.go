// Package jsonrpc implements JSON-RPC 2.0 as MCP uses it: messages, strict
// decoding, newline framing, and a connection with many calls in flight. It
// does not depend on MCP.
//
// The main types are [Request], [Notification] and [Response] (the messages),
// [Error] (the error of a peer), and [Conn] (one byte stream with many calls in
// flight):
//
//	conn := jsonrpc.NewConn(in, out, jsonrpc.Config{})
//	defer conn.Close()
//	resp, err := conn.Call(ctx, jsonrpc.Request{ID: jsonrpc.StringID("1"), Method: "ping"}, jsonrpc.Wait{})
//
// Decoding is strict where leniency is dangerous. Member names match exactly,
// duplicate members are errors, depth and size have limits, and no number is
// converted to float64. Decoding is lenient where real servers need it. Unknown
// members are ignored, and invalid UTF-8 inside result, params and error.data
// is replaced by U+FFFD.
package jsonrpc
