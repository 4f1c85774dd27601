package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/keyed"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

const (
	maxConns = 25
	// connectTimeout bounds one attempt to connect, so that three fit into a
	// request.
	connectTimeout = 2 * time.Second
	// conflictRetries is how often a transaction that lost against another
	// process is repeated (tools.md §2.10).
	conflictRetries = 5
	conflictDelay   = 10 * time.Millisecond
	// closeTimeout bounds the end of a pool: a connection that hangs is left
	// to the operating system.
	closeTimeout = 2 * time.Second
)

// connectDelays are the waits between tries to reach the database. Three tries
// have two waits; the 400 ms of the series would come before a fourth (C-23).
var connectDelays = []time.Duration{100 * time.Millisecond, 200 * time.Millisecond}

// database is a pool and the discipline of its transactions.
type database struct {
	pool  *pgxpool.Pool
	locks keyed.Locks
	close sync.Once
}

func connect(ctx context.Context, url string) (*database, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err) // pgx redacts the password
	}
	if !strings.Contains(url, "pool_max_conns") { // a setting of the pool's own
		config.MaxConns = maxConns
	}
	config.ConnConfig.ConnectTimeout = connectTimeout
	if config.ConnConfig.RuntimeParams["application_name"] == "" {
		config.ConnConfig.RuntimeParams["application_name"] = "mainstay-refserver"
	}
	config.AfterConnect = prepare
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	return &database{pool: pool}, nil
}

// prepare sets what holds for a connection: by statements, because a pooler in
// front of the server refuses start-up parameters it does not know.
//
// A small table is read faster as a whole, but to the serializable checks that
// is a read of every row: sequences would conflict that have nothing to do with
// each other (50 sequences, 50 callers, statistics up to date: 73 of 1,000
// allocations failed, 0 with it off). Without a way around, such a plan looks
// costly enough to be compiled, which takes longer than to run it.
func prepare(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SET enable_seqscan = off; SET jit = off`)
	return err
}

// end closes the pool. [pgxpool.Pool.Close] waits for every connection that is
// still in use.
func (db *database) end() {
	db.close.Do(func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			db.pool.Close()
		}()
		timer := time.NewTimer(closeTimeout)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
		}
	})
}

// serializable runs fn in a SERIALIZABLE transaction and commits unless fn
// fails. key names the in-process lock taken first: without it 50 callers of
// one row exhaust any small number of retries (decisions 7).
func (db *database) serializable(ctx context.Context, key string, fn func(tx *transaction) error) error {
	unlock, err := db.locks.Lock(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	return db.retry(ctx, func() error { return db.once(ctx, "begin isolation level serializable", fn) })
}

// plain runs fn in a READ COMMITTED transaction, for what a row lock or one
// statement decides.
func (db *database) plain(ctx context.Context, fn func(tx *transaction) error) error {
	return db.retry(ctx, func() error { return db.once(ctx, "begin isolation level read committed", fn) })
}

// single runs fn, one statement that reads or may be run twice, on a connection
// without a transaction.
func (db *database) single(ctx context.Context, fn func(conn *pgxpool.Conn) error) error {
	return db.retry(ctx, func() error {
		conn, err := db.pool.Acquire(ctx)
		if err != nil {
			return lost(ctx, err, true)
		}
		defer conn.Release()
		err = fn(conn)
		return lost(ctx, err, conn.Conn().IsClosed())
	})
}

// lostError is a connection that failed before the commit was sent: the
// transaction has left nothing, and may be repeated.
type lostError struct{ error }

func (e lostError) Unwrap() error { return e.error }

// lost returns err as a [lostError] when the connection is gone; when the
// caller has given up that is the error instead.
func lost(ctx context.Context, err error, closed bool) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case closed || terminated(err):
		return lostError{err}
	}
	return err
}

// retry repeats once for as long as repeating is safe and may help.
func (db *database) retry(ctx context.Context, once func() error) error {
	conflicts, losses := 0, 0
	for {
		err := once()
		var lost lostError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &lost):
			if losses == len(connectDelays) {
				return fmt.Errorf("%w: %w", store.ErrUnavailable, lost.error)
			}
			// What killed one connection has mostly killed the others.
			db.pool.Reset()
			if err := sleep(ctx, connectDelays[losses]); err != nil {
				return fmt.Errorf("%w: %w", store.ErrUnavailable, lost.error)
			}
			losses++
		case conflict(err):
			if conflicts == conflictRetries {
				return fmt.Errorf("%w: %w", store.ErrBusy, err)
			}
			base := conflictDelay << conflicts
			if err := sleep(ctx, base/2+rand.N(base)); err != nil {
				return err
			}
			conflicts++
		default:
			return err
		}
	}
}

// conflict reports whether another transaction won: serialization failure,
// deadlock, or the same key inserted at the same time.
func conflict(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case "40001", "40P01":
		return true
	case "23505":
		return e.TableName == "tasks" // queued by another process since it was checked
	}
	return false
}

// terminated reports whether the server said that it ends the connection or
// takes none: an administrator's command, a crash, a start or a stop.
func terminated(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case "57P01", "57P02", "57P03", "57P05":
		return true
	}
	return e.Code[:2] == "08"
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
