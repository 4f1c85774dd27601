package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

// file is a ledger in a SQLite file. The connection is opened when it is needed
// and given up after a failure, so that a database that comes back is found.
type file struct {
	path    string
	durable bool
	first   int
	reached func(step string)

	mu   sync.Mutex
	cut  bool
	held bool // by this ledger itself, as a test wants
	db   *sql.DB
}

// patience bounds the wait of one attempt for another process that writes. Who
// waits longer gives way to others of this process and tries again ([Ledger.Retry]).
const patience = 250 * time.Millisecond

// patiently runs do until no other process holds the lock, for up to patience.
func (f *file) patiently(ctx context.Context, do func() error) error {
	for end := time.Now().Add(patience); ; {
		err := do()
		if !errors.Is(err, ErrLocked) || f.isHeld() || time.Now().After(end) {
			return err
		}
		timer := time.NewTimer(time.Millisecond + rand.N(4*time.Millisecond))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

func (f *file) isHeld() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.held
}

// source writes the data source name. The waits for a lock are ours, so that
// they can be counted and cancelled.
func source(path string, durable bool) string {
	synchronous := "NORMAL" // in WAL: nothing torn, but the last commits may be lost with the power
	if durable {
		synchronous = "FULL"
	}
	// Characters with a meaning in URIs may stand in the name of a folder.
	u := url.URL{Path: filepath.ToSlash(path)}
	return "file:" + u.EscapedPath() + "?_pragma=busy_timeout(0)&_pragma=journal_mode(WAL)&_pragma=synchronous(" +
		synchronous + ")&_txlock=immediate"
}

func (f *file) connect(ctx context.Context) (*sql.DB, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.db != nil {
		return f.db, nil
	}
	path := f.path
	if f.cut {
		path = filepath.Join(path, "cut off") // below a file there is no file
	}
	db, err := sql.Open("sqlite", source(path, f.durable))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	db.SetMaxOpenConns(1)
	if err := prepare(ctx, db); err != nil {
		return nil, errors.Join(f.classify(err), db.Close())
	}
	f.db = db
	return db, nil
}

// classify tells a locked database and one that is gone from everything else,
// and names the file.
func (f *file) classify(err error) error {
	if errors.Is(err, ErrFormat) {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	kind := ErrUnavailable
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		kind = ErrLocked
	case sqlite3.SQLITE_FULL:
		kind = ErrDiskFull
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		kind = ErrReadOnly
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		kind = ErrDamaged
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR:
	default:
		return fmt.Errorf("%s: %w", f.path, err)
	}
	return fmt.Errorf("%w: %s: %w", kind, f.path, err)
}

// with runs do on a connection.
func (f *file) with(ctx context.Context, do func(*sql.DB) error) error {
	err := f.patiently(ctx, func() error {
		db, err := f.connect(ctx)
		if err != nil {
			return err
		}
		return f.classify(do(db))
	})
	if errors.Is(err, ErrUnavailable) {
		return errors.Join(err, f.close())
	}
	return err
}

func (f *file) write(ctx context.Context, do func(Tx) error) error {
	var tx *sql.Tx
	err := f.with(ctx, func(db *sql.DB) (err error) {
		tx, err = db.BeginTx(ctx, nil)
		return err
	})
	if err != nil {
		return err
	}
	// The lock is ours now: what fails from here on is not tried again here.
	f.reached(StepBegun)
	if err = do(fileTx{tx, f.first}); err != nil {
		err = errors.Join(err, tx.Rollback())
	} else {
		f.reached(StepWritten)
		err = tx.Commit()
		f.reached(StepCommitted)
	}
	if err = f.classify(err); errors.Is(err, ErrUnavailable) {
		return errors.Join(err, f.close())
	}
	return err
}

func (f *file) load(ctx context.Context, epoch, revision int64) (head plan.Head, rows []plan.Row, err error) {
	err = f.with(ctx, func(db *sql.DB) (err error) {
		head, rows, err = load(ctx, db, epoch, revision)
		return err
	})
	return head, rows, err
}

func (f *file) shared() bool { return true }

func (f *file) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.db == nil {
		return nil
	}
	err := f.db.Close()
	f.db = nil
	return err
}

func (f *file) unreachable(yes bool) {
	f.mu.Lock()
	f.cut = yes
	f.mu.Unlock()
	_ = f.close() // a connection that is to be cut has nothing to lose
}

func (f *file) setHeld(yes bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = yes
}

// hold takes the lock of the file over a connection of its own.
func (f *file) hold(ctx context.Context) (func() error, error) {
	db, err := sql.Open("sqlite", source(f.path, f.durable))
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	err = f.patiently(ctx, func() error {
		_, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
		return f.classify(err)
	})
	if err != nil {
		return nil, errors.Join(err, conn.Close(), db.Close())
	}
	f.setHeld(true)
	return func() error {
		f.setHeld(false)
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, conn.Close(), db.Close())
	}, nil
}

const (
	ticketColumns = `number, title, description, priority, task_id, type, agent, open, created`
	recordColumns = `kind, id, version, tool, task_id, agent, rank, body, created`
)

func (f *file) tickets(ctx context.Context, q TicketQuery) ([]Ticket, error) {
	where, args := `1`, []any{}
	switch {
	case q.TaskID != "":
		where, args = `task_id = ?`, []any{q.TaskID}
	case q.Number != 0:
		where, args = `number = ?`, []any{q.Number}
	}
	ts, _, err := list(ctx, f, bounds{}, func(rows *sql.Rows) (t Ticket, size int, err error) {
		var created int64
		err = rows.Scan(&t.Number, &t.Title, &t.Description, &t.Priority, &t.TaskID, &t.Type, &t.Agent, &t.Open, &created)
		t.Created = time.UnixMilli(created).UTC()
		return t, len(t.Description), err
	}, `SELECT `+ticketColumns+` FROM tickets WHERE `+where+` ORDER BY number`, args...)
	return ts, err
}

func (f *file) records(ctx context.Context, q RecordQuery) ([]Record, bool, error) {
	where, args := `1`, []any{}
	switch {
	case q.ID != "":
		where, args = `id = ?`, []any{q.ID}
	case len(q.TaskIDs) > 0:
		where = `task_id IN (?` + strings.Repeat(`, ?`, len(q.TaskIDs)-1) + `)`
		for _, id := range q.TaskIDs {
			args = append(args, id)
		}
	case q.Kind != "":
		where, args = `kind = ?`, []any{q.Kind}
	}
	rs, more, err := list(ctx, f, bounds{q.Most, q.Bytes}, func(rows *sql.Rows) (r Record, size int, err error) {
		var created int64
		var body string
		err = rows.Scan(&r.Kind, &r.ID, &r.Version, &r.Tool, &r.TaskID, &r.Agent, &r.Rank, &body, &created)
		r.Body, r.Created = []byte(body), time.UnixMilli(created).UTC()
		return r, len(body), err
	}, `SELECT `+recordColumns+` FROM records WHERE `+where+` ORDER BY row DESC`, args...)
	slices.Reverse(rs)
	return rs, more, err
}

// bounds end a list early: after so many, or before it gets longer than so many
// bytes. 0 is no bound.
type bounds struct{ most, bytes int }

// list reads rows and says whether the bounds have left out some.
func list[T any](
	ctx context.Context, f *file, b bounds, scan func(*sql.Rows) (T, int, error), query string, args ...any,
) (out []T, more bool, err error) {
	err = f.with(ctx, func(db *sql.DB) (err error) {
		out, more = nil, false
		rows, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for total := 0; rows.Next(); {
			v, size, err := scan(rows)
			if err != nil {
				return err
			}
			if total += size; b.most > 0 && len(out) == b.most || b.bytes > 0 && len(out) > 0 && total > b.bytes {
				more = true
				return nil
			}
			out = append(out, v)
		}
		return rows.Err()
	})
	return out, more, err
}
