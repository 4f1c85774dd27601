package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// format is the version of the file's tables, its user_version. Releases before
// versions wrote 0; such a file gets what it lacks and loses nothing.
const format = 2

// ErrFormat is a file that another release or another program has written.
var ErrFormat = errors.New("the file is no ledger of this release")

// schema has no column for the text of a ticket's id: it follows from the number.
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

// schema1 is what format 1 adds.
const schema1 = `
ALTER TABLE records ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE records ADD COLUMN tool TEXT NOT NULL DEFAULT '';
CREATE INDEX records_by_id ON records (id);
CREATE INDEX records_by_task ON records (task_id);
CREATE INDEX tickets_of_task ON tickets (task_id);
`

// schema2 is what format 2 adds: the states of tasks, by the plan they are from.
const schema2 = `
CREATE TABLE plan (
	one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL, revision INTEGER NOT NULL,
	next_task INTEGER NOT NULL, next_verify INTEGER NOT NULL, next_order INTEGER NOT NULL
);
CREATE TABLE tasks (
	plan TEXT NOT NULL, id TEXT NOT NULL, revision INTEGER NOT NULL, gone INTEGER NOT NULL, body TEXT NOT NULL,
	PRIMARY KEY (plan, id)
) WITHOUT ROWID;
CREATE INDEX tasks_by_revision ON tasks (revision);
`

// steps lead from each format to the next.
var steps = [format]string{schema + schema1, schema2}

// prepare gives a file the tables of this release.
func prepare(ctx context.Context, db *sql.DB) error {
	version := func(q interface {
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	},
	) (v int, err error) {
		err = q.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&v)
		return v, err
	}
	v, err := version(db)
	switch {
	case err != nil || v == format:
		return err
	case v > format:
		return fmt.Errorf("%w: its format is %d, the newest known is %d; use the release that wrote it, or another data folder",
			ErrFormat, v, format)
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	v, err = version(tx) // another process may have been first
	if err == nil && v < format {
		_, err = tx.ExecContext(ctx, strings.Join(steps[v:], "")+fmt.Sprintf("PRAGMA user_version = %d", format))
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}
