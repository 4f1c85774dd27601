// Package proxy puts a client in front of a program that cannot import one: a host, which
// is any program with an MCP client in it, starts the proxy as its server.
//
//	err := proxy.Stdio(ctx, os.Stdin, os.Stdout, proxy.URL("https://example.com/mcp"))
//
// The host gets what package client does for its own callers: a server that dies is started
// again, a lost session is reopened, calls wait for it or fail with the truth about what was
// sent, and nothing that may have run is repeated. A host of one era can use a server of the
// other one.
//
// # What crosses
//
// Messages cross as raw JSON, with members and numbers that this package does not know.
// Changed are only the parts that belong to one connection: ids of requests, progress tokens,
// subscription ids, the members of _meta that name a revision, and what one era requires and
// the other does not know (resultType, ttlMs, cacheScope). The table in table.go has what each
// method becomes.
//
// With [Servers], a host uses several servers as if they were one.
//
// # Experimental
//
// A minor version may change or remove anything in this package.
package proxy
