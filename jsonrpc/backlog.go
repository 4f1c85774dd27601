package jsonrpc

// Backlog is how what a connection sends gets through.
type Backlog struct {
	// Sent counts the bytes that the stream has taken. The same number later, with
	// bytes waiting both times, means a peer that does not read.
	Sent uint64
	// Waiting says that bytes wait to be taken.
	Waiting bool
	// Running is where the frame of the first call in flight ends that the stream
	// has taken as a whole, counted as Sent is: the peer may be working on it. 0
	// means that there is no such call. Calls with [Wait].Endless do not count.
	Running uint64
}

// Backlog returns how what is sent gets through at this moment. It does not wait
// for the stream.
func (c *Conn) Backlog() Backlog {
	c.inflight.mu.Lock()
	defer c.inflight.mu.Unlock()
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	b := Backlog{Sent: c.w.written, Waiting: c.w.written < c.w.accepted}
	for _, cl := range c.inflight.calls {
		if cl.at.to > 0 && !cl.endless && c.w.arrived(cl.at) && (b.Running == 0 || cl.at.to < b.Running) {
			b.Running = cl.at.to
		}
	}
	return b
}
