// Package transport has the transports that reach an MCP server: [Command] (a
// child process over stdio), [HTTP] (streamable HTTP), [SSE] (HTTP+SSE of
// 2024), [Stream] (any byte stream) and [InMemory] (a pair for tests).
//
// A [Transport] is a plain struct, whose options have useful zero values. The
// client calls Connect and gets a [Conn], which sends a request and waits for
// its answer. A transport implements framing, processes and HTTP. It does not
// retry, and it knows only the MCP methods that HTTP must treat specially.
//
// To write a transport, implement [Transport] and [Conn]. The client looks for more methods,
// which are optional; each enables one more feature.
//
// Methods of a [Transport]:
//
//   - Identity() string: a unique name of the server; the key of cached lists and eras
//   - Secrets() []string: values that errors, logs and traces must not show
//   - Scope() (scope string, known bool): a name for the credentials of all requests,
//     "" for none, for caches that several clients share
//   - Callers() func(ctx) *[Caller]: the caller of a call, asked for once at its start; nil if the
//     credentials are the same for every call
//   - WatchLogin([LoginWatch]) (stop func()): changes of the login that requests use; nil if
//     there are none to report
//   - Fallback() Transport: the transport to try for older servers
//
// Methods of a [Conn]:
//
//   - Received() uint64 and Late() uint64: how much arrived, in any unit, and how many
//     answers came too late; with them the client notices a silent server early
//   - ReadNothing() bool: whether a program has exited and provably read no byte of what
//     was sent. Connect does not start such a program again
//   - Backlog() [jsonrpc.Backlog]: how much of the sent data the server has read
//   - Kill(reason error) and Exited() <-chan struct{}: of a child process, so that the
//     client can restart one that hangs
//   - Ended() *[Failure]: why the connection ended
//   - NotifyAs(ctx, n, who *[Caller]) error and RespondAs(ctx, resp, who *[Caller]) error:
//     Notify and Respond with the credentials of a caller, nil for those of ctx
//   - OpenStream() <-chan struct{} and DropSession(): streams and sessions of servers
//     before 2026-07-28
//   - Secrets() []string: values that became known after Connect, such as session ids
package transport
