// Package link has the connection that an attempt uses, and what was negotiated on it.
package link

import (
	"context"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Link is one open connection and its agreement. It is immutable: a new session, a restarted
// program or a corrected revision makes a new Link. An attempt uses one Link throughout.
type Link struct {
	Conn   transport.Conn
	Traits transport.Traits
	// Number identifies the connection: Conn may have a type that cannot be compared.
	Number uint32
	Agreed *Agreement
}

var connections atomic.Uint32

// New returns the link of a connection without an agreement.
func New(conn transport.Conn) *Link {
	return &Link{Conn: conn, Traits: conn.Traits(), Number: connections.Add(1), Agreed: Nothing}
}

// With returns a link on the same connection with another agreement.
func (l *Link) With(a *Agreement) *Link {
	other := *l
	other.Agreed = a
	return &other
}

// StatelessHTTP reports whether each request is an HTTP exchange of its own in the stateless era.
// Then headers repeat parts of the request, and closing the exchange cancels it.
func (l *Link) StatelessHTTP() bool {
	return l.Agreed.Era == mcp.EraStateless && l.Traits.Exchanges
}

// Notify sends a notification for a caller, which is nil if it is unknown.
func (l *Link) Notify(ctx context.Context, n jsonrpc.Notification, who *transport.Caller) error {
	if c, ok := l.Conn.(NotifierAs); ok {
		return c.NotifyAs(ctx, n, who)
	}
	return l.Conn.Notify(ctx, n)
}

// Respond answers a request of the server for a caller, which is nil if it is unknown.
func (l *Link) Respond(ctx context.Context, resp jsonrpc.Response, who *transport.Caller) error {
	if c, ok := l.Conn.(ResponderAs); ok {
		return c.RespondAs(ctx, resp, who)
	}
	return l.Conn.Respond(ctx, resp)
}

// Abort closes the connection without a graceful shutdown. It ignores errors: the connection is
// not used any more.
func (l *Link) Abort() {
	if a, ok := l.Conn.(interface{ Abort() error }); ok {
		_ = a.Abort()
	}
	_ = l.Conn.Close()
}

// Ended returns how the connection ended. Call it once Conn.Done is closed.
func (l *Link) Ended() *transport.Failure {
	if e, ok := l.Conn.(Ender); ok {
		return e.Ended()
	}
	return &transport.Failure{Reason: transport.ReasonLost, NotSent: true, Err: jsonrpc.ErrPeerClosed}
}

// Optional features of a transport or a connection, found by type assertion. The documentation of
// package transport lists the methods for authors of transports.

// Identified is a transport that returns a unique name of its server. The client stores what it
// learns about a server, such as its tools, under this name. String is for people, and two
// servers may have the same.
type Identified interface{ Identity() string }

// Scoped is a transport that knows which credentials its requests carry. A shared cache
// keeps the answers for one scope apart from those for another.
type Scoped interface {
	// Scope returns a name that does not reveal the credentials: "" means that the
	// requests carry none. known is false if the transport cannot tell, for example
	// because a RoundTripper may add credentials.
	Scope() (scope string, known bool)
}

// CallerNamer is a transport whose credentials may depend on the context of a call.
type CallerNamer interface {
	// Callers returns a function that returns the caller of a call. It is nil if credentials are
	// the same for every call. The function is called once per call, and may block.
	Callers() func(ctx context.Context) *transport.Caller
}

// LoginWatcher is a transport whose requests use a login.
type LoginWatcher interface {
	// WatchLogin reports changes of the login until stop is called. stop is nil if there
	// are none to report.
	WatchLogin(w transport.LoginWatch) (stop func())
}

// Secretive is a transport or a connection that sends secrets. The client removes them
// from errors, logs, events and traces, also where a server repeats them.
type Secretive interface {
	// Secrets returns the values as they are sent. It is called from many goroutines.
	Secrets() []string
}

// Fallback is a transport that can also reach older servers.
type Fallback interface {
	// Fallback returns the transport to try if the server rejects initialize as an older server
	// does.
	Fallback() transport.Transport
}

// NotifierAs is a connection whose notifications can carry the credentials of a caller.
type NotifierAs interface {
	// NotifyAs is Notify for who. If who is nil or has no reusable credentials, it asks for
	// credentials with ctx.
	NotifyAs(ctx context.Context, n jsonrpc.Notification, who *transport.Caller) error
}

// ResponderAs is a connection whose responses can carry the credentials of a caller.
type ResponderAs interface {
	// RespondAs is Respond for who, as [NotifierAs] is Notify.
	RespondAs(ctx context.Context, resp jsonrpc.Response, who *transport.Caller) error
}

// Sessions is a connection whose server may keep sessions.
type Sessions interface {
	// DropSession abandons the last session, because its handshake failed. Nothing is sent before
	// the next initialize. DropSession does not wait for the server.
	DropSession()
}

// Streamer is a connection of the session era that can keep a stream open for messages
// that do not belong to a request of the client.
type Streamer interface {
	// OpenStream opens the stream for the current session and returns at once. It does
	// nothing if the server offers no stream. The stream ends with the session or with
	// Close. The channel is closed when it is known whether the server offers a stream.
	OpenStream() (said <-chan struct{})
}

// Ender is a connection that can explain why it ended.
type Ender interface {
	// Ended returns the error of calls after Done is closed, with evidence from the process.
	Ended() *transport.Failure
}

// Program is a connection to a child process.
type Program interface {
	// Kill ends the process and its children at once. Calls in flight and later calls
	// fail with reason. Kill does not wait.
	Kill(reason error)
	// Exited returns a channel that is closed when the process has exited.
	Exited() <-chan struct{}
}

// Counter is a connection that counts received bytes. Without it, the client detects a silent
// server only by timeouts.
type Counter interface {
	// Received returns a number that grows whenever bytes arrive from the server, even parts of a
	// message.
	Received() uint64
	// Late returns the number of answers without a call that waits for them.
	Late() uint64
}

// Unread is a connection to a child process that knows whether the process read what was sent.
// Without it, the client assumes that it did.
type Unread interface {
	// ReadNothing reports whether the process has exited and certainly read no byte. It returns
	// false if that is not known.
	ReadNothing() bool
}

// Outbox is a connection that knows how much of the sent data the server has read.
// Without it, the client does not restart a program that no longer reads.
type Outbox interface {
	// Backlog returns the progress of the sent data.
	Backlog() jsonrpc.Backlog
}
