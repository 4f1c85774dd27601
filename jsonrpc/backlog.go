package jsonrpc

// Backlog is the progress of the data that a connection sends.
type Backlog struct {
	// Sent is the number of bytes that the stream has accepted. If it does not
	// change while bytes wait, the peer does not read.
	Sent uint64
	// Waiting reports that bytes wait to be sent. It is false once the stream has failed
	// and no write is under way: then none will be sent.
	Waiting bool
	// Running is the position, in bytes as for Sent, of the end of the first call
	// in flight that the stream has accepted completely. The peer may be working
	// on that call. 0 means that there is none. Calls with Wait.Endless do not
	// count.
	Running uint64
}

// Backlog returns the current progress of the data that the connection sends.
// It does not block.
func (c *Conn) Backlog() Backlog {
	c.inflight.mu.Lock()
	defer c.inflight.mu.Unlock()
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	b := Backlog{Sent: c.w.written, Waiting: c.w.written < c.w.accepted && (c.w.err == nil || c.w.committed != c.w.written)}
	for _, cl := range c.inflight.calls {
		if cl.at.to > 0 && !cl.endless && c.w.arrived(cl.at) && (b.Running == 0 || cl.at.to < b.Running) {
			b.Running = cl.at.to
		}
	}
	return b
}
