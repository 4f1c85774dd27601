package watchdog

import (
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// backlog tracks how requests pass through a pipe. It distinguishes a program that no longer
// reads from a busy one: a program that runs one tool at a time leaves all other requests in the
// pipe until the tool is done. One goroutine at a time may use it.
type backlog struct {
	seen  jsonrpc.Backlog
	since time.Duration // when the pipe stopped accepting data; 0 if nothing waits
	// upTo is a position in the sent data. Requests after it were sent too late to be the reason
	// for the present silence. Other goroutines read it, too.
	upTo atomic.Uint64
}

// look records the progress. start is when the present silence began, and after is the silence
// that counts.
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

// working reports whether the server may still be busy with a request that it read before the
// silence was detected. Later requests do not count: otherwise new calls would excuse a server
// that hangs.
func (b *backlog) working(seen jsonrpc.Backlog) bool {
	return seen.Running > 0 && seen.Running <= b.upTo.Load()
}

// excused returns the time until which the silence has a reason. It is now while the server works
// on a request, but at most the time when the pipe stopped accepting data.
func (b *backlog) excused(now time.Duration) time.Duration {
	if b.since > 0 {
		return b.since
	}
	return now
}

// stuck reports whether the server has read nothing for after, and is not busy.
func (b *backlog) stuck(now, after time.Duration) bool {
	return b.since > 0 && b.seen.Running == 0 && now-b.since >= after
}
