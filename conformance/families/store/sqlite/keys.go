package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// replay looks a key up and decodes the answer given under it into answer.
func replay(ctx context.Context, tx *sql.Tx, scope string, key store.Key, answer any) (found bool, err error) {
	if key.Value == "" {
		return false, nil
	}
	var fingerprint, text string
	err = tx.QueryRowContext(ctx, `SELECT fingerprint, answer FROM idempotency_keys WHERE scope = ? AND key = ?`, scope, key.Value).
		Scan(&fingerprint, &text)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	case fingerprint != key.Fingerprint:
		return false, store.ErrKeyReused
	}
	return true, json.Unmarshal([]byte(text), answer)
}

// remember keeps an answer under its key.
func remember(ctx context.Context, tx *sql.Tx, scope string, key store.Key, answer any, now time.Time) error {
	if key.Value == "" {
		return nil
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO idempotency_keys (scope, key, fingerprint, answer, created_at) VALUES (?, ?, ?, ?, ?)`,
		scope, key.Value, key.Fingerprint, string(text), formatInstant(now))
	return err
}

// DeleteKeys forgets the answers given before an instant.
func (s *Store) DeleteKeys(ctx context.Context, before time.Time) (int, error) {
	return s.deleted(ctx, `DELETE FROM idempotency_keys WHERE created_at < ?`, formatInstant(before))
}

// deleted runs a DELETE and returns how many rows it took.
func (s *Store) deleted(ctx context.Context, query string, args ...any) (int, error) {
	var n int64
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, query, args...)
		if err != nil {
			return err
		}
		n, err = res.RowsAffected()
		return err
	})
	return int(n), err
}
