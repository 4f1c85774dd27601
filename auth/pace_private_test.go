package auth

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
)

// impatient is an application that calls ten times a second, although the error of each call
// has a longer pause.
const impatient = 100 * time.Millisecond

// The first failure is repeated at once. Then there are pauses, and none of them ends
// before Retry-After.
func TestPace(t *testing.T) {
	t.Parallel()
	status := func(code int, after time.Duration) error { return &grant.Error{Status: code, RetryAfter: after} }
	refused := &fetch.Error{Err: errors.New("connection refused"), NotSent: true}
	busyNow := status(http.StatusServiceUnavailable, 0)
	for _, tt := range []struct {
		name   string
		errs   []error         // of the requests in turn; the last one is that of all others
		asked  []time.Duration // when the requests were sent, in 40 s
		failed int             // calls that failed
	}{
		{"nothing", []error{nil}, []time.Duration{0}, 0},
		{"busy once", []error{busyNow, nil}, []time.Duration{0, 0}, 0},
		{"too many requests once", []error{status(429, 0), nil}, []time.Duration{0, 0}, 0},
		{"not sent once", []error{refused, nil}, []time.Duration{0, 0}, 0},
		{"busy for a second, as it says", []error{status(503, time.Second), nil}, []time.Duration{0, time.Second}, 0},
		{"busy for half a minute, as it says", []error{status(503, 30*time.Second), nil}, []time.Duration{0, 30 * time.Second}, 300},
		{"busy twice", []error{busyNow, busyNow, nil}, []time.Duration{0, 0, time.Second}, 10},
		{"busy twice, the second time as it says", []error{busyNow, status(429, 20*time.Second), nil}, []time.Duration{0, 0, 20 * time.Second}, 200},
		{"busy three times", []error{busyNow, refused, busyNow, nil}, []time.Duration{0, 0, time.Second, 3 * time.Second}, 30},
		{"down", []error{refused}, []time.Duration{0, 0, time.Second, 3 * time.Second, 7 * time.Second, 17 * time.Second, 27 * time.Second, 37 * time.Second}, 401},
		{"the answer was lost", []error{&fetch.Error{Err: errors.New("EOF")}, nil}, []time.Duration{0, retryDelay}, 100},
		{"a bug", []error{status(500, 0), nil}, []time.Duration{0, retryDelay}, 100},
		{"busy, and then a lost answer", []error{busyNow, &fetch.Error{Err: errors.New("EOF")}, nil}, []time.Duration{0, 0, retryDelay}, 100},
		{"nobody answers the connection", []error{&fetch.Error{Err: context.DeadlineExceeded, NotSent: true}, nil}, []time.Duration{0, 2 * time.Second}, 20},
		{"a Retry-After of years", []error{status(503, 1e5*time.Hour)}, []time.Duration{0}, 401},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, began := &server{}, time.Now()
				var asked []time.Duration
				request := func() (*grant.Token, error) {
					err := tt.errs[min(len(asked), len(tt.errs)-1)]
					asked = append(asked, time.Since(began))
					return &grant.Token{}, err
				}
				failed := 0
				for time.Since(began) <= 40*time.Second {
					now := time.Now()
					err := s.recent(now)
					if err == nil {
						_, err = s.pace.ask(t.Context(), request)
						err = s.fail(t.Context(), err)
					}
					if err == nil {
						break
					}
					failed++
					left := pauseAfter(err)
					time.Sleep(impatient)
					require.Equal(t, left > impatient, left > 0 && s.recent(time.Now()) != nil, "the pause in the error is not that of the next request")
				}
				require.Equal(t, tt.asked, asked)
				require.Equal(t, tt.failed, failed)
			})
		})
	}
}

// A Retry-After is limited.
func TestPaceIsBounded(t *testing.T) {
	t.Parallel()
	var p pace
	_, err := p.ask(t.Context(), func() (*grant.Token, error) {
		return nil, &grant.Error{Status: http.StatusServiceUnavailable, RetryAfter: 1e5 * time.Hour}
	})
	require.Equal(t, longestPause, pauseAfter(err))
}

// Callers that leave end the pause before the second request.
func TestPaceEndsWithItsCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), soon/2)
		defer cancel()
		var p pace
		began, asked := time.Now(), 0
		_, err := p.ask(ctx, func() (*grant.Token, error) {
			asked++
			return nil, &grant.Error{Status: http.StatusServiceUnavailable, RetryAfter: soon}
		})
		require.Error(t, err)
		require.Equal(t, 1, asked)
		require.Equal(t, soon/2, time.Since(began))
	})
}
