package transport

import (
	"context"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Transport reaches one server. The client may call Connect again after the
// connection has ended.
type Transport interface {
	// Connect opens a connection: it starts the program, or checks the URL. ctx
	// limits only the opening, not the life of the connection. Errors are
	// [*Failure].
	Connect(ctx context.Context, h Handler) (Conn, error)
	// String returns the name of the server for people and logs, without secrets.
	String() string
}

// Conn is an open connection to a server. Its methods must be safe for
// concurrent use.
type Conn interface {
	// Call sends a request and waits for its answer, within the limits of ctx and
	// req.Wait. An answer that is a JSON-RPC error is an Answer. Errors are
	// [*Failure].
	//
	// Call must not keep params of up to 32 KiB after it returns, because the
	// client reuses their memory. The client never changes larger params.
	Call(ctx context.Context, req Request) (Answer, error)
	// Notify sends a notification. It returns when the transport has queued it
	// (stdio) or the server has accepted it (HTTP).
	Notify(ctx context.Context, n jsonrpc.Notification) error
	// Respond answers a request of the server. Over stdio it never blocks.
	Respond(ctx context.Context, resp jsonrpc.Response) error
	// Touch restarts the idle timeout of a call. The client calls it when
	// something arrives for the call that the transport cannot assign to it.
	Touch(id jsonrpc.ID)
	// UseVersion sets the negotiated protocol revision.
	UseVersion(version string)
	// Traits returns the properties of the connection that matter to the protocol.
	Traits() Traits
	// Done returns a channel that is closed when nothing more can arrive from the
	// server. A connection without a stream of its own closes it in Close.
	Done() <-chan struct{}
	// Close ends all calls in flight within a second, and releases connections,
	// goroutines and the child process. It may be called more than once.
	Close() error
}

// Traits are the properties of a connection that matter to the protocol. The
// zero value describes a byte stream.
type Traits struct {
	// Exchanges means that each request has its own exchange, as in HTTP. To
	// abandon the request ends the exchange, which cancels the request in the
	// stateless era. Headers repeat parts of the message.
	Exchanges bool
	// Process means that the server is a child process. To connect again starts a
	// new process.
	Process bool
	// SessionOnly means that only revisions of the session era can use the
	// connection.
	SessionOnly bool
}

// Request is an outgoing request.
type Request struct {
	jsonrpc.Request
	// Wait limits the time to wait for the answer.
	Wait jsonrpc.Wait
	// Mirror is set in the stateless era, and nil otherwise. Only a connection with the trait
	// Exchanges uses it.
	Mirror *Mirror
	// Caller is set for the first request of a call, if the transport identified its
	// caller when the call started. With nil, the connection asks for credentials itself.
	Caller *Caller
	// Challenged is that of the answer to an earlier request of the same call, nil if it had
	// none.
	Challenged *ChallengedCall
}

// Mirror is the part of a request that HTTP headers repeat in the stateless
// era. An exchange with a Mirror has no session and cannot be resumed.
type Mirror struct {
	// Version is the revision in the _meta of the request.
	Version string
	// Name is the tool, prompt, URI or task of the request, unencoded. It is empty
	// if the method has none.
	Name string
	// Params are the arguments to repeat. Names have no prefix; values are text,
	// not yet encoded.
	Params []Param
}

// Param is an argument of a tool that a header repeats.
type Param struct{ Name, Value string }

// Answer is the answer of a server.
type Answer struct {
	jsonrpc.Response
	// HTTP is set for a JSON-RPC error with an HTTP status other than 2xx.
	HTTP *mcperrors.HTTPEvidence
	// RetryAfter is the Retry-After of that status, 0 if there is none.
	RetryAfter time.Duration
	// Caller is the caller of the request, nil if the transport does not distinguish callers. It
	// differs from the request's Caller after a challenge.
	Caller *Caller
	// Challenged is set, even beside an error, if the server challenged this request or an
	// earlier one of the same call. Call its Succeed when the call has succeeded.
	Challenged *ChallengedCall
}

// Handler receives messages that are not answers to a request of the client.
// Its functions run on the goroutine that reads, and must return at once. nil
// functions ignore the message.
type Handler struct {
	// OnRequest receives requests of the server. Answer them with Conn.Respond. If a request came
	// on the stream of a call, ctx has the values of the context of the call, and who is its
	// caller if the transport distinguishes callers. ctx never ends.
	OnRequest func(ctx context.Context, req jsonrpc.Request, who *Caller)
	// OnNotification receives notifications of the server. id is the call on whose
	// stream the notification arrived, or zero if that is unknown. ctx has the values of the
	// context of that call, and never ends.
	OnNotification func(ctx context.Context, n jsonrpc.Notification, id jsonrpc.ID)
	// OnFault receives violations of the protocol that belong to no call.
	OnFault func(error)
	// OnSessionLost is called if the server has lost the session and no call has reported that
	// with its failure.
	OnSessionLost func()
	// OnGap is called if the stream of [Streamer] broke and could not be resumed.
	// Messages that the server sent in the meantime are lost.
	OnGap func()
	// OnCallbackFailed is called if a function of the application, such as the RoundTripper of
	// [HTTP], panics or calls runtime.Goexit. value is the value of the panic, or nil. Only the
	// operation that needed the function fails.
	OnCallbackFailed func(name string, value any, stack []byte)
	// Budget limits the memory for unfinished answers. nil sets no limit.
	Budget *Budget
	// Trace receives the traffic.
	Trace Trace
}

// Trace receives everything that is sent and received. A function may use its argument only until
// it returns, and must not change it. nil functions cost nothing.
//
// Sending and reading wait for the functions, so they must not block, and must not make calls
// with the same client. Over a stream or a program, Received and Noise run one at a time in the
// order of arrival, and no answer is read while one of them runs; Stderr runs on the goroutine
// that reads stderr. Sent runs on the goroutine that sends, before the message is sent. Over
// HTTP, Sent and Received run on the goroutine of their request or stream. So several calls of
// Sent may run concurrently, and over HTTP also calls of Received. The option WithTrace of
// package client runs each function on a goroutine of its own and waits for it, so that a panic
// affects only that function.
type Trace struct {
	// Sent and Received get whole messages without a newline.
	Sent, Received func(frame []byte)
	// Noise gets lines on the stdout of a program that are not messages.
	Noise func(line []byte)
	// Stderr gets lines on the stderr of a program.
	Stderr func(line string)
	// Exited is called when a program has exited, before its children in its process group are
	// killed. They live until it returns.
	//
	// # Experimental
	//
	// It is there for programs that look at what a server leaves behind.
	Exited func()
}

// Limits bound what the client accepts from a server. Zero fields use the
// defaults. A [Budget] counts a message from a pipe only when it is complete,
// so until then only Limits apply.
type Limits struct {
	// MessageBytes limits a line, a body or an event after decompression. 0 means
	// 16 MiB.
	MessageBytes int
	// Depth limits the nesting of a message. 0 means 512.
	Depth int
}

func (l Limits) withDefaults() Limits {
	if l.MessageBytes == 0 {
		l.MessageBytes = 16 << 20
	}
	if l.Depth == 0 {
		l.Depth = jsonrpc.DefaultDepth
	}
	return l
}

func (l Limits) check() error {
	if l.MessageBytes < 0 || l.Depth < 0 {
		return optionError("limits must not be negative")
	}
	return nil
}
