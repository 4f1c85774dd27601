// Package guarded is an MCP server that demands a login, the authorization servers
// around it, and hosts that a client must not talk to. They follow the rules until a
// scenario changes a document, an answer or a handler; they write down every request
// and judge none. The package knows HTTP and OAuth, and no scenario.
package guarded
