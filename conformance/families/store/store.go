package store

import (
	"context"
	"time"
)

// A Store is one database with everything in it. It is safe for concurrent use,
// also by several processes on the same database.
type Store interface {
	TaskStore
	IDStore
	ArtifactStore
	KeyStore

	// Ping asks the database whether it answers.
	Ping(ctx context.Context) error
	// Close ends the use of the database. Calls that still run fail.
	Close() error
}

// A KeyStore keeps the answers given under idempotency keys. They are written
// by [TaskStore.AddTasks] and [IDStore.ReserveIDs] in the transaction of the
// rows they stand for, so that an answer exists exactly if its rows do.
type KeyStore interface {
	// DeleteKeys forgets the answers given before an instant and returns how
	// many there were.
	DeleteKeys(ctx context.Context, before time.Time) (int, error)
}

// A Key makes a call repeatable: the same key with the same fingerprint gives
// the answer of the first call and writes nothing. The zero Key is no key.
type Key struct {
	Value string
	// Fingerprint identifies what was asked. A key that comes back with another
	// one is refused with [ErrKeyReused].
	Fingerprint string
}

// The scopes of keys: the same value may be used once in each.
const (
	ScopeTaskBatch  = "tasks/batch"
	ScopeIDsReserve = "ids/reserve"
)

// Instant returns t as the back ends keep it.
func Instant(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
