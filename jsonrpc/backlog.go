package jsonrpc

// Backlog is how what a connection sends gets through.
type Backlog struct {
	// Sent counts the bytes that the stream has taken. The same number later, with
	// bytes waiting both times, means a peer that does not read.
	Sent uint64
	// Waiting says that bytes wait to be taken.
	Waiting bool
	// Delivered is how many calls in flight the stream has taken as a whole, so
	// that the peer may be working on them.
	Delivered int
}

// Backlog returns how what is sent gets through at this moment. It does not wait
// for the stream.
func (c *Conn) Backlog() Backlog {
	delivered := c.inflight.count(c.w.delivered)
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	return Backlog{Sent: c.w.written, Waiting: c.w.written < c.w.accepted, Delivered: delivered}
}

// count returns how many of the waiting calls are such.
func (t *inflight) count(such func(*call) bool) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, cl := range t.calls {
		if such(cl) {
			n++
		}
	}
	return n
}

// delivered reports whether the stream has taken the frame of a call.
func (w *writer) delivered(cl *call) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return cl.at.to > 0 && w.arrived(cl.at)
}
