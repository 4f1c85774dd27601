// Package sqlite keeps the reference server's data in an SQLite file, with no
// cgo and nothing to install. Several processes may use one file.
package sqlite

import (
	"context"
	"embed"
	"fmt"
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

// Store is a [store.Store] in an SQLite file.
type Store struct{ db *DB }

var _ store.Store = (*Store)(nil)

// Open opens the store in the file at path and brings its schema up to date.
// The folder must exist.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	steps, err := Migrations()
	if err != nil {
		return nil, err
	}
	db, err := OpenDB(ctx, path, o)
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx, steps, len(steps)); err != nil {
		_ = db.Close() // the migration's error says more
		return nil, err
	}
	return &Store{db: db}, nil
}

// DB returns the database of s, for its schema and for tests.
func (s *Store) DB() *DB { return s.db }

// Ping reads from the file.
func (s *Store) Ping(ctx context.Context) error {
	var version int
	return classify(s.db.reader.QueryRowContext(ctx, `SELECT max(version) FROM schema_migrations`).Scan(&version))
}

// Close closes the file.
func (s *Store) Close() error { return s.db.Close() }

// instantForm has a fixed width, so that texts compare as instants do.
const instantForm = "2006-01-02T15:04:05.000000Z"

func formatInstant(t time.Time) string { return store.Instant(t).Format(instantForm) }

// formatOptional is NULL for the zero time.
func formatOptional(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return formatInstant(t)
}

func parseInstant(text string) (time.Time, error) {
	t, err := time.Parse(instantForm, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("instant in the database: %w", err)
	}
	return t, nil
}
