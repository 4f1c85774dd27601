package transport

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/sse"
)

const (
	// maxRetry bounds what a server may ask us to wait (transports, "Resumability and
	// Redelivery").
	maxRetry = 5 * time.Minute
	// basePause bounds the first wait where the server does not say how long.
	basePause = 500 * time.Millisecond
	// steady is how long a stream must stay open to count as one that works:
	// the others make the waits grow, however they end.
	steady = 5 * time.Second
	// patience is how many streams in a row may end at once before the
	// server's own wish, if it is a short one, is doubted.
	patience = 4
	// keptIDs is how many ids of events are remembered, to know them again.
	keptIDs = 256
	// maxEventID is the longest id that is remembered: no server takes a longer
	// one back in a header.
	maxEventID = 4 << 10
)

// place is the position in an event stream: what is needed to resume it after
// it broke.
type place struct {
	id       string        // of the last event, "" when there is nothing to resume from
	retry    time.Duration // the server's wish, valid if hasRetry is set
	hasRetry bool
	short    int // streams in a row that were refused or ended at once
	// most bounds the waits that are not the server's wish.
	most time.Duration

	recent []string // ids of the last events
	before []string // the same, of the time before the stream broke
}

// note takes the id and the retry time of an event, whatever else is in it.
// It reports whether the event came before the stream broke.
func (p *place) note(e sse.Event) bool {
	if e.HasRetry {
		p.retry, p.hasRetry = min(e.Retry, maxRetry), true
	}
	if !e.HasID {
		return false
	}
	if len(e.ID) > maxEventID {
		e.ID = ""
	}
	p.id = e.ID
	if e.ID == "" {
		return false
	}
	if slices.Contains(p.before, e.ID) {
		return true
	}
	if len(p.recent) == 2*keptIDs {
		p.recent = append(p.recent[:0], p.recent[keptIDs:]...)
	}
	p.recent = append(p.recent, e.ID)
	return false
}

// broke notes that a stream ended that was open for so long.
func (p *place) broke(open time.Duration) {
	p.before = slices.Clone(p.recent[max(0, len(p.recent)-keptIDs):])
	if p.id == "" {
		p.forget()
	}
	if p.short++; open >= steady {
		p.short = 0
	}
}

// forget forgets the place: the next stream starts again, and events in it may have
// the ids of others (transports, "Resumability and Redelivery").
func (p *place) forget() { p.id, p.recent, p.before = "", nil, nil }

// pause returns how long to wait before the next try: what the server asked
// for, to the point (transports, "Resumability and Redelivery"), or a random part of a
// bound that doubles. A
// server that ends every stream at once is not asked ever again without a
// growing wait, unless a second or more is what it wants. opened says that the
// last try got a stream.
func (p *place) pause(opened bool) time.Duration {
	if p.hasRetry && opened && (p.short <= patience || p.retry >= time.Second) {
		return p.retry
	}
	bound := min(p.most, basePause<<min(p.short, 10))
	return max(p.retry, rand.N(bound))
}
