// Package transport holds the ways to reach an MCP server: [Command] (a child
// process over stdio), [HTTP] (streamable HTTP), [Stream] (any byte stream)
// and [InMemory] (a pair, for tests).
//
// A [Transport] is a plain struct whose zero options work. The client opens it
// with Connect and gets a [Conn], which sends one request and waits for its
// answer. A transport knows framing, processes and HTTP; it knows no MCP
// method but the two the HTTP transport must treat apart, and retries nothing.
package transport
