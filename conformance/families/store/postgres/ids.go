package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// sequenceLock is the in-process lock of a sequence; a project may hold any
// printable character, a type none that is not a letter.
func sequenceLock(project, artifactType string) string { return "ids/" + artifactType + "/" + project }

// NextID takes the next number of a sequence.
func (s *Store) NextID(ctx context.Context, project, artifactType string, now time.Time) (store.Allocation, error) {
	return withSequence(ctx, s.db, project, artifactType, now, func() (store.Allocation, error) {
		var a store.Allocation
		err := s.db.serializable(ctx, sequenceLock(project, artifactType), func(tx *transaction) error {
			last, err := advance(ctx, tx, project, artifactType, 1, now)
			if err == nil {
				a = store.Allocated(artifactType, last)
			}
			return err
		})
		return a, err
	})
}

// ReserveIDs takes a contiguous range of a sequence.
func (s *Store) ReserveIDs(ctx context.Context, r store.ReserveRequest) (store.Reservation, error) {
	return withSequence(ctx, s.db, r.Project, r.Type, r.Now, func() (store.Reservation, error) {
		lock := sequenceLock(r.Project, r.Type)
		return answered(ctx, s.db, lock, store.ScopeIDsReserve, r.Key, r.Now, func(tx *transaction) (store.Reservation, error) {
			last, err := advance(ctx, tx, r.Project, r.Type, r.Count, r.Now)
			if err != nil {
				return store.Reservation{}, err
			}
			res := r.Reserved(last)
			queueReservation(tx, res, r.Now)
			return res, nil
		})
	})
}

// errNoSequence says that a sequence has no row yet.
var errNoSequence = errors.New("no such sequence")

// withSequence runs fn, and when the sequence is not there makes it and runs
// fn again. The row is made outside the serializable transaction, where a new
// entry of the index would conflict with every sequence beside it.
func withSequence[T any](ctx context.Context, db *database, project, artifactType string, now time.Time, fn func() (T, error)) (T, error) {
	out, err := fn()
	if !errors.Is(err, errNoSequence) {
		return out, err
	}
	err = db.single(ctx, func(conn *pgxpool.Conn) error {
		_, err := conn.Exec(ctx, `INSERT INTO id_registry (project_id, artifact_type, last_assigned_id, created_at, updated_at) VALUES ($1, $2, 0, $3, $3) ON CONFLICT DO NOTHING`,
			project, artifactType, store.Instant(now))
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return fn()
}

// advance moves a sequence on by count and returns its new last number. The
// column itself ends the sequence.
func advance(ctx context.Context, tx *transaction, project, artifactType string, count int, now time.Time) (int64, error) {
	var last int64
	tx.queue(`UPDATE id_registry SET last_assigned_id = last_assigned_id + $1, updated_at = $2 WHERE project_id = $3 AND artifact_type = $4 RETURNING last_assigned_id`,
		count, store.Instant(now), project, artifactType).QueryRow(func(row pgx.Row) error { return row.Scan(&last) })
	err := tx.send(ctx)
	var said *pgconn.PgError
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, errNoSequence
	case errors.As(err, &said) && said.Code == "22003": // numeric_value_out_of_range
		return 0, store.ErrExhausted
	}
	return last, err
}

func queueReservation(tx *transaction, res store.Reservation, now time.Time) {
	tx.queue(`INSERT INTO id_reservations (reservation_id, artifact_type, project_id, reserved_ids, expires_at, confirmed, created_at)
		VALUES ($1, $2, $3, $4, $5, FALSE, $6)`, res.ID, res.Type, res.Project, res.IDs, res.ExpiresAt, store.Instant(now))
}

// ConfirmReservation keeps a reservation for good.
func (s *Store) ConfirmReservation(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.db.single(ctx, func(conn *pgxpool.Conn) error {
		tag, err := conn.Exec(ctx, `UPDATE id_reservations SET confirmed = TRUE WHERE reservation_id = $1 AND (confirmed OR expires_at > $2)`,
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
