package watchdog

import (
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// backlog follows how requests pass through a pipe. It tells a program that no longer
// reads from one that is busy: a program that runs one tool at a time leaves all other
// requests in the pipe until the tool is done. One goroutine at a time may use it.
type backlog struct {
	seen  jsonrpc.Backlog
	since time.Duration // since when the pipe takes nothing more; 0 if nothing waits
	// upTo is the position in the stream after which requests came too late to be the
	// reason for the present silence. Other goroutines read it, too.
	upTo atomic.Uint64
}

// look records how requests pass. start is when the present silence began,
// and after is how long it has to last.
func (b *backlog) look(conn transport.Conn, now, start, after time.Duration) {
	out, ok := conn.(link.Outbox)
	if !ok {
		return
	}
	before := b.seen.Sent
	b.seen = out.Backlog()
	switch {
	case !b.seen.Waiting:
		b.since = 0
	case b.since == 0, b.seen.Sent != before:
		b.since = max(now, 1)
	}
	if now-start < after {
		b.upTo.Store(b.seen.Sent)
	}
}

// working reports whether the server may still be busy with a request that it read before
// the silence was noticed. Later requests do not count: with them, a server that hangs
// would be excused for as long as calls are made.
func (b *backlog) working(seen jsonrpc.Backlog) bool {
	return seen.Running > 0 && seen.Running <= b.upTo.Load()
}

// excused returns until when the silence has a reason: until now while the server works on
// a request, but no longer than the pipe has taken what was sent.
func (b *backlog) excused(now time.Duration) time.Duration {
	if b.since > 0 {
		return b.since
	}
	return now
}

// stuck reports whether the server has read nothing for so long, and is not busy.
func (b *backlog) stuck(now, after time.Duration) bool {
	return b.since > 0 && b.seen.Running == 0 && now-b.since >= after
}
