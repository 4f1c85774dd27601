// Package backend opens the store a configuration asks for. It stands beside
// the back ends because package store, which they import, cannot.
package backend

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
	"github.com/mainstay-mcp/mainstay/conformance/families/store/postgres"
	"github.com/mainstay-mcp/mainstay/conformance/families/store/sqlite"
)

// File is the name of the SQLite file in the data folder.
const File = "mainstay.db"

// Options say which store is meant.
type Options struct {
	// URL is DATABASE_URL: postgres://… or postgresql://…. Empty is the SQLite
	// file in Dir.
	URL string
	// Dir is the data folder, which is made when it is not there.
	Dir string
	// Durable makes SQLite wait for the disk at every commit; PostgreSQL does
	// so by its own configuration.
	Durable bool
}

// Open opens the store and brings its schema up to date. The caller closes it.
func Open(ctx context.Context, o Options) (store.Store, error) {
	switch {
	case strings.HasPrefix(o.URL, "postgres://"), strings.HasPrefix(o.URL, "postgresql://"):
		return postgres.Open(ctx, o.URL)
	case o.URL != "":
		// Not repeated: it may hold a password.
		return nil, errors.New("the database URL begins neither with postgres:// nor with postgresql://")
	case o.Dir == "":
		return nil, errors.New("neither a database URL nor a data folder is given")
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, filepath.Join(o.Dir, File), sqlite.Options{Durable: o.Durable})
}
