package services

import (
	"context"
	"log/slog"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

const (
	// defaultCleanup is how often expired reservations go (tools.md §2.10).
	defaultCleanup = 5 * time.Minute
	// cleanupTimeout bounds one round.
	cleanupTimeout = 30 * time.Second
	// keepKeys is how long a request can be repeated under its Idempotency-Key.
	keepKeys = 24 * time.Hour
)

// cleaner deletes expired reservations and old keys, time and again, besides
// the endpoint that does the first.
type cleaner struct {
	store interface {
		DeleteExpired(ctx context.Context, now time.Time) (int, error)
		store.KeyStore
	}
	every time.Duration
	now   func() time.Time
	log   *slog.Logger
}

// run works until life ends.
func (c cleaner) run(life context.Context) {
	ticker := time.NewTicker(c.every)
	defer ticker.Stop()
	for {
		select {
		case <-life.Done():
			return
		case <-ticker.C:
			c.once(life)
		}
	}
}

func (c cleaner) once(life context.Context) {
	ctx, cancel := context.WithTimeout(life, cleanupTimeout)
	defer cancel()
	now := c.now()
	expired, err := c.store.DeleteExpired(ctx, now)
	if err == nil {
		_, err = c.store.DeleteKeys(ctx, now.Add(-keepKeys))
	}
	switch {
	case life.Err() != nil: // the end came between
	case err != nil:
		c.log.LogAttrs(ctx, slog.LevelError, "cleanup_failed", slog.String("cause", err.Error()))
	case expired > 0:
		c.log.LogAttrs(ctx, slog.LevelInfo, "reservations_expired", slog.Int("deleted_count", expired))
	}
}
