package client

import (
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/client/transport"
)

var errDeaf = errors.New("it neither reads nor says anything")

// clog tells a program that does not read its stdin any more (fault E8) from one
// that is busy, which must not be ended in the middle of a tool: the pipe is full,
// it takes nothing out of it, and none of the calls that wait has reached it as
// a whole. To be used by one goroutine at a time.
type clog struct {
	sent  uint64        // what it had taken out of the pipe
	since time.Duration // when it was seen to take nothing more; 0: nothing waits
	idle  bool          // it has nothing to do for us
}

// look notes how what is sent gets through to a program.
func (g *clog) look(l *link, now time.Duration) {
	out, ok := l.conn.(transport.Outbox)
	if !ok || !l.traits.Process {
		*g = clog{}
		return
	}
	b := out.Backlog()
	switch {
	case !b.Waiting:
		*g = clog{}
		return
	case g.since == 0, g.sent != b.Sent:
		g.sent, g.since = b.Sent, max(now, 1)
	}
	g.idle = b.Delivered == 0
}

// deaf reports whether the program has taken nothing for so long, and is not
// busy.
func (g *clog) deaf(now, after time.Duration) bool {
	return g.since > 0 && g.idle && now-g.since >= after
}
