package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"
)

// An IDStore is the registry of the ID Management service (tools.md §2.10).
// Every (project, type) has a sequence of its own that only grows: no number is
// handed out twice, also not that of a reservation that expired (C-14).
type IDStore interface {
	// NextID takes the next number of a sequence.
	NextID(ctx context.Context, project, artifactType string, now time.Time) (Allocation, error)
	// ReserveIDs takes a contiguous range of a sequence.
	ReserveIDs(ctx context.Context, r ReserveRequest) (Reservation, error)
	// ConfirmReservation keeps a reservation for good. One that is unknown, or
	// at or past its expiry, is [ErrNotFound]; one that is confirmed already
	// stays so.
	ConfirmReservation(ctx context.Context, id uuid.UUID, now time.Time) error
	// DeleteExpired deletes the reservations that expired before now and were
	// not confirmed, and returns how many there were.
	DeleteExpired(ctx context.Context, now time.Time) (int, error)
}

// Prefixes are the artifact types of the registry, in the order in which they
// are listed to callers.
func Prefixes() []string {
	return []string{"US", "SPEC", "TASK", "EPIC", "PRD", "HLS", "VIS", "INIT", "SPIKE", "ADR"}
}

// An Allocation is a number taken from a sequence.
type Allocation struct {
	ID string
	// Last is the id before it, or "" for the first of a sequence.
	Last string
}

// A ReserveRequest asks for a range of ids.
type ReserveRequest struct {
	// ID identifies the reservation that is made.
	ID      uuid.UUID
	Project string
	// Type is the prefix of the ids.
	Type      string
	Count     int
	Now       time.Time
	ExpiresAt time.Time
	Key       Key
}

// A Reservation is a range of ids that is held until it is confirmed or expires.
type Reservation struct {
	ID        uuid.UUID `json:"reservation_id"`
	Project   string    `json:"project_id"`
	Type      string    `json:"artifact_type"`
	IDs       []string  `json:"reserved_ids"`
	ExpiresAt time.Time `json:"expires_at"`
}

// FormatID returns an id: the prefix and the number, padded to three digits
// (C-24).
func FormatID(prefix string, number int64) string { return fmt.Sprintf("%s-%03d", prefix, number) }

// Advance returns the state of a sequence after count more numbers, or
// [ErrExhausted].
func Advance(last int64, count int) (int64, error) {
	if last > math.MaxInt32-int64(count) {
		return 0, ErrExhausted
	}
	return last + int64(count), nil
}

// Allocated returns the allocation of the number next.
func Allocated(artifactType string, next int64) Allocation {
	a := Allocation{ID: FormatID(artifactType, next)}
	if next > 1 {
		a.Last = FormatID(artifactType, next-1)
	}
	return a
}

// Reserved returns the reservation r asks for, of the numbers that end at last.
func (r ReserveRequest) Reserved(last int64) Reservation {
	ids := make([]string, r.Count)
	for i := range ids {
		ids[i] = FormatID(r.Type, last-int64(r.Count)+int64(i)+1)
	}
	return Reservation{ID: r.ID, Project: r.Project, Type: r.Type, IDs: ids, ExpiresAt: Instant(r.ExpiresAt)}
}
