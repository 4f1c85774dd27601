package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/store"
)

// sequenceLock is the in-process lock of a sequence; a project may hold any
// printable character, a type none that is not a letter.
func sequenceLock(project, artifactType string) string { return "ids/" + artifactType + "/" + project }

// NextID takes the next number of a sequence.
func (s *Store) NextID(ctx context.Context, project, artifactType string, now time.Time) (store.Allocation, error) {
	var a store.Allocation
	err := s.db.serializable(ctx, sequenceLock(project, artifactType), func(tx pgx.Tx) error {
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
	err := s.db.serializable(ctx, sequenceLock(r.Project, r.Type), func(tx pgx.Tx) error {
		res = store.Reservation{}
		found, err := replay(ctx, tx, store.ScopeIDsReserve, r.Key, &res)
		if found || err != nil {
			return err
		}
		last, err := advance(ctx, tx, r.Project, r.Type, r.Count, r.Now)
		if err != nil {
			return err
		}
		res = r.Reserved(last)
		_, err = tx.Exec(ctx, `INSERT INTO id_reservations (reservation_id, artifact_type, project_id, reserved_ids, expires_at, confirmed, created_at)
			VALUES ($1, $2, $3, $4, $5, FALSE, $6)`, res.ID, res.Type, res.Project, res.IDs, res.ExpiresAt, store.Instant(r.Now))
		if err != nil {
			return err
		}
		return remember(ctx, tx, store.ScopeIDsReserve, r.Key, res, r.Now)
	})
	if err != nil {
		return store.Reservation{}, err
	}
	return res, nil
}

// advance moves a sequence on by count and returns its new last number.
func advance(ctx context.Context, tx pgx.Tx, project, artifactType string, count int, now time.Time) (int64, error) {
	var last int64
	err := tx.QueryRow(ctx, `SELECT last_assigned_id FROM id_registry WHERE project_id = $1 AND artifact_type = $2 FOR UPDATE`, project, artifactType).Scan(&last)
	if errors.Is(err, pgx.ErrNoRows) {
		_, err = tx.Exec(ctx, `INSERT INTO id_registry (project_id, artifact_type, last_assigned_id, created_at, updated_at) VALUES ($1, $2, 0, $3, $3)`,
			project, artifactType, store.Instant(now))
	}
	if err != nil {
		return 0, err
	}
	last, err = store.Advance(last, count)
	if err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, `UPDATE id_registry SET last_assigned_id = $1, updated_at = $2 WHERE project_id = $3 AND artifact_type = $4`,
		last, store.Instant(now), project, artifactType)
	return last, err
}

// ConfirmReservation keeps a reservation for good.
func (s *Store) ConfirmReservation(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.db.plain(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `UPDATE id_reservations SET confirmed = TRUE WHERE reservation_id = $1 AND (confirmed OR expires_at > $2)`,
			id, store.Instant(now))
		if err == nil && tag.RowsAffected() == 0 {
			return store.ErrNotFound
		}
		return err
	})
}

// DeleteExpired deletes reservations that expired before now, unconfirmed.
func (s *Store) DeleteExpired(ctx context.Context, now time.Time) (int, error) {
	return s.deleted(ctx, `DELETE FROM id_reservations WHERE confirmed = FALSE AND expires_at < $1`, store.Instant(now))
}
