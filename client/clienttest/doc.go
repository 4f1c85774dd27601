// Package clienttest is an MCP server for the tests of programs that use package
// client: it says what the test scripts, remembers what it was asked, and fails on
// demand. It speaks the session era and the stateless era, in memory, also in
// a testing/synctest bubble, and over HTTP on loopback. It depends on nothing but
// the standard library and Mainstay, and ends with the test.
//
// Resource templates, completion, tasks and whatever else has no method of its own
// here are answered with Server.On.
//
// Programs that only call tools can do without any server: see client.Caller.
package clienttest
