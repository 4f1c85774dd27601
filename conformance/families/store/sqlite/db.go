package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// Options say how a database is used. The zero value is good.
type Options struct {
	// Durable waits for the disk at every commit (synchronous FULL). Without
	// it the last commits can be lost when the power fails, never when the
	// process does; for ids that can mean a number handed out twice after a
	// power cut (tools.md §9.3).
	Durable bool
	// BusyTimeout is how long a call waits for a lock that another process
	// holds. 0 is 5 s.
	BusyTimeout time.Duration
}

const (
	defaultBusyTimeout = 5 * time.Second
	readers            = 8
)

// A DB is an SQLite file with one connection that writes and several that
// read. One writer is not only what SQLite allows at a time: it makes a fair
// queue of the callers, where rivals for the file lock would wait in steps of
// the busy handler (tools.md §9.3 has the measurement).
type DB struct {
	writer *sql.DB
	reader *sql.DB
	// turn holds a token while nobody writes. database/sql serves those who
	// wait for its one connection in random order; a channel is first come,
	// first served, which is what bounds the slowest call.
	turn chan struct{}
	// seats holds a token for each of the readers, for the same reason.
	seats chan struct{}
	// compiled are the queries of the readers.
	compiled statements
	busy     time.Duration
}

// OpenDB opens the file at path, which is made when it is not there, readable
// by its owner alone. Close it with [DB.Close].
func OpenDB(ctx context.Context, path string, o Options) (*DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	// SQLite gives its -wal and -shm files the mode of the database.
	file, err := os.OpenFile(abs, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = defaultBusyTimeout
	}
	db := &DB{turn: make(chan struct{}, 1), seats: make(chan struct{}, readers), busy: o.BusyTimeout}
	db.turn <- struct{}{}
	for range readers {
		db.seats <- struct{}{}
	}
	if db.writer, err = sql.Open("sqlite", dsn(abs, o, false)); err != nil {
		return nil, err
	}
	db.writer.SetMaxOpenConns(1)
	if db.reader, err = sql.Open("sqlite", dsn(abs, o, true)); err != nil {
		return nil, errors.Join(err, db.writer.Close())
	}
	db.reader.SetMaxOpenConns(readers + 1) // one for who asks after the health, without a turn
	db.reader.SetMaxIdleConns(readers + 1)
	if err := db.connect(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", filepath.Base(abs), classify(err)), db.Close())
	}
	return db, nil
}

// connect makes the first connections. The switch to WAL needs the file for
// itself for a moment and does not always wait for it, so a second process that
// opens the file at the same instant tries again.
func (db *DB) connect(ctx context.Context) error {
	deadline := time.Now().Add(db.busy)
	for {
		err := errors.Join(db.writer.PingContext(ctx), db.reader.PingContext(ctx))
		if err == nil || !isBusy(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// dsn is the data source name. A transaction of the writer begins as a writer:
// one that begins as a reader cannot be made one while others write
// (tools.md §9.3).
func dsn(path string, o Options, reads bool) string {
	sync := "NORMAL"
	if o.Durable {
		sync = "FULL"
	}
	q := url.Values{}
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", o.BusyTimeout.Milliseconds()))
	q.Add("_pragma", "journal_mode(WAL)")
	q.Add("_pragma", "foreign_keys(1)")
	q.Add("_pragma", "synchronous("+sync+")")
	if reads {
		q.Add("_pragma", "query_only(1)")
	} else {
		q.Set("_txlock", "immediate")
	}
	slash := filepath.ToSlash(path)
	if slash[0] != '/' { // a drive letter
		slash = "/" + slash
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: slash, RawQuery: q.Encode()}
	return u.String()
}

// Write runs fn in a write transaction, when its turn has come, and commits
// unless fn fails. A file that others keep locked is [store.ErrBusy].
func (db *DB) Write(ctx context.Context, fn func(tx *sql.Tx) error) error {
	select {
	case <-db.turn:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { db.turn <- struct{}{} }()
	tx, err := db.writer.BeginTx(ctx, nil)
	if err != nil {
		return classify(err)
	}
	if err := fn(tx); err != nil {
		rollback := tx.Rollback()
		if ctx.Err() != nil { // and the driver speaks of an interruption
			return ctx.Err()
		}
		return errors.Join(classify(err), ignoreDone(rollback))
	}
	return classify(tx.Commit())
}

// Read runs fn, which only reads, when its turn has come.
func (db *DB) Read(ctx context.Context, fn func(reader *sql.DB) error) error {
	select {
	case <-db.seats:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { db.seats <- struct{}{} }()
	return classify(fn(db.reader))
}

// Reader is the pool for reading; it cannot write.
func (db *DB) Reader() *sql.DB { return db.reader }

// Close closes the file.
func (db *DB) Close() error {
	defer db.compiled.close()
	return errors.Join(db.reader.Close(), db.writer.Close())
}

// isBusy reports whether err says that others held the lock.
func isBusy(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	primary := e.Code() & 0xff // the rest says which lock
	return primary == sqlite3.SQLITE_BUSY || primary == sqlite3.SQLITE_LOCKED
}

// classify names what callers act upon; other errors stay what they are.
func classify(err error) error {
	if err == nil || !isBusy(err) || errors.Is(err, store.ErrBusy) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrBusy, err)
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}
