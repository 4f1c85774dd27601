package client

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

var errDeaf = errors.New("it neither reads nor says anything")

// clog follows how what is sent gets through a pipe. It tells a program that does
// not read any more (fault E8) from one that is busy: a program that does one
// thing at a time leaves everything else in the pipe until its tool is done. To be
// used by one goroutine at a time.
type clog struct {
	seen  jsonrpc.Backlog
	since time.Duration // when it was seen to take nothing more; 0: nothing waits
	// upTo is the position in the stream behind which calls came too late to be
	// the reason for the present silence. Others read it, too.
	upTo atomic.Uint64
}

// look notes how what is sent gets through, start being when the present silence
// began and after how long it is one.
func (g *clog) look(conn transport.Conn, now, start, after time.Duration) {
	out, ok := conn.(transport.Outbox)
	if !ok {
		return
	}
	before := g.seen.Sent
	g.seen = out.Backlog()
	switch {
	case !g.seen.Waiting:
		g.since = 0
	case g.since == 0, g.seen.Sent != before:
		g.since = max(now, 1)
	}
	if now-start < after {
		g.upTo.Store(g.seen.Sent)
	}
}

// working reports whether the peer may still be busy with a call that it took
// before the silence was noticed. Calls that came later wait for their turn: were
// they a reason, a peer that hangs would be excused for as long as anybody calls.
func (g *clog) working(b jsonrpc.Backlog) bool { return b.Running > 0 && b.Running <= g.upTo.Load() }

// excused is until when the silence has a reason: until now while a call is being
// worked on, but no longer than the pipe has taken what it was sent.
func (g *clog) excused(now time.Duration) time.Duration {
	if g.since > 0 {
		return g.since
	}
	return now
}

// deaf reports whether the program has taken nothing for so long, and is not
// busy.
func (g *clog) deaf(now, after time.Duration) bool {
	return g.since > 0 && g.seen.Running == 0 && now-g.since >= after
}
