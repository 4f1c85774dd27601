package callback

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Limits of a [Logger]. A peer can cause one line per message, so each place in the code has its
// own allowance: one noisy place does not use up that of others.
const (
	logBurst    = 10 // lines of one place in a burst
	logInterval = time.Second
	logWaiting  = 256 // lines that wait for a slow handler
)

// LogHandler is the name of a log handler in an [Error].
const LogHandler = "the logger's handler"

// Logger returns a logger that never runs the handler of l on the goroutine that logs: a handler
// that blocks or panics affects only its own lines. For each place in the code, it logs a burst
// of 10 lines and one line a second after that; one more line counts the dropped ones. It calls
// failed, which may be nil, if the handler panics.
//
// Its goroutine runs only while there are lines to log. Logger returns a Logger unchanged.
func Logger(l *slog.Logger, failed func(*Error)) *slog.Logger {
	if l == nil || l.Handler() == slog.DiscardHandler {
		return l
	}
	if _, already := l.Handler().(*logHandler); already {
		return l
	}
	return slog.New(&logHandler{q: &logQueue{to: l.Handler(), failed: failed, places: map[uintptr]*place{}}})
}

// Flush waits at most bound until the handler of a [Logger] has all lines, and reports whether it
// has.
func Flush(l *slog.Logger, bound time.Duration) bool {
	h, ok := l.Handler().(*logHandler)
	return !ok || h.q.flush(bound)
}

// logHandler is the handler of a [Logger], with the attributes and groups for its lines.
type logHandler struct {
	q    *logQueue
	with []func(slog.Handler) slog.Handler
}

// Enabled implements [slog.Handler]. The level is checked later, by the wrapped handler.
func (h *logHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements [slog.Handler]. It never blocks.
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
	since   time.Time // time of the last refill
	dropped int
	like    logLine // the last dropped line
}

// allow takes one line from the allowance, which refills over time.
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
	places  map[uintptr]*place // by program counter, so the number is limited
	running bool
	idle    chan struct{} // closed when all lines are logged; nil unless flush waits
	hurry   chan struct{} // closed to log the counts of dropped lines at once; nil unless step waits
	flushed int           // number of waiting flush calls
}

// put queues a line. It never blocks.
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

// step logs one line, or waits until a count of dropped lines is due. It reports whether there
// may be more.
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
				_ = to.Handle(l.ctx, l.record) // as slog does
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

// next takes the next line: a queued one, or the count of dropped lines, which is due once a
// second. wait is the time until a count is due, 0 if there is none. Requires q.mu.
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

// flush waits until all lines are logged.
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
