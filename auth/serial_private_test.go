package auth

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The outcome of a login when the calls that wait for it leave in some order.
func TestWhoEndsALogin(t *testing.T) {
	t.Parallel()
	const patience = 5 * time.Minute
	for _, row := range []struct {
		name  string
		leave []error // why each of two calls leaves, nil for one that stays
		ended error   // why the login ended; nil if it was completed
	}{
		{"both stay", []error{nil, nil}, nil},
		{"the first is cancelled", []error{context.Canceled, nil}, nil},
		{"the second is cancelled", []error{nil, context.Canceled}, nil},
		{"both are cancelled", []error{context.Canceled, context.Canceled}, context.Canceled},
		{"the deadline of both passes", []error{context.DeadlineExceeded, context.DeadlineExceeded}, nil},
		{"one is cancelled, the deadline of the other passes", []error{context.Canceled, context.DeadlineExceeded}, nil},
		{"the deadline of one passes, the other is cancelled", []error{context.DeadlineExceeded, context.Canceled}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &server{serial: newSerial(patience)}
				logins, ended := 0, error(nil)
				login := func(ctx context.Context) (int, error) {
					if logins++; logins > 1 {
						return logins, nil
					}
					select {
					case <-time.After(patience):
					case <-ctx.Done():
						ended = context.Cause(ctx)
					}
					return logins, ended
				}
				done := make(chan error, len(row.leave))
				var stops []context.CancelCauseFunc
				for range row.leave {
					ctx, stop := context.WithCancelCause(t.Context())
					stops = append(stops, stop)
					go func() {
						_, err := inSeries(ctx, s, login)
						done <- err
					}()
					synctest.Wait()
				}
				for i, why := range row.leave {
					if why != nil {
						stops[i](why)
						synctest.Wait()
						require.ErrorIs(t, <-done, context.Canceled)
					}
				}
				for _, why := range row.leave {
					if why == nil {
						require.NoError(t, <-done)
					}
				}
				time.Sleep(patience)
				synctest.Wait()
				require.ErrorIs(t, ended, row.ended)
				require.Zero(t, s.serial.waiting)
				for _, stop := range stops {
					stop(nil)
				}
			})
		})
	}
}

// A function of the application that does not return keeps the turn for a limited time.
func TestTurnIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{serial: newSerial(time.Minute)}
		began := time.Now()
		_, err := inSeries(t.Context(), s, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, context.Cause(ctx)
		})
		require.ErrorIs(t, err, errTurn)
		require.Equal(t, time.Minute+settling, time.Since(began))
	})
}
