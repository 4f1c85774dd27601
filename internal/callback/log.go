package callback

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Bounds of a [Logger]. What a peer sends can cause a line a message, so that each
// place in the code has its own allowance: one that is flooded does not take
// that of the others.
const (
	logBurst    = 10 // lines of one place at once
	logInterval = time.Second
	logWaiting  = 256 // lines that wait for a slow handler
)

// LogHandler is the name of a handler in an [Error].
const LogHandler = "the logger's handler"

// Logger returns a logger that never runs the handler of l on the goroutine that
// logs: a handler that blocks, panics or ends its goroutine costs its own lines
// and nothing else. Of one place in the code it takes 10 lines at once and one a
// second after that; one line counts what was dropped. failed, which may be nil,
// is called for a handler that panics.
//
// Its goroutine lives while there is something to say. A Logger of a Logger is
// the same one.
func Logger(l *slog.Logger, failed func(*Error)) *slog.Logger {
	if l == nil || l.Handler() == slog.DiscardHandler {
		return l
	}
	if _, already := l.Handler().(*logHandler); already {
		return l
	}
	return slog.New(&logHandler{q: &logQueue{to: l.Handler(), failed: failed, places: map[uintptr]*place{}}})
}

// Flush waits until the handler of a [Logger] has got all lines, no longer than
// bound. It reports whether it has.
func Flush(l *slog.Logger, bound time.Duration) bool {
	h, ok := l.Handler().(*logHandler)
	return !ok || h.q.flush(bound)
}

// logHandler is the handler of a [Logger], with what was put before its lines.
type logHandler struct {
	q    *logQueue
	with []func(slog.Handler) slog.Handler
}

// Enabled implements [slog.Handler]: the handler is asked when it is its turn.
func (h *logHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements [slog.Handler]. It never waits.
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	h.q.put(logLine{ctx: ctx, record: r.Clone(), with: h.with})
	return nil
}

// WithAttrs implements [slog.Handler].
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.and(func(to slog.Handler) slog.Handler { return to.WithAttrs(attrs) })
}

// WithGroup implements [slog.Handler].
func (h *logHandler) WithGroup(name string) slog.Handler {
	return h.and(func(to slog.Handler) slog.Handler { return to.WithGroup(name) })
}

func (h *logHandler) and(more func(slog.Handler) slog.Handler) slog.Handler {
	return &logHandler{q: h.q, with: append(h.with[:len(h.with):len(h.with)], more)}
}

type logLine struct {
	ctx    context.Context
	record slog.Record
	with   []func(slog.Handler) slog.Handler
}

// place is a place in the code that logs.
type place struct {
	left    int       // lines that it may log now
	since   time.Time // of left
	dropped int
	like    logLine // the last one that was dropped
}

// allow takes a line from the allowance, which fills up again with time.
func (p *place) allow(now time.Time) bool {
	if more := int(now.Sub(p.since) / logInterval); more > 0 {
		p.left = min(logBurst, p.left+more)
		p.since = now
	}
	if p.left == 0 {
		return false
	}
	p.left--
	return true
}

type logQueue struct {
	to     slog.Handler
	failed func(*Error)

	mu      sync.Mutex
	lines   []logLine
	places  map[uintptr]*place // by program counter: as many as the code has
	running bool
	idle    chan struct{} // closed when nothing is left to say; nil when nobody waits
	hurry   chan struct{} // closed when what was dropped is to be told at once; nil when nothing waits
	flushed int           // who waits for that
}

// put queues a line. It never waits.
func (q *logQueue) put(l logLine) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := q.places[l.record.PC]
	if p == nil {
		p = &place{left: logBurst, since: l.record.Time}
		q.places[l.record.PC] = p
	}
	if len(q.lines) < logWaiting && p.allow(l.record.Time) {
		q.lines = append(q.lines, l)
	} else {
		p.dropped++
		p.like = l
	}
	if !q.running {
		q.running = true
		go q.run()
	}
}

func (q *logQueue) run() {
	InTurn(func(rest func()) { go rest() }, q.step)
}

// step hands one line over, or waits until what was dropped may be told. It
// reports whether there may be more.
func (q *logQueue) step() bool {
	q.mu.Lock()
	l, wait, ok := q.next(time.Now())
	if !ok && wait == 0 {
		q.running = false
		if q.idle != nil {
			close(q.idle)
			q.idle = nil
		}
	}
	var hurry chan struct{}
	if wait > 0 {
		hurry = make(chan struct{})
		q.hurry = hurry
	}
	q.mu.Unlock()
	switch {
	case ok:
		Run(LogHandler, q.failed, func() {
			to := q.to
			for _, with := range l.with {
				to = with(to)
			}
			if to.Enabled(l.ctx, l.record.Level) {
				_ = to.Handle(l.ctx, l.record) // as slog does: it has nobody to tell
			}
		})
	case wait > 0:
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-hurry:
		}
	}
	return ok || wait > 0
}

// next takes the next line: what waits, then what is to be said of what was
// dropped, which is told once a second. wait is how long nothing is due, 0 for
// nothing at all. Requires q.mu.
func (q *logQueue) next(now time.Time) (l logLine, wait time.Duration, ok bool) {
	if len(q.lines) > 0 {
		l, q.lines[0] = q.lines[0], logLine{}
		if q.lines = q.lines[1:]; len(q.lines) == 0 {
			q.lines = nil
		}
		return l, 0, true
	}
	for _, p := range q.places {
		if p.dropped == 0 {
			continue
		}
		if left := p.since.Add(logInterval).Sub(now); left > 0 && q.flushed == 0 {
			if wait == 0 || left < wait {
				wait = left
			}
			continue
		}
		l = p.like
		record := slog.NewRecord(now, l.record.Level, "[MCP] too many log lines of one kind; some were dropped", l.record.PC)
		record.AddAttrs(slog.Int("count", p.dropped), slog.String("kind", l.record.Message))
		l.record = record
		p.dropped, p.like, p.since = 0, logLine{}, now
		return l, 0, true
	}
	return logLine{}, wait, false
}

// flush waits until there is nothing left to say.
func (q *logQueue) flush(bound time.Duration) bool {
	q.mu.Lock()
	if !q.running {
		q.mu.Unlock()
		return true
	}
	if q.idle == nil {
		q.idle = make(chan struct{})
	}
	idle := q.idle
	q.flushed++
	if q.hurry != nil {
		close(q.hurry)
		q.hurry = nil
	}
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.flushed--
	}()
	timer := time.NewTimer(bound)
	defer timer.Stop()
	select {
	case <-idle:
		return true
	case <-timer.C:
		return false
	}
}
