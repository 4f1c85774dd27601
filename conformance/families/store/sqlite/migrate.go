package sqlite

import (
	"context"
	"database/sql"

	"github.com/mainstay-mcp/mainstay/conformance/families/store/migration"
)

// Migrate brings the schema of db to a version of steps, up or down. All of it
// is one transaction that begins as a writer, so that two processes which start
// at once do it one after the other, and the second finds nothing to do.
func (db *DB) Migrate(ctx context.Context, steps []migration.Migration, to int) error {
	return db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS schema_migrations (
			version    INTEGER PRIMARY KEY,
			name       TEXT NOT NULL,
			applied_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f000Z', 'now')))`)
		if err != nil {
			return err
		}
		var from int
		if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(version), 0) FROM schema_migrations`).Scan(&from); err != nil {
			return err
		}
		plan, err := migration.Plan(steps, from, to)
		if err != nil {
			return err
		}
		for _, step := range plan {
			if _, err := tx.ExecContext(ctx, step.SQL); err != nil {
				return step.Failed(err)
			}
			record, args := `INSERT INTO schema_migrations (version, name) VALUES (?, ?)`, []any{step.Version, step.Name}
			if !step.Up {
				record, args = `DELETE FROM schema_migrations WHERE version > ?`, []any{step.Version}
			}
			if _, err := tx.ExecContext(ctx, record, args...); err != nil {
				return step.Failed(err)
			}
		}
		return nil
	})
}
