package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// A transaction keeps statements back until somebody wants an answer: BEGIN
// goes with the first question, what is written with COMMIT. That makes two
// messages of most transactions. While one runs, those wait that want the same
// sequence, and on a busy machine a message costs more than what it asks for.
type transaction struct {
	conn *pgxpool.Conn
	kept pgx.Batch
}

// queue keeps a statement for [transaction.send]. What becomes of it can be
// asked of the result, as of a [pgx.Batch].
func (tx *transaction) queue(query string, args ...any) *pgx.QueuedQuery {
	return tx.kept.Queue(query, args...)
}

// send sends what is kept, and waits for the answers.
func (tx *transaction) send(ctx context.Context) error {
	batch := tx.kept
	tx.kept = pgx.Batch{}
	return tx.conn.SendBatch(ctx, &batch).Close()
}

// rollback ends the transaction on the server. The caller's context may be
// over; this gets its own moment. Should it fail, the pool drops the
// connection, and so does the server.
func (tx *transaction) rollback(ctx context.Context) {
	if tx.conn.Conn().PgConn().TxStatus() == 'I' {
		return // it never began, or has ended
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
	defer cancel()
	_, _ = tx.conn.Exec(end, "rollback")
}

// once runs fn in a transaction that begin begins, and commits unless fn fails.
func (db *database) once(ctx context.Context, begin string, fn func(tx *transaction) error) error {
	conn, err := db.pool.Acquire(ctx)
	if err != nil {
		return lost(ctx, err, true)
	}
	defer conn.Release()
	tx := &transaction{conn: conn}
	tx.queue(begin)
	if err := fn(tx); err != nil {
		closed := conn.Conn().IsClosed()
		tx.rollback(ctx)
		return lost(ctx, err, closed)
	}
	tx.queue("commit")
	if err = tx.send(ctx); err == nil {
		return nil
	}
	closed := conn.Conn().IsClosed()
	tx.rollback(ctx)
	var unsent pgx.ErrPreprocessingBatch
	if errors.As(err, &unsent) {
		return lost(ctx, err, closed)
	}
	var said *pgconn.PgError
	if errors.As(err, &said) && !terminated(err) {
		return err // the server refused: it is rolled back
	}
	return fmt.Errorf("%w: the outcome of the commit is unknown: %w", store.ErrUnavailable, err)
}
