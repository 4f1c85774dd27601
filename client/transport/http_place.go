package transport

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/internal/sse"
)

const (
	// maxRetry limits the delay that a server may request (transports, "Resumability and
	// Redelivery").
	maxRetry = 5 * time.Minute
	// basePause limits the first delay if the server requests none.
	basePause = 500 * time.Millisecond
	// steady is the minimum lifetime of a working stream. Shorter ones make the delays grow,
	// however they end.
	steady = 5 * time.Second
	// patience is the number of short streams in a row after which a short delay of the server is
	// ignored.
	patience = 4
	// keptIDs is the number of event ids that are kept to recognize repeated events.
	keptIDs = 256
	// maxEventID is the longest id that is kept: no server accepts a longer header.
	maxEventID = 4 << 10
)

// place is the position in an event stream, to resume it after it broke.
type place struct {
	id       string        // of the last event, "" if the stream cannot be resumed
	retry    time.Duration // the delay that the server requests, valid if hasRetry is set
	hasRetry bool
	short    int // streams in a row that were refused or short
	// most limits the delays that the server does not request.
	most time.Duration

	recent []string // ids of the last events
	before []string // ids of events before the stream broke
}

// note records the id and the retry time of an event. It reports whether the event was received
// before the stream broke.
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

// broke records the end of a stream that was open for the given time.
func (p *place) broke(open time.Duration) {
	p.before = slices.Clone(p.recent[max(0, len(p.recent)-keptIDs):])
	if p.id == "" {
		p.forget()
	}
	if p.short++; open >= steady {
		p.short = 0
	}
}

// forget resets the position: the next stream starts over, and its events may reuse ids
// (transports, "Resumability and Redelivery").
func (p *place) forget() { p.id, p.recent, p.before = "", nil, nil }

// pause returns the delay before the next try: the exact delay that the server requested
// (transports, "Resumability and Redelivery"), or a random part of a limit that doubles. The
// limit grows for a server that ends every stream at once, unless it requests a second or more.
// opened is set if the last try opened a stream.
func (p *place) pause(opened bool) time.Duration {
	if p.hasRetry && opened && (p.short <= patience || p.retry >= time.Second) {
		return p.retry
	}
	bound := min(p.most, basePause<<min(p.short, 10))
	return max(p.retry, rand.N(bound))
}
