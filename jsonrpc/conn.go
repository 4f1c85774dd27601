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
	// ErrClosed: the connection was closed on this side.
	ErrClosed = errors.New("the connection is closed")
	// ErrPeerClosed: the peer ended the stream.
	ErrPeerClosed = errors.New("the peer closed the connection")
	// ErrIdle: nothing came for the call within [Wait].Idle.
	ErrIdle = errors.New("no answer within the idle timeout")
	// ErrMaxWait: the call was not answered within [Wait].Max.
	ErrMaxWait = errors.New("no answer within the maximum time")
	// ErrDuplicateID: a call with this id is in flight.
	ErrDuplicateID = errors.New("a call with this id is in flight")
)

var errNoID = errors.New("a request needs an id")

// CallError says why a call has no answer.
type CallError struct {
	// NotSent is true when it is proved that the peer did not get the whole
	// request; otherwise the peer may have run it.
	NotSent bool
	// Err is the reason.
	Err error
}

func (e *CallError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *CallError) Unwrap() error { return e.Err }

// Config sets up a [Conn]. The zero Config works. The functions are called on
// the goroutine that reads the stream: they must return at once and must not
// call back into the connection except for [Conn.Respond] and [Conn.Touch].
// What they are given belongs to them.
type Config struct {
	// MessageBytes bounds one incoming message and what may wait to be sent;
	// 0 means 16 MiB.
	MessageBytes int
	// Depth bounds the nesting of one incoming message; 0 means [DefaultDepth].
	Depth int
	// OnRequest gets the peer's requests, to be answered with [Conn.Respond].
	// nil answers each with method not found.
	OnRequest func(Request)
	// OnNotification gets the peer's notifications.
	OnNotification func(Notification)
	// OnNoise gets lines that are no messages and do not mean to be: text,
	// and JSON that neither names a version of JSON-RPC nor answers a call.
	OnNoise func(line []byte)
	// OnFault gets what is JSON but not a message, is over a limit, or cannot
	// be told to belong to a call. Nothing else ends because of it.
	OnFault func(*DecodeError)
	// OnSent and OnReceived see every frame, without its newline. They may
	// keep nothing of it. OnSent is called by senders, from many
	// goroutines at once, before the frame is queued.
	OnSent, OnReceived func(frame []byte)
}

// Stats counts what a connection dropped.
type Stats struct {
	// Late counts answers to ids nobody waits for: late, unknown or repeated.
	Late uint64
	// Noise counts lines that are no messages, Faults messages that are broken.
	Noise, Faults uint64
}

// Conn carries calls over one byte stream: newline-delimited JSON-RPC, many
// calls in flight, answers in any order. All methods may be called from many
// goroutines at once.
type Conn struct {
	cfg Config
	in  io.ReadCloser
	out io.WriteCloser
	w   *writer

	inflight inflight
	turns    *turns // nil: only the loop reads
	receiver        // of whoever reads

	batches             atomic.Bool
	late, noise, faults atomic.Uint64
	closing             atomic.Bool
	closed              chan struct{} // closed when Close is done
	closeErr            error
	closeOut            func() error // closes out, once
	readDone            chan struct{}
}

// NewConn starts a connection that reads from in and writes to out, and closes
// both in Close.
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
	// NullID lets an error with a null id answer the call if no other call waits.
	// It is for a first request that the peer may not be able to read; such an
	// error belongs to no call otherwise.
	NullID bool
	// Endless marks a request that stays unanswered for as long as both sides
	// want, such as a subscription. It is no work for the peer: see [Backlog].
	Endless bool
}

// Call sends req and waits for the answer with its id, for as long as ctx and
// wait allow. The error is a [*CallError]; an answer that is an error is a
// Response, not an error of Call. While calls come one after the other, the end
// of ctx or wait is noticed a few milliseconds late; see turns.go.
//
// The connection copies params up to 32 KiB before Call returns. Larger params
// are written from where they are and must never be changed again.
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
	at, err := c.send(ctx, frame{id: req.ID, method: req.Method, params: req.Params, call: cl})
	if err != nil {
		return Response{}, &CallError{NotSent: true, Err: err}
	}
	if c.turns.take() {
		c.lead(cl)
	}
	awaited = true
	return c.await(ctx, cl, at)
}

// await waits for the answer to a call whose frame stands at at.
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
				continue // touched meanwhile
			}
		}
		if !c.inflight.drop(cl) {
			continue // answered in this very moment
		}
		return Response{}, &CallError{NotSent: c.w.takeBack(at), Err: reason}
	}
}

// Touch restarts the idle timeout of the call with this id, because something
// arrived for it. Unknown ids are ignored.
func (c *Conn) Touch(id ID) { c.inflight.touch(id) }

// Notify sends a notification. It returns once the connection has taken it,
// and waits only while more than Config.MessageBytes are queued.
func (c *Conn) Notify(ctx context.Context, n Notification) error {
	if ctx.Err() != nil {
		return &CallError{NotSent: true, Err: ended(ctx)}
	}
	if _, err := c.send(ctx, frame{method: n.Method, params: n.Params}); err != nil {
		return &CallError{NotSent: true, Err: err}
	}
	return nil
}

// Respond answers a request of the peer. It never waits: an answer that finds
// more than Config.MessageBytes queued is dropped with an error.
func (c *Conn) Respond(resp Response) error {
	resp.Result = oneLine(resp.Result)
	if resp.Error != nil {
		tidy := *resp.Error
		tidy.Data = oneLine(tidy.Data)
		resp.Error = &tidy
	}
	f := frame{response: &resp}
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

// InFlight returns how many calls wait for an answer.
func (c *Conn) InFlight() int { return c.inflight.len() }

// Stats returns what was dropped so far.
func (c *Conn) Stats() Stats {
	return Stats{Late: c.late.Load(), Noise: c.noise.Load(), Faults: c.faults.Load()}
}

// Received returns a number that grows whenever something has come from the
// peer, a whole message or not. It costs nothing.
func (c *Conn) Received() uint64 { return c.lines.reads.Load() }

// Done is closed when the stream has ended: nothing will come any more.
func (c *Conn) Done() <-chan struct{} { return c.readDone }

// Fail answers every call in flight with reason, and every later one too. It
// leaves the stream open: Close closes it.
func (c *Conn) Fail(reason error) {
	_ = c.w.fail(reason) // only the reason, which the calls keep too
	c.inflight.fail(reason)
	c.turns.recall()
}

// broke ends the calls that can no longer leave.
func (c *Conn) broke(reason error) {
	c.inflight.breaks(reason, c.w.stuck)
	c.turns.recall()
}

// CloseWrite tells the peer that nothing more will come, after what is queued
// has left or a short grace has passed.
func (c *Conn) CloseWrite() error {
	c.w.drain(flushGrace)
	c.w.breaks(ErrClosed)
	return c.closeOut()
}

// flushGrace is how long closing waits for a peer to read what is queued.
const flushGrace = 200 * time.Millisecond

// Close answers every call in flight with [ErrClosed], closes both streams and
// waits, a second at most, for the connection's goroutines, which end when
// their streams do. It may be called more than once.
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

// closeGrace is how long Close waits for the streams to let go.
const closeGrace = time.Second

var errStuckStream = errors.New("a stream's Read or Write did not return after its Close")
