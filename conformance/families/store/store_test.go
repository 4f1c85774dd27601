package store

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFormatID(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{1: "US-001", 71: "US-071", 999: "US-999", 1000: "US-1000"} {
		require.Equal(t, want, FormatID("US", n))
	}
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	n, err := Advance(math.MaxInt32-3, 3)
	require.NoError(t, err)
	require.Equal(t, int64(math.MaxInt32), n)
	_, err = Advance(math.MaxInt32-3, 4)
	require.ErrorIs(t, err, ErrExhausted)
}

// TestApply tries every move, with and without its conditions.
func TestApply(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 10, 20, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name          string
		from          Status
		owner, worker string
		to            Status
		reset         bool
		want          string
	}{
		{name: "take", from: Pending, to: InProgress, want: "changed"},
		{name: "skip", from: Pending, to: Completed, want: "Invalid status transition: pending → completed"},
		{name: "stay pending", from: Pending, to: Pending, want: "same"},
		{name: "finish", from: InProgress, to: Completed, want: "changed"},
		{name: "give back", from: InProgress, to: Pending, want: "Invalid status transition: in_progress → pending"},
		{name: "give back by reset", from: InProgress, to: Pending, reset: true, want: "Invalid status transition: in_progress → pending"},
		{name: "take again", from: InProgress, owner: "w", worker: "w", to: InProgress, want: "same"},
		{name: "take from another", from: InProgress, owner: "w", worker: "v", to: InProgress, want: ErrClaimed.Error()},
		{name: "take from a named one, unnamed", from: InProgress, owner: "w", to: InProgress, want: ErrClaimed.Error()},
		{name: "take again, unnamed", from: InProgress, to: InProgress, want: ErrClaimed.Error()},
		{name: "finish again", from: Completed, to: Completed, want: "same"},
		{name: "open again", from: Completed, to: Pending, want: "Invalid status transition: completed → pending"},
		{name: "reset", from: Completed, to: Pending, reset: true, want: "changed"},
		{name: "resume", from: Completed, to: InProgress, reset: true, want: "Invalid status transition: completed → in_progress"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			before := Task{ID: "TASK-001", Status: tc.from, Worker: tc.owner, CreatedAt: at}
			after, changed, err := before.Apply(Change{Status: tc.to, Worker: tc.worker, Reset: tc.reset, Now: at.Add(time.Hour)})
			got := "same"
			switch {
			case err != nil:
				got = err.Error()
			case changed:
				got = "changed"
			}
			require.Equal(t, tc.want, got)
			if !changed {
				require.Equal(t, before, after)
				return
			}
			require.Equal(t, tc.to, after.Status)
			require.Equal(t, at.Add(time.Hour), after.UpdatedAt)
			require.Equal(t, tc.to == InProgress, !after.StartedAt.IsZero())
			require.Equal(t, tc.to == Completed, !after.CompletedAt.IsZero())
		})
	}
}

func TestStorable(t *testing.T) {
	t.Parallel()
	require.True(t, Storable("✓ \n\t"))
	require.False(t, Storable("a\x00"))
	require.False(t, Storable("\xff"))
	require.Error(t, Artifact{Type: ArtifactType(strings.Repeat("x", 31))}.Check())
}
