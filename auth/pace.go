package auth

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
)

// pace limits the requests to a token endpoint that is overloaded or cannot be reached. Only
// requests that were not processed count: the refresh token or the code is still valid. The
// first failure is retried at once, so that callers do not notice it. After later ones there
// are pauses, see [server.recent]. Its methods require the serial of the server. The zero
// value is ready.
type pace struct{ failures int } // in a row

const (
	// soon is the longest Retry-After of a request that is retried at once.
	soon = time.Second
	// longestPause bounds a Retry-After.
	longestPause = 10 * time.Minute
)

// pauses are those after consecutive failures. The last one is for all later failures.
var pauses = [...]time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second, retryDelay}

// pausedError is the error of a request that may be retried after a pause.
type pausedError struct {
	err   error
	pause time.Duration
}

func (e *pausedError) Error() string { return e.err.Error() }

func (e *pausedError) Unwrap() error { return e.err }

// pauseAfter returns the pause after an error, 0 for none.
func pauseAfter(err error) time.Duration {
	var paused *pausedError
	if errors.As(err, &paused) {
		return paused.pause
	}
	return 0
}

// ask runs request, and retries it if it is the first failure and was not processed. The error
// is a [*pausedError] if a later request may succeed.
func (p *pace) ask(ctx context.Context, request func() (*grant.Token, error)) (*grant.Token, error) {
	for {
		token, err := request()
		if err == nil || !unspent(err) {
			p.failures = 0
			return token, err
		}
		first := p.failures == 0
		pause := p.next(err)
		if !first || pause > soon || !sleep(ctx, pause) {
			return nil, &pausedError{err, max(pause, pauses[1])}
		}
	}
}

// next counts a failure and returns the pause after it.
func (p *pace) next(err error) time.Duration {
	pause := pauses[p.failures]
	p.failures = min(p.failures+1, len(pauses)-1)
	var refused *grant.Error
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &refused):
		pause = max(pause, min(refused.RetryAfter, longestPause))
	case errors.As(err, &timeout) && timeout.Timeout():
		pause = max(pause, 2*soon) // the endpoint is slow
	}
	return pause
}

// lasts reports whether the pauses have reached their maximum.
func (p *pace) lasts() bool { return p.failures == len(pauses)-1 }

// unspent reports whether a failed token request was not processed: the server was too busy,
// or nothing was sent.
func unspent(err error) bool {
	var failed *fetch.Error
	return busy(err) || errors.As(err, &failed) && failed.NotSent
}

// busy reports whether a token endpoint answered with status 429 or 503.
func busy(err error) bool {
	var refused *grant.Error
	return errors.As(err, &refused) &&
		(refused.Status == http.StatusTooManyRequests || refused.Status == http.StatusServiceUnavailable)
}

// sleep waits for d. It reports whether ctx is still alive.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
