// Package ledger keeps what the coe tools write down: tickets, and one record of
// every report. It stands on a SQLite file that processes may share, or on
// memory, and outlives both a locked and an absent database (tools.md §3.4).
package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

// What a write may fail with once the ledger has done what it could.
var (
	// ErrLocked is a database whose lock another one holds.
	ErrLocked = errors.New("the database is locked")
	// ErrUnavailable is a database that cannot be reached or written to.
	ErrUnavailable = errors.New("the database is unavailable")
	// ErrDiskFull, ErrReadOnly and ErrDamaged say why it is unavailable.
	ErrDiskFull = fmt.Errorf("%w: the disk is full", ErrUnavailable)
	ErrReadOnly = fmt.Errorf("%w: the data folder is read-only", ErrUnavailable)
	ErrDamaged  = fmt.Errorf("%w: the file is damaged or no database", ErrUnavailable)
)

// retries is how often a write is tried again that found the database locked
// (S1: exponential, max 5).
const retries = 5

// A Ticket is a question or a problem for somebody to look at.
type Ticket struct {
	Number      int // 0 until it has been written
	Title       string
	Description string
	Priority    int // 1 to 3, or 0
	TaskID      string
	Type        string
	Agent       string
	Open        bool
	Created     time.Time
}

// Investigation is the type of the tickets that close with their task.
const Investigation = "investigation"

// A Tx is a write under way. All of it happens, or none.
type Tx interface {
	// AddTicket writes a ticket and returns it with its number.
	AddTicket(ctx context.Context, t Ticket) (Ticket, error)
	// CloseInvestigations closes the open investigations of a task and returns
	// how many there were.
	CloseInvestigations(ctx context.Context, taskID string) (int, error)
	// AddRecord writes a record and returns it with its id, which is unique in
	// the file. It fails with [ErrTooLarge] or [ErrFull].
	AddRecord(ctx context.Context, r Record) (Record, error)
	// Load returns the head of the stored plan, and the rows that a view of an
	// epoch and a revision does not know: all of them for another epoch.
	Load(ctx context.Context, epoch, revision int64) (plan.Head, []plan.Row, error)
	// Save stores changes of the plan and returns as which revision.
	Save(ctx context.Context, c plan.Changes) (epoch, revision int64, err error)
	// Clear removes everything; the numbers of tickets begin again.
	Clear(ctx context.Context) error
}

// background is the tool of what no call waits for.
const background = ""

// a backend is where a ledger writes.
type backend interface {
	// write runs f in a transaction. Its error is ErrLocked, ErrUnavailable, or
	// what f returned.
	write(ctx context.Context, f func(Tx) error) error
	tickets(ctx context.Context, q TicketQuery) ([]Ticket, error)
	records(ctx context.Context, q RecordQuery) (rs []Record, more bool, err error)
	load(ctx context.Context, epoch, revision int64) (plan.Head, []plan.Row, error)
	// shared says whether other processes may change what is stored.
	shared() bool
	// hold takes the lock, as another program would; unreachable cuts the
	// connection, or mends it.
	hold(ctx context.Context) (release func() error, err error)
	unreachable(yes bool)
	close() error
}

// Options configures a [Ledger].
type Options struct {
	// Path is the SQLite file; empty keeps everything in memory.
	Path string
	// Durable waits for the disk at every commit.
	Durable bool
	// FirstTicket is the number of the first ticket; 0 is 1.
	FirstTicket int
	// Backoff is the wait before the first of five retries; each further one is
	// twice as long. 0 is 50 ms.
	Backoff time.Duration
	// Strike, when set, is asked before each attempt to write for a tool
	// whether the database is to be locked, or gone, for that attempt. The tool
	// is "" for what is written in the background.
	Strike func(tool string) Trouble
	// Reached, when set, is called at each of the steps below of a write to the file:
	// tests kill the process there.
	Reached func(step string)
	// Logger gets what happens in the background; nil drops it.
	Logger *slog.Logger
}

// The steps of a write.
const (
	StepBegun     = "begun"     // the lock is taken, nothing is written
	StepWritten   = "written"   // all is written, nothing is committed
	StepCommitted = "committed" // nobody has been answered
)

// Trouble is what a test wants to happen to an attempt.
type Trouble int

// The troubles.
const (
	None Trouble = iota
	Lock
	Cut
)

// Ledger is safe for concurrent use. It is closed once.
type Ledger struct {
	opts    Options
	log     *slog.Logger
	store   backend
	turn    chan struct{} // holds a token while nobody uses the store
	writes  atomic.Int64
	pending pending
}

// Open opens the file, or makes it. It waits for a lock for as long as ctx allows.
// A folder that cannot be written to is an error now rather than at the first ticket.
func Open(ctx context.Context, opts Options) (*Ledger, error) {
	if opts.FirstTicket == 0 {
		opts.FirstTicket = 1
	}
	if opts.Reached == nil {
		opts.Reached = func(string) {}
	}
	if opts.Backoff == 0 {
		opts.Backoff = 50 * time.Millisecond
	}
	l := &Ledger{opts: opts, log: opts.Logger, turn: make(chan struct{}, 1)}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	if opts.Path == "" {
		l.store = newMemory(opts.FirstTicket)
	} else {
		l.store = &file{path: opts.Path, durable: opts.Durable, first: opts.FirstTicket, reached: opts.Reached}
	}
	l.turn <- struct{}{}
	// Others may be opening it, too, or working: nobody else waits for this one.
	err := ErrLocked
	for errors.Is(err, ErrLocked) && ctx.Err() == nil {
		err = l.Retry(ctx, func() error {
			_, _, err := l.Records(ctx, RecordQuery{Most: 1})
			return err
		})
	}
	if err != nil {
		return nil, errors.Join(err, l.store.close())
	}
	l.pending.start(l)
	return l, nil
}

// Write runs f in a transaction for a tool, again with growing waits while the
// database is locked. f may run more than once.
func (l *Ledger) Write(ctx context.Context, tool string, f func(Tx) error) error {
	return l.Retry(ctx, func() error { return l.Attempt(ctx, tool, f) })
}

// Retry runs attempt, again with growing waits while the database is locked. It
// holds nothing while it waits: who comes meanwhile waits no longer for that.
func (l *Ledger) Retry(ctx context.Context, attempt func() error) error {
	wait := l.opts.Backoff
	for n := 0; ; n++ {
		err := attempt()
		if !errors.Is(err, ErrLocked) || n == retries {
			return err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		wait *= 2
	}
}

// Attempt runs f in a transaction for a tool, once.
func (l *Ledger) Attempt(ctx context.Context, tool string, f func(Tx) error) error {
	err := l.alone(ctx, func() error { return l.attempt(ctx, tool, f) })
	if err == nil && tool != background {
		l.recall()
	}
	return err
}

// alone runs do while nobody else uses the database: its file has one lock, and
// a connection that fails is taken from all.
func (l *Ledger) alone(ctx context.Context, do func() error) error {
	select {
	case <-l.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { l.turn <- struct{}{} }()
	return do()
}

// attempt writes once, in whatever trouble a test wants.
func (l *Ledger) attempt(ctx context.Context, tool string, f func(Tx) error) (err error) {
	l.writes.Add(1)
	if l.opts.Strike != nil {
		switch l.opts.Strike(tool) {
		case Lock:
			release, err := l.store.hold(ctx)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, release()) }()
		case Cut:
			l.store.unreachable(true)
			defer l.store.unreachable(false)
		case None:
		}
	}
	return l.store.write(ctx, f)
}

// Writes returns how often a write has been tried.
func (l *Ledger) Writes() int { return int(l.writes.Load()) }

// Tickets returns tickets that have been written, by number.
func (l *Ledger) Tickets(ctx context.Context, q TicketQuery) (ts []Ticket, err error) {
	err = l.alone(ctx, func() (err error) { ts, err = l.store.tickets(ctx, q); return err })
	return ts, err
}

// Records returns records, the oldest first, and whether the query's bounds have
// left out older ones.
func (l *Ledger) Records(ctx context.Context, q RecordQuery) (rs []Record, more bool, err error) {
	err = l.alone(ctx, func() (err error) { rs, more, err = l.store.records(ctx, q); return err })
	return rs, more, err
}

// Load is [Tx.Load] outside a transaction.
func (l *Ledger) Load(ctx context.Context, epoch, revision int64) (head plan.Head, rows []plan.Row, err error) {
	err = l.alone(ctx, func() (err error) { head, rows, err = l.store.load(ctx, epoch, revision); return err })
	return head, rows, err
}

// Shared says whether other processes may change what is stored.
func (l *Ledger) Shared() bool { return l.store.shared() }

// Reset forgets everything, what is yet to be written included, and counts from
// the beginning. It is for tests: nothing keeps the ids of before unique.
func (l *Ledger) Reset(ctx context.Context) error {
	return l.pending.pause(ctx, func() error {
		if err := l.Write(ctx, background, func(tx Tx) error { return tx.Clear(ctx) }); err != nil {
			return err
		}
		l.pending.forget()
		l.writes.Store(0)
		return nil
	})
}

// Close writes what is still to be written, within ctx, and closes the file.
func (l *Ledger) Close(ctx context.Context) error {
	return errors.Join(l.pending.stop(ctx, l), l.store.close())
}
