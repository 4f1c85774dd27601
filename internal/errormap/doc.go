// Package errormap maps errors of servers and of the standard library to [mcperrors.Error]:
// JSON-RPC errors, tool errors, HTTP responses, and errors of a connection. Only Mainstay itself
// needs it, so it is not part of the public API.
package errormap
