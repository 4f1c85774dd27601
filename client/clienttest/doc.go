// Package clienttest has a scripted MCP server for tests of programs that use
// package client. The server answers as the test says, records the requests,
// and fails on demand. It supports both eras. It works in memory, also inside a
// testing/synctest bubble, and over HTTP on loopback. It ends with the test.
//
// A client can reach the server in four ways, also at the same time.
// [Server.Transport] makes it a program, [Server.Stream] a byte stream, and
// [Server.HTTP] is streamable HTTP in memory; these work in virtual time.
// [Server.URL] is streamable HTTP on loopback. With each of them, a connection
// can break ([ErrCut]), a request can stay unanswered ([ErrSilent]), and a
// message can be anything ([Raw]). In memory, the program can exit
// ([Server.Exit]) and refuse to start ([Server.OnConnect]). Over HTTP, an
// [HTTPError] answers with any status, headers and body, and
// [Server.ForgetSessions] loses sessions.
//
// Use [Server.On] for methods without a function of their own here, such as
// resource templates, completion and tasks.
//
// Programs that only call tools need no server: see client.Caller.
package clienttest
