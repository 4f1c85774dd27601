// Package transport has the transports that reach an MCP server: [Command] (a
// child process over stdio), [HTTP] (streamable HTTP), [SSE] (HTTP+SSE of
// 2024), [Stream] (any byte stream) and [InMemory] (a pair for tests).
//
// A [Transport] is a plain struct, whose options have useful zero values. The
// client calls Connect and gets a [Conn], which sends a request and waits for
// its answer. A transport implements framing, processes and HTTP. It does not
// retry, and it knows only the MCP methods that HTTP must treat specially.
//
// To write a transport of your own, implement [Transport] and [Conn]. The other
// interfaces of this package are optional. The client tests for them, and each
// makes one more feature work.
package transport
