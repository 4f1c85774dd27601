package ledger

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
)

// The bounds of what waits in memory, and the waits between two attempts to
// write it.
const (
	maxPending   = 10_000
	firstPause   = 100 * time.Millisecond
	longestPause = 10 * time.Second
)

// pending is what could not be written yet: tickets that found the database gone.
type pending struct {
	mu      sync.Mutex
	tickets []Ticket
	// unclaimed are tickets written after their creator got an error:
	// the same request again gets the ticket, not a second one.
	unclaimed []Ticket

	flushing chan struct{} // holds a token while nobody writes what is pending

	wake    chan struct{}
	quit    context.CancelFunc
	stopped sync.WaitGroup
}

func (p *pending) start(l *Ledger) {
	//nolint:forbidigo // the writer lives as long as the ledger, regardless of who opened it
	ctx, cancel := context.WithCancel(context.Background())
	p.wake, p.quit, p.flushing = make(chan struct{}, 1), cancel, make(chan struct{}, 1)
	p.flushing <- struct{}{}
	p.stopped.Go(func() { p.run(ctx, l) })
}

// run writes what is pending whenever there is something, and after a failure
// again with growing pauses.
func (p *pending) run(ctx context.Context, l *Ledger) {
	pause := firstPause
	var again <-chan time.Time
	for {
		select {
		case <-p.wake:
		case <-again:
		case <-ctx.Done():
			return
		}
		again = nil
		if err := l.flush(ctx, background); err == nil {
			pause = firstPause
		} else if ctx.Err() == nil {
			l.log.LogAttrs(ctx, slog.LevelWarn, "coe_flush_failed", slog.String("error", err.Error()))
			again = time.After(pause)
			pause = min(2*pause, longestPause)
		}
	}
}

// stop ends the writer and writes what is left. A lock is waited for as long as
// ctx allows; a database that is gone is not.
func (p *pending) stop(ctx context.Context, l *Ledger) error {
	p.quit()
	p.stopped.Wait()
	for {
		if err := l.flush(ctx, background); !errors.Is(err, ErrLocked) {
			return err
		}
	}
}

// pause runs do while nobody writes what is pending.
func (p *pending) pause(ctx context.Context, do func() error) error {
	select {
	case <-p.flushing:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { p.flushing <- struct{}{} }()
	return do()
}

func (p *pending) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tickets, p.unclaimed = nil, nil
}

func (p *pending) signal() {
	select {
	case p.wake <- struct{}{}:
	default: // it has been woken already
	}
}

// flush writes what is pending in one transaction. Others only add to the end of
// the queue meanwhile.
func (l *Ledger) flush(ctx context.Context, tool string) error {
	return l.pending.pause(ctx, func() error { return l.writePending(ctx, tool) })
}

func (l *Ledger) writePending(ctx context.Context, tool string) error {
	p := &l.pending
	p.mu.Lock()
	tickets := slices.Clone(p.tickets)
	p.mu.Unlock()
	if len(tickets) == 0 {
		return nil
	}
	var written []Ticket
	err := l.Write(ctx, tool, func(tx Tx) error {
		written = written[:0]
		for _, t := range tickets {
			w, err := tx.AddTicket(ctx, t)
			if err != nil {
				return err
			}
			written = append(written, w)
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tickets = slices.Delete(p.tickets, 0, len(tickets))
	p.unclaimed = latest(append(p.unclaimed, written...))
	return nil
}

// CreateTicket writes a ticket. When the database is gone the ticket stays in
// memory, to be written when it is back, and the error is ErrUnavailable with
// kept true; the same request again gets that ticket (S1-TICKET-05).
func (l *Ledger) CreateTicket(ctx context.Context, tool string, t Ticket) (_ Ticket, kept bool, err error) {
	if l.waits(t) {
		if err := l.flush(ctx, tool); err != nil {
			return Ticket{}, errors.Is(err, ErrUnavailable), err
		}
	}
	if written, ok := l.claim(t); ok {
		return written, false, nil
	}
	var written Ticket
	err = l.Write(ctx, tool, func(tx Tx) (err error) {
		written, err = tx.AddTicket(ctx, t)
		return err
	})
	if errors.Is(err, ErrUnavailable) {
		kept = l.keepTicket(t)
	}
	return written, kept, err
}

// same says whether two requests ask for the same ticket.
func same(a, b Ticket) bool {
	a.Number, a.Open, a.Created = b.Number, b.Open, b.Created
	return a == b
}

func (l *Ledger) claim(t Ticket) (Ticket, bool) {
	p := &l.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.unclaimed, func(u Ticket) bool { return same(u, t) })
	if i < 0 {
		return Ticket{}, false
	}
	w := p.unclaimed[i]
	p.unclaimed = slices.Delete(p.unclaimed, i, i+1)
	return w, true
}

// waits says whether the same request has left a ticket in memory.
func (l *Ledger) waits(t Ticket) bool {
	p := &l.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.tickets, func(u Ticket) bool { return same(u, t) })
}

// keepTicket puts a ticket into memory and says whether there was room.
func (l *Ledger) keepTicket(t Ticket) bool {
	p := &l.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tickets) >= maxPending {
		return false
	}
	p.tickets = append(p.tickets, t)
	p.signal()
	return true
}

// recall wakes the writer after a write that went well, if there is something
// to write: the database is there again.
func (l *Ledger) recall() {
	p := &l.pending
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tickets) > 0 {
		p.signal()
	}
}
