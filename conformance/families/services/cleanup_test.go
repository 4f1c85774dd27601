package services

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// recorder is a store that records what the cleanup asks of it. Its second
// round fails.
type recorder struct {
	expired, keys []time.Time
}

func (r *recorder) DeleteExpired(_ context.Context, now time.Time) (int, error) {
	r.expired = append(r.expired, now)
	if len(r.expired) == 2 {
		return 0, errors.New("no disk")
	}
	return 1, nil
}

func (r *recorder) DeleteKeys(_ context.Context, before time.Time) (int, error) {
	r.keys = append(r.keys, before)
	return 0, nil
}

// TestCleanup lets sixteen minutes pass, which is three rounds; that one fails
// does not keep the next from running.
func TestCleanup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var logs bytes.Buffer
		st := &recorder{}
		c := cleaner{store: st, every: defaultCleanup, now: time.Now, log: slog.New(slog.NewTextHandler(&logs, nil))}
		life, end := context.WithCancel(t.Context())
		done := make(chan struct{})
		begin := time.Now()
		go func() {
			defer close(done)
			c.run(life)
		}()
		time.Sleep(16 * time.Minute)
		end()
		<-done
		require.Equal(t, []time.Time{begin.Add(5 * time.Minute), begin.Add(10 * time.Minute), begin.Add(15 * time.Minute)}, st.expired)
		day := 24 * time.Hour
		require.Equal(t, []time.Time{begin.Add(5*time.Minute - day), begin.Add(15*time.Minute - day)}, st.keys)
		require.Equal(t, 1, bytes.Count(logs.Bytes(), []byte("cleanup_failed")))
		require.Equal(t, 2, bytes.Count(logs.Bytes(), []byte("reservations_expired")))
	})
}
