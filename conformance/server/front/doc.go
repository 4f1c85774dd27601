// Package front is between the wire and the go-sdk's server and does what go-sdk 1.8.0
// leaves undone, for stdio ([Stdio]) and for HTTP ([HTTP], behind a
// [Gate]):
//
//   - a line or body that is not JSON is answered with -32700 and id null,
//     and one that is not a JSON-RPC request with -32600 and the id it came
//     with, and the session goes on (go-sdk ends a stdio session, and answers
//     plain text over HTTP);
//   - methods the server does not serve get -32601, calls before `initialize`
//     get -32600 (go-sdk: plain text over HTTP, code 0 on stdio);
//   - the two eras of MCP share a pipe and a URL: each request goes to go-sdk's
//     session or stateless handler by the revision it names, and over stdio
//     each request of the stateless era gets a session of its own;
//   - a batch is served where its revision has batches, and refused elsewhere;
//   - tools of some families are methods of their own, without a handshake;
//   - rate limits are asked in the order of arrival, which go-sdk's handlers
//     have lost, and become headers over HTTP;
//   - a message over the size or depth limit costs that message alone;
//   - ids keep their value and type, integers beyond 2^53 in a stdio session
//     included (go-sdk carries numbers through float64);
//   - the end of stdin waits for the calls still running (go-sdk cancels them
//     and drops their answers);
//   - over stdio, and on a stream of HTTP+SSE, a second `initialize` opens a session
//     that takes the place of the first, so that a bridge can share one program
//     between clients (go-sdk refuses it);
//   - Origin, Host and the bearer token are checked.
//
// What needs the state of a session (the second `initialize` with the id of an HTTP
// session, the gate until `notifications/initialized`) is in the server's
// receiving middleware.
package front
