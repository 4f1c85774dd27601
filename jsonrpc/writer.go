package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"
)

// inlineLimit is the size up to which params are copied into the writer's buffer.
// Larger params are written from the caller's memory, so that 16 MiB of arguments
// are not held twice.
const inlineLimit = 32 << 10

// writer sends frames on one stream, in the order in which they were accepted. A
// caller that finds it idle writes for all callers, as long as the stream accepts
// bytes without blocking. A goroutine of the writer sends the rest. So a peer that
// does not read never blocks a caller, and many small concurrent frames share one
// system call.
//
// Positions count the bytes accepted since the start. Bytes before written were
// sent. Bytes from written to committed are part of the write that runs now. A frame
// that begins at committed or later can still be taken back.
type writer struct {
	out    io.Writer
	try    *tryWriter  // nil when out cannot be written to without blocking
	limit  uint64      // how many bytes may wait
	broken func(error) // called without a lock when out fails

	wake chan struct{} // work for the goroutine; capacity 1
	quit chan struct{} // closed to end the goroutine
	done chan struct{} // closed when it has ended

	mu        sync.Mutex
	queue     []segment // while busy, the first is being written
	accepted  uint64
	committed uint64
	written   uint64
	busy      bool // a goroutine writes, or will as soon as there is room
	err       error
	spare     []byte
	room      chan struct{} // closed when there is room; nil if no caller waits
	quiet     chan struct{} // closed when the writer becomes idle; nil if no caller waits
}

// frame is one outgoing message.
type frame struct {
	id       ID // zero for a notification
	method   string
	params   json.RawMessage
	response *Response // instead of the above
	call     *call     // waits for the answer; nil unless this is a request
	others   int       // calls in flight, or requests without an answer, besides this one
}

// appendHead appends the frame up to, but without, its params.
func (f *frame) appendHead(dst []byte) []byte {
	if f.id.IsZero() {
		return Notification{Method: f.method}.appendHead(dst)
	}
	return Request{ID: f.id, Method: f.method}.appendHead(dst)
}

func (f *frame) append(dst []byte) []byte {
	if f.response != nil {
		return append(f.response.AppendJSON(dst), '\n')
	}
	return append(appendParams(f.appendHead(dst), f.params), '\n')
}

func newWriter(out io.Writer, limit int, broken func(error)) *writer {
	w := &writer{
		out: out, try: newTryWriter(out), limit: uint64(limit), broken: broken,
		wake: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	go w.run()
	return w
}

// errFull reports that more bytes than the limit wait to be sent.
var errFull = errors.New("the peer does not read: too much waits to be sent")

// accept queues one frame and writes as much as it can. While more than the limit is
// queued, it waits as long as ctx and the call allow. The span is the position of the
// frame.
func (w *writer) accept(ctx context.Context, f *frame) (span, error) {
	for {
		at, err := w.acceptNow(f)
		if !errors.Is(err, errFull) {
			return at, err
		}
		if err := w.awaitRoom(ctx, f.call); err != nil {
			return span{}, err
		}
	}
}

// awaitRoom returns nil when the caller should try again.
func (w *writer) awaitRoom(ctx context.Context, cl *call) error {
	var alarm <-chan struct{}
	if cl != nil {
		alarm = cl.rings
	}
	for {
		select {
		case <-w.roomMade():
			return nil
		case <-ctx.Done():
			return ended(ctx)
		case <-alarm:
			if err := cl.expired(); err != nil {
				return err
			}
		}
	}
}

// crowd is the number of other calls in flight from which a caller yields to them
// before it writes. Calls that end together begin together, and then their frames
// share one system call, which takes longer than the rest of a call. The same holds
// for answers to requests of the peer.
const crowd = 8

// acceptNow is accept that returns errFull instead of waiting.
func (w *writer) acceptNow(f *frame) (span, error) {
	w.mu.Lock()
	if w.err != nil || w.full() {
		defer w.mu.Unlock()
		if w.err != nil {
			return span{}, w.err
		}
		return span{}, errFull
	}
	at := w.push(f)
	if f.call != nil {
		f.call.at = at
	}
	if w.busy {
		w.mu.Unlock()
		return at, nil
	}
	w.busy = true
	if w.try == nil {
		w.mu.Unlock()
		w.start(nil)
		return at, nil
	}
	if f.others >= crowd {
		w.mu.Unlock()
		runtime.Gosched()
		w.mu.Lock()
	}
	buf := w.advance(0)
	w.mu.Unlock()
	if buf != nil {
		w.start(buf)
	}
	return at, nil
}

// full reports whether more than the limit waits. Requires w.mu.
func (w *writer) full() bool { return w.accepted-w.written > w.limit }

// roomMade returns a channel that is closed as soon as a caller should try again.
func (w *writer) roomMade() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	room := w.room
	if room == nil {
		room = make(chan struct{})
		w.room = room
	}
	if w.err != nil || !w.full() {
		close(room)
		w.room = nil
	}
	return room
}

// push appends a frame to the queue. Requires w.mu.
func (w *writer) push(f *frame) span {
	at := span{from: w.accepted}
	if len(f.params) > inlineLimit {
		head := append(f.appendHead(nil), `,"params":`...)
		w.accepted += uint64(len(head) + len(f.params) + len("}\n"))
		at.to = w.accepted
		w.queue = append(w.queue, segment{span: at, large: [3][]byte{head, f.params, []byte("}\n")}})
		return at
	}
	last := len(w.queue) - 1
	if last < 0 || w.queue[last].small == nil || w.queue[last].begun {
		w.queue = append(w.queue, segment{span: span{from: at.from}, small: w.spare[:0]})
		w.spare = nil
		last++
		if w.queue[last].small == nil {
			w.queue[last].small = make([]byte, 0, 4<<10)
		}
	}
	seg := &w.queue[last]
	before := len(seg.small)
	seg.small = f.append(seg.small)
	w.accepted += uint64(len(seg.small) - before)
	at.to, seg.to = w.accepted, w.accepted
	return at
}

// takeBack removes a frame that the peer has not received completely, if that is
// still possible. If it returns true, the peer never receives the whole frame. Call
// it once for each frame.
func (w *writer) takeBack(at span) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.arrived(at):
		return false
	case w.err != nil && w.committed == w.written:
		return true // nothing is sent any more
	case at.from < w.committed:
		return false
	}
	for i := range w.queue {
		if seg := &w.queue[i]; at.from >= seg.from && at.to <= seg.to {
			seg.drop(at)
			return true
		}
	}
	return false
}

// stuck reports whether the frame of a call is queued, and so much of it is unsent
// that the peer cannot act on it.
func (w *writer) stuck(cl *call) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return cl.at.to > 0 && !w.arrived(cl.at)
}

// arrived reports whether the stream has accepted a frame. Its newline does not
// count, because peers also run a last line without one. Requires w.mu.
func (w *writer) arrived(at span) bool { return at.to <= w.written+1 }

// start writes without blocking, beginning with buf. The caller has set busy.
func (w *writer) start(buf []byte) {
	// A few rounds also send what other callers queue meanwhile. More would delay
	// this caller.
	const rounds = 8
	for round := 0; buf != nil && round < rounds; round++ {
		n, err := w.try.write(buf)
		if err != nil {
			w.settle(0)
			w.breaks(err)
			return
		}
		if n == 0 {
			break
		}
		if buf = w.next(n); buf == nil {
			return
		}
	}
	w.settle(0)
	w.wake <- struct{}{} // never blocks: only the goroutine that set busy sends
}

// run writes what callers could not write without blocking.
func (w *writer) run() {
	defer close(w.done)
	defer w.breaks(ErrClosed) // also if a stream of the application ends this goroutine
	for {
		select {
		case <-w.wake:
		case <-w.quit:
			return
		}
		write := w.writeAll
		if w.try != nil {
			write = func() error { return w.try.writeAll(w) }
		}
		if err := write(); err != nil {
			w.breaks(err)
			return
		}
	}
}

// writeAll writes until the queue is empty, and blocks while the stream does.
func (w *writer) writeAll() error {
	for buf := w.next(0); buf != nil; {
		n, err := w.out.Write(buf)
		if err == nil && n == 0 {
			err = io.ErrShortWrite
		}
		if err != nil {
			w.settle(n)
			return err
		}
		buf = w.next(n)
	}
	return nil
}

// next records that n bytes of its last result were sent, and returns the bytes to
// write next. nil means that the writer is idle or has failed.
func (w *writer) next(n int) []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.advance(n)
}

// settle records that n bytes were sent and that no write runs. After that, all
// frames of which nothing was sent can be taken back.
func (w *writer) settle(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent(n)
}

// sent records that n bytes were sent. Requires w.mu.
func (w *writer) sent(n int) {
	if n > 0 {
		w.queue[0].sent += n
		w.written += uint64(n)
	}
	w.committed = w.written
}

// advance is next. Requires w.mu.
func (w *writer) advance(n int) []byte {
	w.sent(n)
	for w.err == nil && len(w.queue) > 0 {
		seg := &w.queue[0]
		rest := seg.rest()
		w.written = seg.from + uint64(seg.sent)
		w.committed = w.written + uint64(len(rest))
		if len(rest) > 0 {
			seg.begun = true
			w.tellRoom()
			return rest
		}
		if seg.small != nil && w.spare == nil && cap(seg.small) <= lineBuffer {
			w.spare = seg.small[:0]
		}
		w.queue = slices.Delete(w.queue, 0, 1)
	}
	w.tellRoom()
	if w.err == nil {
		w.busy = false
		w.tellQuiet()
	}
	return nil
}

// tellRoom wakes the callers that wait for room, if there is room. Requires w.mu.
func (w *writer) tellRoom() {
	if w.room != nil && (w.err != nil || !w.full()) {
		close(w.room)
		w.room = nil
	}
}

// tellQuiet wakes the callers that wait for an idle writer. Requires w.mu.
func (w *writer) tellQuiet() {
	if w.quiet != nil {
		close(w.quiet)
		w.quiet = nil
	}
}

// breaks ends the writer, because the stream failed or is about to be closed, and
// fails the calls whose frames were not sent.
func (w *writer) breaks(err error) { w.broken(w.fail(err)) }

// fail ends the writer: it accepts no more frames, and sends only the bytes of the
// write that runs now. It returns the first reason.
func (w *writer) fail(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	w.tellRoom()
	w.tellQuiet()
	return w.err
}

// drain waits until all accepted frames were sent, for at most bound.
func (w *writer) drain(bound time.Duration) {
	w.mu.Lock()
	if w.err != nil || !w.busy {
		w.mu.Unlock()
		return
	}
	if w.quiet == nil {
		w.quiet = make(chan struct{})
	}
	quiet := w.quiet
	w.mu.Unlock()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-quiet:
	case <-timer.C:
	}
}

// close ends the goroutine when its current write returns. It does not wait for
// that, because only closing the stream makes the write return. Call fail before.
func (w *writer) close() { close(w.quit) }
