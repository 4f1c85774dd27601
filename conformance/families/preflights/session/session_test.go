package session

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

var now = time.Date(2025, 1, 8, 12, 0, 0, 0, time.UTC)

func use(t *testing.T, s *Store[int], id string, at time.Time) error {
	t.Helper()
	turn, err := s.Use(t.Context(), id, at)
	if err == nil {
		turn.Done(at)
	}
	return err
}

func TestStore_S3_SESS_01_Boundary(t *testing.T) {
	t.Parallel()
	s := NewStore[int]()
	s.Create("a", 1, now).Done(now)
	require.NoError(t, use(t, s, "a", now.Add(Idle-time.Nanosecond)))
	require.NoError(t, use(t, s, "a", now.Add(2*Idle-2*time.Nanosecond)), "each use starts the time anew")
	require.ErrorIs(t, use(t, s, "a", now.Add(3*Idle)), ErrExpired)
	require.ErrorIs(t, use(t, s, "b", now), ErrNotFound)
	require.Zero(t, s.Len())
}

func TestStore_RemembersTheLatestExpired(t *testing.T) {
	t.Parallel()
	s := NewStore[int]()
	for i := range Remembered + 10 {
		s.Create(fmt.Sprint(i), i, now).Done(now)
	}
	later := now.Add(Idle)
	require.ErrorIs(t, use(t, s, "9", later), ErrNotFound, "forgotten")
	require.ErrorIs(t, use(t, s, "10", later), ErrExpired, "asked for, and so the last to be forgotten")
	s.Create("x", 0, later).Done(later)
	require.ErrorIs(t, use(t, s, "x", later.Add(Idle)), ErrExpired)
	require.ErrorIs(t, use(t, s, "10", later), ErrExpired)
	require.ErrorIs(t, use(t, s, "11", later), ErrNotFound)
}

func TestStore_FullMakesRoom(t *testing.T) {
	t.Parallel()
	s := NewStore[int]()
	for i := range MaxOpen + 1 {
		s.Create(fmt.Sprint(i), i, now).Done(now)
	}
	require.Equal(t, MaxOpen, s.Len())
	require.ErrorIs(t, use(t, s, "0", now), ErrExpired)
	require.NoError(t, use(t, s, "1", now))
}

func TestStore_S3_SESS_01_EndOfACallStartsTheTime(t *testing.T) {
	t.Parallel()
	s := NewStore[int]()
	s.Create("a", 1, now).Done(now.Add(Idle - time.Second))
	later := now.Add(2*Idle - 2*time.Second)
	turn, err := s.Use(t.Context(), "a", later)
	require.NoError(t, err, "a long call is no idle time")
	turn.Done(now)
	require.NoError(t, use(t, s, "a", later.Add(Idle-time.Nanosecond)), "a clock set back shortens nothing")
}

// TestStore_S3_CLAR_11_WhoWaitsLearnsThatItIsOver: both calls are in line
// before the session ends, so that it is the look after the wait that tells
// them, and no second completion writes a second ADR.
func TestStore_S3_CLAR_11_WhoWaitsLearnsThatItIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewStore[int]()
		turn := s.Create("a", 1, now)
		errs := make(chan error, 2)
		for range 2 {
			go func() {
				_, err := s.Use(t.Context(), "a", now)
				errs <- err
			}()
		}
		synctest.Wait()
		require.Empty(t, errs, "they wait")
		turn.End()
		turn.Done(now)
		synctest.Wait()
		require.Len(t, errs, 2)
		require.ErrorIs(t, <-errs, ErrNotFound)
		require.ErrorIs(t, <-errs, ErrNotFound)
	})
}

func TestStore_CallsOfASessionTakeTurns(t *testing.T) {
	t.Parallel()
	s := NewStore[int]()
	turn := s.Create("a", 1, now)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Use(ctx, "a", now)
	require.ErrorIs(t, err, context.Canceled)
	turn.Done(now)
	require.NoError(t, use(t, s, "a", now))
}
