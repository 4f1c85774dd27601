package jsonrpc

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Errors of a [Conn]. A call's error is a [*CallError] that wraps one of them,
// or the error of its context and the cause of that.
var (
	// ErrClosed: this side closed the connection.
	ErrClosed = errors.New("the connection is closed")
	// ErrPeerClosed: the peer ended the stream.
	ErrPeerClosed = errors.New("the peer closed the connection")
	// ErrIdle: nothing arrived for the call within Wait.Idle.
	ErrIdle = errors.New("no answer within the idle timeout")
	// ErrMaxWait: the call was not answered within Wait.Max.
	ErrMaxWait = errors.New("no answer within the maximum time")
	// ErrDuplicateID: a call with the same id is in flight.
	ErrDuplicateID = errors.New("a call with this id is in flight")
)

var errNoID = errors.New("a request needs an id")

// CallError is the error of a call without an answer.
type CallError struct {
	// NotSent means that the peer did not receive the whole request. If it is
	// false, the peer may have run the request.
	NotSent bool
	// Err is the reason.
	Err error
}

func (e *CallError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *CallError) Unwrap() error { return e.Err }

// Config configures a [Conn]. The zero value uses the defaults. The functions
// run on the goroutine that reads the stream, unless their comment says
// otherwise. They must return at once. They may call only [Conn.Respond] and
// [Conn.Touch] on the connection. They own their arguments, unless their
// comment says otherwise.
//
// # Experimental
//
// The client's transports use it. Its form may change.
type Config struct {
	// MessageBytes limits the size of an incoming message, and the bytes that wait
	// to be sent. 0 means 16 MiB.
	MessageBytes int
	// Depth limits the nesting of an incoming message. 0 means [DefaultDepth].
	Depth int
	// OnRequest receives requests of the peer. Answer them with [Conn.Respond].
	// nil answers each with "method not found".
	OnRequest func(Request)
	// OnNotification receives notifications of the peer.
	OnNotification func(Notification)
	// OnNoise receives lines that are clearly not messages: text, also in braces,
	// and JSON that neither names a version of JSON-RPC nor answers a call.
	OnNoise func(line []byte)
	// OnFault receives invalid messages, messages over a limit, and messages that
	// belong to no call. The connection continues after them.
	OnFault func(*DecodeError)
	// OnSent and OnReceived receive every frame without its newline. They must not
	// keep it. OnSent runs on the goroutines that send, several at the same time,
	// before the frame is queued.
	OnSent, OnReceived func(frame []byte)
	// OnBroken receives the first error of writing to the stream, maybe more than
	// once. It runs on a goroutine that sends.
	OnBroken func(error)
}

// Stats counts messages that a connection dropped.
//
// # Experimental
//
// The client's transports use it. Its form may change.
type Stats struct {
	// Late counts answers to ids that no call waits for: late, unknown or
	// repeated.
	Late uint64
	// Noise counts lines that are not messages. Faults counts invalid messages.
	Noise, Faults uint64
}

// Conn carries calls over a byte stream of newline-delimited JSON-RPC. Many
// calls can be in flight, and answers can arrive in any order. A Conn is safe
// for concurrent use.
//
// # Experimental
//
// The client's transports use it. Its form may change.
type Conn struct {
	cfg Config
	in  io.ReadCloser
	out io.WriteCloser
	w   *writer

	inflight inflight
	turns    *turns // nil: only the read loop reads
	receiver

	batches             atomic.Bool
	late, noise, faults atomic.Uint64
	closing             atomic.Bool
	closed              chan struct{} // closed when Close is done
	closeErr            error
	closeOut            func() error // closes out, once
	readDone            chan struct{}
}

// NewConn starts a connection that reads from in and writes to out. Close
// closes both.
//
// # Experimental
//
// The client's transports use it. Its form may change.
func NewConn(in io.ReadCloser, out io.WriteCloser, cfg Config) *Conn {
	if cfg.MessageBytes <= 0 {
		cfg.MessageBytes = 16 << 20
	}
	if cfg.Depth <= 0 {
		cfg.Depth = DefaultDepth
	}
	c := &Conn{cfg: cfg, in: in, out: out, closeOut: sync.OnceValue(out.Close), closed: make(chan struct{}), readDone: make(chan struct{})}
	c.inflight.init()
	c.turns = newTurns(in, c.inflight.len)
	c.w = newWriter(out, cfg.MessageBytes, c.broke)
	c.receive()
	go c.read()
	return c
}

// Wait limits how long a call waits. A zero field sets no limit.
type Wait struct {
	// Idle limits the time in which nothing arrives for the call; [Conn.Touch]
	// restarts it. Max limits the whole call.
	Idle, Max time.Duration
	// NullID lets an error with a null id answer the call, if no other call waits.
	// Use it for a first request that the peer may be unable to read. Without
	// NullID such an error belongs to no call.
	NullID bool
	// Endless marks a request that may stay unanswered, such as a subscription. It
	// does not count as work of the peer: see [Backlog].
	Endless bool
}

// Call sends req and waits for the response with its id, within the limits of
// ctx and wait. A response with an error is a [Response], not an error of Call.
// The error of Call is a [*CallError]. If calls come one at a time, Call may
// notice the end of ctx or wait a few milliseconds late.
//
// Call copies params of up to 32 KiB before it returns. Do not change larger
// params after the call: they may still be written.
func (c *Conn) Call(ctx context.Context, req Request, wait Wait) (Response, error) {
	if ctx.Err() != nil {
		return Response{}, &CallError{NotSent: true, Err: ended(ctx)}
	}
	if req.ID.IsZero() {
		return Response{}, &CallError{NotSent: true, Err: errNoID}
	}
	cl, err := c.inflight.add(req.ID, wait)
	if err != nil {
		return Response{}, &CallError{NotSent: true, Err: err}
	}
	awaited := false
	defer func() {
		if !awaited { // also when a function of Config panics
			c.inflight.drop(cl)
		}
	}()
	at, err := c.send(ctx, frame{id: req.ID, method: req.Method, params: req.Params, call: cl, others: cl.others})
	if err != nil {
		return Response{}, &CallError{NotSent: true, Err: err}
	}
	if c.turns.take() {
		c.lead(cl)
	}
	awaited = true
	return c.await(ctx, cl, at)
}

// await waits for the answer to a call whose frame is at at.
func (c *Conn) await(ctx context.Context, cl *call, at span) (Response, error) {
	for {
		var reason error
		select {
		case <-cl.answered:
			resp, err := cl.response, cl.err
			c.inflight.recycle(cl)
			if err != nil {
				return Response{}, &CallError{NotSent: c.w.takeBack(at), Err: err}
			}
			return resp, nil
		case <-ctx.Done():
			reason = ended(ctx)
		case <-cl.rings:
			if reason = cl.expired(); reason == nil {
				continue // Touch moved the deadline
			}
		}
		if !c.inflight.drop(cl) {
			continue // the answer came first
		}
		return Response{}, &CallError{NotSent: c.w.takeBack(at), Err: reason}
	}
}

// Touch restarts the idle timeout of the call with this id, because something
// arrived for it. Unknown ids are ignored.
func (c *Conn) Touch(id ID) { c.inflight.touch(id) }

// Notify sends a notification. It returns when the connection has queued the
// message. It blocks only while more than Config.MessageBytes are queued.
func (c *Conn) Notify(ctx context.Context, n Notification) error {
	if ctx.Err() != nil {
		return &CallError{NotSent: true, Err: ended(ctx)}
	}
	if _, err := c.send(ctx, frame{method: n.Method, params: n.Params}); err != nil {
		return &CallError{NotSent: true, Err: err}
	}
	return nil
}

// Respond answers a request of the peer. It never blocks: if more than
// Config.MessageBytes are queued, it drops the response and returns an error.
func (c *Conn) Respond(resp Response) error { return c.RespondAmong(resp, 0) }

// RespondAmong is [Conn.Respond] for one of several requests that are answered
// concurrently. others is the number of other requests without an answer: if there
// are many, answers that are ready at the same time share one write.
func (c *Conn) RespondAmong(resp Response, others int) error {
	resp.Result = oneLine(resp.Result)
	if resp.Error != nil {
		tidy := *resp.Error
		tidy.Data = oneLine(tidy.Data)
		resp.Error = &tidy
	}
	f := frame{response: &resp, others: others}
	c.traceSent(&f)
	_, err := c.w.acceptNow(&f)
	return err
}

func (c *Conn) send(ctx context.Context, f frame) (span, error) {
	f.params = oneLine(f.params)
	c.traceSent(&f)
	return c.w.accept(ctx, &f)
}

func (c *Conn) traceSent(f *frame) {
	if c.cfg.OnSent != nil {
		text := f.append(nil)
		c.cfg.OnSent(text[:len(text)-1])
	}
}

// InFlight returns the number of calls that wait for an answer.
func (c *Conn) InFlight() int { return c.inflight.len() }

// Stats returns the counters of dropped messages.
func (c *Conn) Stats() Stats {
	return Stats{Late: c.late.Load(), Noise: c.noise.Load(), Faults: c.faults.Load()}
}

// Received returns a number that grows whenever bytes arrive from the peer,
// even parts of a message.
func (c *Conn) Received() uint64 { return c.lines.reads.Load() }

// Done returns a channel that is closed when the input stream has ended.
func (c *Conn) Done() <-chan struct{} { return c.readDone }

// Fail fails every call in flight, and every later call, with reason. It does
// not close the streams.
func (c *Conn) Fail(reason error) {
	_ = c.w.fail(reason) // it returns the first reason, which the calls have too
	c.inflight.fail(reason)
	c.turns.recall()
}

// broke fails the calls whose requests can no longer be sent.
func (c *Conn) broke(reason error) {
	c.inflight.breaks(reason, c.w.stuck)
	c.turns.recall()
	if c.cfg.OnBroken != nil && !errors.Is(reason, ErrClosed) {
		c.cfg.OnBroken(reason)
	}
}

// CloseWrite closes the output after the queued messages are sent, or after a
// short time.
func (c *Conn) CloseWrite() error {
	c.w.drain(flushGrace)
	c.w.breaks(ErrClosed)
	return c.closeOut()
}

// flushGrace is how long CloseWrite waits for the peer to read the queued messages.
const flushGrace = 200 * time.Millisecond

// Close fails every call in flight with [ErrClosed] and closes both streams. It
// waits up to a second for the goroutines of the connection. It may be called
// more than once.
func (c *Conn) Close() error {
	if c.closing.CompareAndSwap(false, true) {
		c.closeErr = c.close()
		close(c.closed)
	}
	<-c.closed
	return c.closeErr
}

func (c *Conn) close() error {
	c.inflight.fail(ErrClosed)
	err := c.CloseWrite()
	c.w.close()
	err = errors.Join(err, c.in.Close())
	c.turns.recall()
	timer := time.NewTimer(closeGrace)
	defer timer.Stop()
	for _, done := range []<-chan struct{}{c.w.done, c.readDone} {
		select {
		case <-done:
		case <-timer.C:
			return errors.Join(err, errStuckStream)
		}
	}
	return err
}

// closeGrace is how long Close waits for Read and Write of the streams to return.
const closeGrace = time.Second

var errStuckStream = errors.New("a stream's Read or Write did not return after its Close")
