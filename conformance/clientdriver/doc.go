// Package clientdriver drives an MCP client through the conformance suite for clients: it is
// most of the program that "mcpctl conform client" starts. That program reads its task from
// the environment, does the steps with its client, and reports how each ended.
//
// A developer of a client writes the rest, the glue: a function that connects the client, and
// a table of the methods that it has. docs/conformance-clients.md has one for a client on
// the official go-sdk.
//
// # Experimental
package clientdriver
