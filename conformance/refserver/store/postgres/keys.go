package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/store"
)

// replay looks a key up and decodes the answer given under it into answer.
func replay(ctx context.Context, tx pgx.Tx, scope string, key store.Key, answer any) (found bool, err error) {
	if key.Value == "" {
		return false, nil
	}
	var fingerprint, text string
	err = tx.QueryRow(ctx, `SELECT fingerprint, answer::text FROM idempotency_keys WHERE scope = $1 AND key = $2`, scope, key.Value).
		Scan(&fingerprint, &text)
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

// remember keeps an answer under its key. Two processes with the same key at
// once conflict here, and the second finds the answer of the first.
func remember(ctx context.Context, tx pgx.Tx, scope string, key store.Key, answer any, now time.Time) error {
	if key.Value == "" {
		return nil
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO idempotency_keys (scope, key, fingerprint, answer, created_at) VALUES ($1, $2, $3, $4::json, $5)`,
		scope, key.Value, key.Fingerprint, string(text), store.Instant(now))
	return err
}

// DeleteKeys forgets the answers given before an instant.
func (s *Store) DeleteKeys(ctx context.Context, before time.Time) (int, error) {
	return s.deleted(ctx, `DELETE FROM idempotency_keys WHERE created_at < $1`, store.Instant(before))
}

// deleted runs a DELETE and returns how many rows it took.
func (s *Store) deleted(ctx context.Context, query string, args ...any) (int, error) {
	var n int64
	err := s.db.plain(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, query, args...)
		n = tag.RowsAffected()
		return err
	})
	return int(n), err
}
