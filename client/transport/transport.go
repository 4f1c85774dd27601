package transport

import (
	"context"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Transport is a way to reach one server. Connect may be called again after
// the connection it gave has ended.
type Transport interface {
	// Connect opens the way: it starts the program, or checks the URL. ctx
	// bounds opening only; the connection outlives it. Errors are [*Failure].
	Connect(ctx context.Context, h Handler) (Conn, error)
	// String names the server for people and logs, without secrets.
	String() string
}

// Conn is one open way to a server. All methods may be called from many
// goroutines at once.
type Conn interface {
	// Call sends a request and waits for its answer, within ctx and req.Wait.
	// Params of up to 32 KiB must not be kept after Call has returned: the
	// client uses their memory again. Larger ones are never changed.
	// An answer that is a JSON-RPC error is an Answer. Errors are [*Failure].
	Call(ctx context.Context, req Request) (Answer, error)
	// Notify sends a notification and returns once the transport has taken it
	// (stdio) or the server has accepted it (HTTP).
	Notify(ctx context.Context, n jsonrpc.Notification) error
	// Respond answers a request of the server. On stdio it never waits.
	Respond(ctx context.Context, resp jsonrpc.Response) error
	// Touch starts the idle timeout of a call anew, when something came for it
	// that the transport cannot tell to belong to it.
	Touch(id jsonrpc.ID)
	// UseVersion tells which revision was negotiated.
	UseVersion(version string)
	// Traits says what the protocol has to know of the way messages go.
	Traits() Traits
	// Done is closed when nothing can come from the server any more. A
	// connection without a stream of its own closes it in Close.
	Done() <-chan struct{}
	// Close ends every call in flight within a second and releases everything:
	// connections, goroutines, the child process. It may be called again.
	Close() error
}

// Traits says in what connections differ as far as the protocol cares. The zero
// Traits are those of a byte stream.
type Traits struct {
	// Exchanges: each request has an exchange of its own. Giving the request up
	// ends that exchange, which in the stateless era is the cancellation
	//, and headers repeat what the message says.
	Exchanges bool
	// Process: the server is a program of ours. Connecting again starts a fresh
	// one.
	Process bool
	// SessionOnly: the way exists in the session era only.
	SessionOnly bool
}

// Streamer is a [Conn] that can hold a stream open for what the server sends
// by itself in the session era.
type Streamer interface {
	// OpenStream starts to hold the stream for the session there is now. It
	// returns at once; servers that do not offer a stream are left in peace.
	// Without a session to come, Close or the session's loss ends it. The
	// channel is closed when the server has said whether it has one.
	OpenStream() (said <-chan struct{})
}

// Sessions is a [Conn] whose server may keep sessions. The client uses it when
// it is there.
type Sessions interface {
	// DropSession gives up the session that was opened last, whose handshake has
	// failed: nothing is sent any more before the next initialize. It
	// does not wait for the server to be told.
	DropSession()
}

// Fallback is a [Transport] that can also reach servers of an older kind.
type Fallback interface {
	// Fallback returns the transport to try when initialize was refused the
	// way such servers refuse it.
	Fallback() Transport
}

// Ender is a [Conn] that can say how it ended. The client uses it when it is
// there.
type Ender interface {
	// Ended returns what calls fail with once Done is closed, with what is known
	// of the program.
	Ended() *Failure
}

// Program is a [Conn] to a program of ours. The client uses it when it is there.
type Program interface {
	// Kill ends the program and its children at once. Calls in flight, and later
	// ones, fail with reason. It does not wait.
	Kill(reason error)
	// Exited is closed when the program has ended.
	Exited() <-chan struct{}
}

// Aborter is a [Conn] that can be closed quicker when the handshake on it has
// failed. The client uses it when it is there.
type Aborter interface{ Abort() error }

// Counter is a [Conn] that counts what comes. The client uses it when it is
// there: without it a server that has fallen silent is found by timeouts only.
type Counter interface {
	// Received returns a number that grows whenever something has come from the
	// server, if only a part of a message.
	Received() uint64
	// Late returns how many answers came that nobody waited for (any more).
	Late() uint64
}

// Outbox is a [Conn] that knows what of its own the server has not taken yet. The
// client uses it when it is there: without it a program that does not read any
// more is left running.
type Outbox interface {
	// Backlog returns how what is sent gets through.
	Backlog() jsonrpc.Backlog
}

// Request is one outgoing request.
type Request struct {
	jsonrpc.Request
	// Wait bounds the wait for the answer.
	Wait jsonrpc.Wait
	// Mirror is set in the stateless era, nil before. Only a connection whose
	// traits say Exchanges looks at it.
	Mirror *Mirror
}

// Mirror is what headers repeat of a request in the stateless era. Its presence
// makes the exchange a stateless one: no session, no resumption.
type Mirror struct {
	// Version is the revision in the request's _meta.
	Version string
	// Name is the tool, prompt, URI or task the request is about, as it is;
	// empty when the method has none.
	Name string
	// Params are the arguments to repeat, names without their prefix, values
	// in text form, not encoded yet.
	Params []Param
}

// Param is one argument of a tool that a header repeats.
type Param struct{ Name, Value string }

// Answer is what a server answered.
type Answer struct {
	jsonrpc.Response
	// HTTP is set when an error came with a status that is not 2xx.
	HTTP *mcperrors.HTTPEvidence
	// RetryAfter is the server's wish that came with that status, 0 without one.
	RetryAfter time.Duration
}

// Handler takes what a server sends by itself. The functions are called on the
// goroutine that reads; they must return at once. nil functions ignore.
type Handler struct {
	// OnRequest gets the server's requests, to be answered with Conn.Respond.
	OnRequest func(jsonrpc.Request)
	// OnNotification gets the server's notifications. id is the call on whose
	// stream it came, zero where that cannot be told.
	OnNotification func(n jsonrpc.Notification, id jsonrpc.ID)
	// OnFault gets what the server did wrong without a call to blame it on.
	OnFault func(error)
	// OnSessionLost is called when the server turns out not to know the session
	// any more, outside any call: a call's failure says so itself.
	OnSessionLost func()
	// OnGap is called when the stream of [Streamer] was interrupted and could
	// not be resumed: what the server sent meanwhile is lost.
	OnGap func()
	// OnCallbackFailed is told that a function of the application, such as the
	// RoundTripper of [HTTP], panicked with value, or ended its goroutine, which
	// is nil. What it was needed for fails; nothing else does.
	OnCallbackFailed func(name string, value any, stack []byte)
	// Budget bounds what is held of unfinished answers together; nil bounds nothing.
	Budget *Budget
	// Trace sees the traffic.
	Trace Trace
}

// Trace sees everything that goes over the wire. What the functions are given
// is lent to them until they return: its memory is written over after that, so
// that what is to be kept must be copied. It must not be changed. nil functions
// cost nothing.
type Trace struct {
	// Sent and Received see whole messages, without a newline.
	Sent, Received func(frame []byte)
	// Noise sees lines of a program's stdout that are not messages.
	Noise func(line []byte)
	// Stderr sees lines of a program's stderr.
	Stderr func(line string)
}

// Limits bounds what is taken from a server. Zero members take the defaults. They are
// all that bounds a message which is read from a pipe: [Budget] counts it only when it
// has come.
type Limits struct {
	// MessageBytes bounds a line, a body, an event, each after decompression;
	// 0 means 16 MiB.
	MessageBytes int
	// Depth bounds the nesting of a message; 0 means 512.
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
