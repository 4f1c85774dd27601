// Package guarded is an MCP server that requires a login, its authorization servers, and
// hosts that a client must not connect to. They are correct until a scenario changes a
// document, an answer or a handler. They record every request and judge none.
package guarded
