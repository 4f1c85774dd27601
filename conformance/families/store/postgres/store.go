// Package postgres keeps the reference server's data in PostgreSQL, which is
// what S0 names (tools.md §9.3).
package postgres

import (
	"context"
	"embed"
	"io/fs"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
	"github.com/mainstay-mcp/mainstay/conformance/families/store/migration"
)

//go:embed migrations/*.sql
var embedded embed.FS

// Migrations returns the steps of the schema.
func Migrations() ([]migration.Migration, error) {
	folder, err := fs.Sub(embedded, "migrations")
	if err != nil {
		return nil, err
	}
	return migration.Load(folder)
}

// Store is a [store.Store] in a PostgreSQL database. The tables stand in the
// first schema of the connection's search path.
type Store struct{ db *database }

var _ store.Store = (*Store)(nil)

// Open connects to the database at url and brings its schema up to date.
func Open(ctx context.Context, url string) (*Store, error) {
	steps, err := Migrations()
	if err != nil {
		return nil, err
	}
	db, err := connect(ctx, url)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db}
	if err := s.Migrate(ctx, steps, len(steps)); err != nil {
		db.end()
		return nil, err
	}
	return s, nil
}

// Migrate brings the schema to a version of steps, up or down. All of it is
// one transaction under an advisory lock, so that two processes which start at
// once do it one after the other, and the second finds nothing to do.
func (s *Store) Migrate(ctx context.Context, steps []migration.Migration, to int) error {
	return s.db.plain(ctx, func(tx *transaction) error {
		if err := tx.send(ctx); err != nil { // a step may be many statements, which only a connection takes
			return err
		}
		_, err := tx.conn.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended('mainstay.schema_migrations.' || current_schema(), 0))`)
		if err != nil {
			return err
		}
		_, err = tx.conn.Exec(ctx, `CREATE TABLE IF NOT EXISTS schema_migrations (
			version    INTEGER PRIMARY KEY,
			name       TEXT NOT NULL,
			applied_at TIMESTAMPTZ NOT NULL DEFAULT now())`)
		if err != nil {
			return err
		}
		var from int
		if err := tx.conn.QueryRow(ctx, `SELECT coalesce(max(version), 0) FROM schema_migrations`).Scan(&from); err != nil {
			return err
		}
		plan, err := migration.Plan(steps, from, to)
		if err != nil {
			return err
		}
		for _, step := range plan {
			if _, err := tx.conn.Exec(ctx, step.SQL); err != nil {
				return step.Failed(err)
			}
			record, args := `INSERT INTO schema_migrations (version, name) VALUES ($1, $2)`, []any{step.Version, step.Name}
			if !step.Up {
				record, args = `DELETE FROM schema_migrations WHERE version > $1`, []any{step.Version}
			}
			if _, err := tx.conn.Exec(ctx, record, args...); err != nil {
				return step.Failed(err)
			}
		}
		return nil
	})
}

// Ping asks the server for an answer.
func (s *Store) Ping(ctx context.Context) error { return s.db.pool.Ping(ctx) }

// Close closes the connections.
func (s *Store) Close() error {
	s.db.end()
	return nil
}

// optional is NULL for the zero time.
func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
