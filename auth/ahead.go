package auth

import (
	"context"
	"sync"
	"time"
)

// WithRenewalAhead renews tokens shortly before they expire, even while no request needs
// them. So [WithEvents] and the clients report a lost login at once, and not at the next
// call. Use it for programs that rarely make calls.
//
// It sends one request for each lifetime of a token and each principal, from the first
// request of a client until [Authorizer.Close]. It covers up to 4,096 servers and principals;
// others are renewed by their next call. After a temporary failure it tries again each
// minute. Tokens without an expiry are not renewed ahead.
func WithRenewalAhead() Option { return func(c *config) { c.ahead = true } }

// aheadPause is the time between two attempts to renew a token.
const aheadPause = time.Minute

// alarm is the timer of a renewal.
type alarm struct {
	mu    sync.Mutex
	timer *time.Timer
}

func (a *alarm) set(d time.Duration, f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
	}
	a.timer = time.AfterFunc(d, f)
}

func (a *alarm) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.timer != nil {
		a.timer.Stop()
	}
}

// renewAhead sets the alarm for the current token. It runs at the end of each turn, which may
// have changed the token.
func (s *server) renewAhead() {
	h := s.now.Load()
	if s.a.closed.Load() {
		return
	}
	if h == nil || s.lost || h.record.Token.Expiry.IsZero() {
		s.ahead.stop()
		return
	}
	wait := time.Until(h.record.Token.Expiry.Add(-h.margin()))
	if wait <= 0 { // the renewal has just failed
		if h.record.Token.Refresh.Empty() && (s.site == nil || s.a.grant.person()) {
			return // only a challenge can lead to another token
		}
		wait = aheadPause
	}
	s.ahead.set(wait, s.renewNow)
}

// renewNow renews the token. Events report the outcome.
func (s *server) renewNow() {
	ctx, cancel := context.WithTimeout(context.Background(), settling) //nolint:forbidigo // no caller waits for it
	defer cancel()
	began := time.Now()
	_, _ = inSeries(ctx, s, func(ctx context.Context) (*credentials, error) {
		if s.a.closed.Load() {
			return nil, errClosed
		}
		return s.renewedAt(ctx, began)
	})
}
