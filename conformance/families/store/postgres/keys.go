package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// answered runs fn in a serializable transaction and keeps its answer under the
// key. When the key has an answer already, that is the answer; also when fn
// failed, for the answer may have come from another process meanwhile, or from
// this one by a commit whose outcome was lost.
func answered[T any](ctx context.Context, db *database, lock, scope string, key store.Key, now time.Time, fn func(tx *transaction) (T, error)) (T, error) {
	var none T
	var failed error
	for {
		var answer T
		found, err := db.replay(ctx, scope, key, &answer)
		switch {
		case err != nil:
			return none, err
		case found:
			return answer, nil
		case failed != nil:
			return none, failed
		}
		failed = db.serializable(ctx, lock, func(tx *transaction) (err error) {
			if answer, err = fn(tx); err != nil {
				return err
			}
			return remember(tx, scope, key, answer, now)
		})
		if failed == nil {
			return answer, nil
		}
		if key.Value == "" {
			return none, failed
		}
	}
}

// replay looks a key up and decodes the answer given under it into answer. It
// runs outside the serializable transaction: the lookup of a key that is not
// there reads the whole index page where it would stand, and would conflict
// with every other key that enters it. What makes keys unique is [remember].
func (db *database) replay(ctx context.Context, scope string, key store.Key, answer any) (found bool, err error) {
	if key.Value == "" {
		return false, nil
	}
	var fingerprint, text string
	err = db.single(ctx, func(conn *pgxpool.Conn) error {
		return conn.QueryRow(ctx, `SELECT fingerprint, answer::text FROM idempotency_keys WHERE scope = $1 AND key = $2`, scope, key.Value).
			Scan(&fingerprint, &text)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	case fingerprint != key.Fingerprint:
		return false, store.ErrKeyReused
	}
	return true, json.Unmarshal([]byte(text), answer)
}

// remember keeps an answer under its key. Of two processes with the same key
// at once the second fails for it, and has written nothing.
func remember(tx *transaction, scope string, key store.Key, answer any, now time.Time) error {
	if key.Value == "" {
		return nil
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	tx.queue(`INSERT INTO idempotency_keys (scope, key, fingerprint, answer, created_at) VALUES ($1, $2, $3, $4::json, $5)`,
		scope, key.Value, key.Fingerprint, string(text), store.Instant(now))
	return nil
}

// DeleteKeys forgets the answers given before an instant.
func (s *Store) DeleteKeys(ctx context.Context, before time.Time) (int, error) {
	return s.deleted(ctx, `DELETE FROM idempotency_keys WHERE created_at < $1`, store.Instant(before))
}

// deleted runs a DELETE and returns how many rows it took.
func (s *Store) deleted(ctx context.Context, query string, args ...any) (int, error) {
	var n int64
	err := s.db.plain(ctx, func(tx *transaction) error {
		tx.queue(query, args...).Exec(func(tag pgconn.CommandTag) error {
			n = tag.RowsAffected()
			return nil
		})
		return tx.send(ctx)
	})
	return int(n), err
}
