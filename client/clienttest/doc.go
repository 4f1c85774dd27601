// Package clienttest is an MCP server for the tests of programs that use package
// client: it says what the test scripts, remembers what it was asked, and fails on
// demand. It speaks the session era and the stateless era, in memory, also in
// a testing/synctest bubble, and over HTTP on loopback. It depends on nothing but
// the standard library and Mainstay, and ends with the test.
//
// Three ways lead to one server, and clients may take all of them at once:
// [Server.Transport], where it is a program; [Server.HTTP], streamable HTTP in
// memory; [Server.URL], streamable HTTP on loopback. The first two work in virtual
// time. Everywhere a connection can break ([ErrCut]) and a request stay unanswered
// ([ErrSilent]); over HTTP an [HTTPError] answers with any status, headers and body,
// and [Server.ForgetSessions] loses sessions.
//
// Resource templates, completion, tasks and whatever else has no method of its own
// here are answered with Server.On.
//
// Programs that only call tools can do without any server: see client.Caller.
package clienttest
