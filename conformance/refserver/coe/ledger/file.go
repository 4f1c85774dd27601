package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// schema has no column for the text of an id: it follows from the number. An
// id of a record is unique in its process; two servers on one file count for
// themselves.
const schema = `
CREATE TABLE IF NOT EXISTS tickets (
	number INTEGER PRIMARY KEY, title TEXT NOT NULL, description TEXT NOT NULL, priority INTEGER NOT NULL,
	task_id TEXT NOT NULL, type TEXT NOT NULL, agent TEXT NOT NULL, open INTEGER NOT NULL, created INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS tickets_by_task ON tickets (task_id) WHERE open;
CREATE TABLE IF NOT EXISTS records (
	row INTEGER PRIMARY KEY, kind TEXT NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, task_id TEXT NOT NULL,
	agent TEXT NOT NULL, rank INTEGER NOT NULL, body TEXT NOT NULL, created INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS records_by_kind ON records (kind, number);
`

// file is a ledger in a SQLite file. The connection is opened when it is needed
// and given up after a failure, so that a database that comes back is found.
type file struct {
	path    string
	durable bool
	first   int

	mu  sync.Mutex
	cut bool
	db  *sql.DB
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
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(classify(err), db.Close())
	}
	f.db = db
	return db, nil
}

// classify tells a locked database and one that is gone from everything else.
func classify(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%w: %w", ErrLocked, err)
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL,
		sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}

// with runs do on a connection.
func (f *file) with(ctx context.Context, do func(*sql.DB) error) error {
	db, err := f.connect(ctx)
	if err != nil {
		return err
	}
	if err := classify(do(db)); err != nil {
		if errors.Is(err, ErrUnavailable) {
			return errors.Join(err, f.close())
		}
		return err
	}
	return nil
}

func (f *file) write(ctx context.Context, do func(Tx) error) error {
	return f.with(ctx, func(db *sql.DB) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err := do(fileTx{tx, f.first}); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	})
}

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
	if _, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return nil, errors.Join(classify(err), conn.Close(), db.Close())
	}
	return func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, conn.Close(), db.Close())
	}, nil
}

type fileTx struct {
	*sql.Tx
	first int
}

// AddTicket implements [Tx].
func (tx fileTx) AddTicket(ctx context.Context, t Ticket) (Ticket, error) {
	// The number is taken in the same statement, so that two servers on one
	// file give no number twice.
	row := tx.QueryRowContext(ctx, `INSERT INTO tickets (number, title, description, priority, task_id, type, agent, open, created)
		SELECT COALESCE(MAX(number) + 1, ?), ?, ?, ?, ?, ?, ?, 1, ? FROM tickets RETURNING number`,
		tx.first, t.Title, t.Description, t.Priority, t.TaskID, t.Type, t.Agent, t.Created.UnixMilli())
	t.Open = true
	return t, row.Scan(&t.Number)
}

// CloseInvestigations implements [Tx].
func (tx fileTx) CloseInvestigations(ctx context.Context, taskID string) (int, error) {
	res, err := tx.ExecContext(ctx, `UPDATE tickets SET open = 0 WHERE open AND task_id = ? AND type = ?`, taskID, Investigation)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// AddRecords implements [Tx].
func (tx fileTx) AddRecords(ctx context.Context, rs ...Record) error {
	for _, r := range rs {
		_, err := tx.ExecContext(ctx, `INSERT INTO records (kind, number, id, task_id, agent, rank, body, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			r.Kind, idNumber(r.ID), r.ID, r.TaskID, r.Agent, r.Rank, string(r.Body), r.Created.UnixMilli())
		if err != nil {
			return err
		}
	}
	return nil
}

// Clear implements [Tx].
func (tx fileTx) Clear(ctx context.Context) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM tickets; DELETE FROM records`)
	return err
}

func (f *file) lastID(ctx context.Context, k Kind) (n int, err error) {
	err = f.with(ctx, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, `SELECT COALESCE(MAX(number), 0) FROM records WHERE kind = ?`, k).Scan(&n)
	})
	return n, err
}

func (f *file) tickets(ctx context.Context) ([]Ticket, error) {
	return list(ctx, f, func(rows *sql.Rows) (t Ticket, err error) {
		var created int64
		err = rows.Scan(&t.Number, &t.Title, &t.Description, &t.Priority, &t.TaskID, &t.Type, &t.Agent, &t.Open, &created)
		t.Created = time.UnixMilli(created).UTC()
		return t, err
	}, `SELECT number, title, description, priority, task_id, type, agent, open, created FROM tickets ORDER BY number`)
}

func (f *file) records(ctx context.Context, k Kind) ([]Record, error) {
	return list(ctx, f, func(rows *sql.Rows) (r Record, err error) {
		var created int64
		var body string
		err = rows.Scan(&r.Kind, &r.ID, &r.TaskID, &r.Agent, &r.Rank, &body, &created)
		r.Body, r.Created = []byte(body), time.UnixMilli(created).UTC()
		return r, err
	}, `SELECT kind, id, task_id, agent, rank, body, created FROM records WHERE kind = ? ORDER BY row`, k)
}

func list[T any](ctx context.Context, f *file, scan func(*sql.Rows) (T, error), query string, args ...any) (out []T, err error) {
	err = f.with(ctx, func(db *sql.DB) (err error) {
		rows, err := db.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, rows.Close()) }()
		for rows.Next() {
			v, err := scan(rows)
			if err != nil {
				return err
			}
			out = append(out, v)
		}
		return rows.Err()
	})
	return out, err
}
