package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// NextID takes the next number of a sequence.
func (s *Store) NextID(ctx context.Context, project, artifactType string, now time.Time) (store.Allocation, error) {
	var a store.Allocation
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		last, err := advance(ctx, tx, project, artifactType, 1, now)
		a = store.Allocated(artifactType, last)
		return err
	})
	if err != nil {
		return store.Allocation{}, err
	}
	return a, nil
}

// ReserveIDs takes a contiguous range of a sequence.
func (s *Store) ReserveIDs(ctx context.Context, r store.ReserveRequest) (store.Reservation, error) {
	var res store.Reservation
	err := s.db.Write(ctx, func(tx *sql.Tx) error {
		found, err := replay(ctx, tx, store.ScopeIDsReserve, r.Key, &res)
		if found || err != nil {
			return err
		}
		last, err := advance(ctx, tx, r.Project, r.Type, r.Count, r.Now)
		if err != nil {
			return err
		}
		res = r.Reserved(last)
		if err := insertReservation(ctx, tx, res, r.Now); err != nil {
			return err
		}
		return remember(ctx, tx, store.ScopeIDsReserve, r.Key, res, r.Now)
	})
	if err != nil {
		return store.Reservation{}, err
	}
	return res, nil
}

// advance moves a sequence on by count and returns its new last number. The
// transaction began as a writer: nobody is between the SELECT and the UPDATE.
func advance(ctx context.Context, tx *sql.Tx, project, artifactType string, count int, now time.Time) (int64, error) {
	var last int64
	err := tx.QueryRowContext(ctx, `SELECT last_assigned_id FROM id_registry WHERE project_id = ? AND artifact_type = ?`, project, artifactType).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		_, err = tx.ExecContext(ctx, `INSERT INTO id_registry (project_id, artifact_type, last_assigned_id, created_at, updated_at) VALUES (?, ?, 0, ?, ?)`,
			project, artifactType, formatInstant(now), formatInstant(now))
	}
	if err != nil {
		return 0, err
	}
	last, err = store.Advance(last, count)
	if err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, `UPDATE id_registry SET last_assigned_id = ?, updated_at = ? WHERE project_id = ? AND artifact_type = ?`,
		last, formatInstant(now), project, artifactType)
	return last, err
}

func insertReservation(ctx context.Context, tx *sql.Tx, res store.Reservation, now time.Time) error {
	ids, err := json.Marshal(res.IDs)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO id_reservations (reservation_id, artifact_type, project_id, reserved_ids, expires_at, confirmed, created_at)
		VALUES (?, ?, ?, ?, ?, FALSE, ?)`,
		res.ID.String(), res.Type, res.Project, string(ids), formatInstant(res.ExpiresAt), formatInstant(now))
	return err
}

// ConfirmReservation keeps a reservation for good.
func (s *Store) ConfirmReservation(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.db.Write(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, `UPDATE id_reservations SET confirmed = TRUE WHERE reservation_id = ? AND (confirmed OR expires_at > ?)`,
			id.String(), formatInstant(now))
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		if err == nil && n == 0 {
			return store.ErrNotFound
		}
		return err
	})
}

// DeleteExpired deletes reservations that expired before now, unconfirmed.
func (s *Store) DeleteExpired(ctx context.Context, now time.Time) (int, error) {
	return s.deleted(ctx, `DELETE FROM id_reservations WHERE confirmed = FALSE AND expires_at < ?`, formatInstant(now))
}
