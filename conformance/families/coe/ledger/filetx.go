package ledger

import (
	"context"
	"database/sql"
	"fmt"
)

// fileTx is a transaction of a file.
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

// AddRecord implements [Tx].
func (tx fileTx) AddRecord(ctx context.Context, r Record) (Record, error) {
	if err := r.check(); err != nil {
		return r, err
	}
	var rows, number int
	err := tx.QueryRowContext(ctx, `SELECT (SELECT COALESCE(MAX(row), 0) FROM records), COALESCE(MAX(number), 0) + 1 FROM records WHERE kind = ?`,
		r.Kind).Scan(&rows, &number)
	if err != nil {
		return r, err
	}
	if rows >= MaxRecords {
		return r, fmt.Errorf("%w: it has %d records; start the server on another data folder", ErrFull, rows)
	}
	r.ID = r.Kind.id(number)
	_, err = tx.ExecContext(ctx, `INSERT INTO records (number, `+recordColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		number, r.Kind, r.ID, r.Version, r.Tool, r.TaskID, r.Agent, r.Rank, string(r.Body), r.Created.UnixMilli())
	return r, err
}

// Clear implements [Tx].
func (tx fileTx) Clear(ctx context.Context) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM tickets; DELETE FROM records; DELETE FROM tasks; DELETE FROM plan`)
	return err
}
