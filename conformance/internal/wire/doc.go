// Package wire drives MCP servers byte by byte: it can send what no correct client sends,
// and delivers every answer. The checks of package conformance use it.
//
// [Program], [NewPipeConn], [NewHTTPConn] and [OpenSSE] make a [Conn], one open connection;
// a [Session] on it gives requests ids, finds their answers and opens the conversation as
// each era does. A [Trace] keeps the [Frame] values that crossed the connection, without
// secrets. Everything that a server may do is bounded in time and in bytes.
package wire
