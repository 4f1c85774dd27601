package ledger

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/plan"
)

// load returns the head of the stored plan and the rows that a view of an epoch
// and a revision does not know, as they are at one moment.
func load(
	ctx context.Context, db interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}, epoch, revision int64,
) (head plan.Head, out []plan.Row, err error) {
	rows, err := db.QueryContext(ctx, `SELECT p.epoch, p.revision, p.next_task, p.next_verify, p.next_order, t.plan, t.id, t.gone, t.body
		FROM plan p LEFT JOIN tasks t ON t.revision > CASE WHEN p.epoch = ? THEN ? ELSE -1 END`, epoch, revision)
	if err != nil {
		return head, nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var of, id, body sql.NullString
		var gone sql.NullBool
		err := rows.Scan(&head.Epoch, &head.Revision, &head.NextTask, &head.NextVerify, &head.NextOrder, &of, &id, &gone, &body)
		if err != nil {
			return head, nil, err
		}
		if id.Valid {
			out = append(out, plan.Row{Plan: of.String, ID: id.String, Gone: gone.Bool, Body: []byte(body.String)})
		}
	}
	return head, out, rows.Err()
}

// Load implements [Tx].
func (tx fileTx) Load(ctx context.Context, epoch, revision int64) (plan.Head, []plan.Row, error) {
	return load(ctx, tx, epoch, revision)
}

// Save implements [Tx].
func (tx fileTx) Save(ctx context.Context, c plan.Changes) (epoch, revision int64, err error) {
	epoch, revision = c.Head.Epoch, c.Head.Revision+1
	if epoch == 0 || len(c.Reset) > 0 {
		epoch = rand.Int64N(1<<62) + 1 //nolint:gosec // it need not be a secret, only another one
	}
	for _, of := range c.Reset {
		if _, err := tx.ExecContext(ctx, `DELETE FROM tasks WHERE plan = ?`, of); err != nil {
			return 0, 0, err
		}
	}
	for _, r := range c.Rows {
		_, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO tasks (plan, id, revision, gone, body) VALUES (?, ?, ?, ?, ?)`,
			r.Plan, r.ID, revision, r.Gone, string(r.Body))
		if err != nil {
			return 0, 0, err
		}
	}
	_, err = tx.ExecContext(ctx, `INSERT OR REPLACE INTO plan (one, epoch, revision, next_task, next_verify, next_order) VALUES (1, ?, ?, ?, ?, ?)`,
		epoch, revision, c.Head.NextTask, c.Head.NextVerify, c.Head.NextOrder)
	return epoch, revision, err
}

// Load implements [Tx]: what is in memory is in the view already.
func (tx *memoryTx) Load(context.Context, int64, int64) (plan.Head, []plan.Row, error) {
	return plan.Head{}, nil, nil
}

// Save implements [Tx].
func (tx *memoryTx) Save(context.Context, plan.Changes) (epoch, revision int64, err error) {
	return 0, 0, nil
}

func (m *memory) load(context.Context, int64, int64) (plan.Head, []plan.Row, error) {
	return plan.Head{}, nil, nil
}

func (m *memory) shared() bool { return false }
