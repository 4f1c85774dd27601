package mcpotel

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// Observe shows the state of a client's breaker for as long as the client is
// used, and how long that was. Call it once the client is connected, and end
// when it is closed, with the error that it was closed for or nil; end may be
// called more than once, the first time counts. The session that
// mcp.client.session.duration is about is that of the application: one that the
// client has opened anew in between is the same.
func (t *Telemetry) Observe(c *client.Client) (end func(err error)) {
	began := time.Now()
	first := c.Health()
	server := keyServer.String(first.Server)
	var registered metric.Registration
	if b := c.Breaker(); b != nil {
		// The error is about instruments of another meter.
		registered, _ = t.source.RegisterCallback(func(_ context.Context, o metric.Observer) error {
			s := b.Snapshot()
			for _, state := range []breaker.State{breaker.Closed, breaker.Open, breaker.HalfOpen} {
				in := int64(0)
				if s.State == state {
					in = 1
				}
				o.ObserveInt64(t.state, in, metric.WithAttributes(server, keyState.String(state.String())))
			}
			o.ObserveInt64(t.transitions, int64(s.Generation-1), metric.WithAttributes(server))
			return nil
		}, t.state, t.transitions)
	}
	var once sync.Once
	return func(err error) {
		once.Do(func() {
			if registered != nil {
				_ = registered.Unregister() // it was registered
			}
			attrs := connection(c.ProtocolVersion(), first.Transport, first.Server)
			if err != nil {
				attrs = append(attrs, keyErrorType.String(mcperrors.KindOf(err).String()))
			}
			t.session.Record(background(), time.Since(began).Seconds(), metric.WithAttributes(attrs...))
		})
	}
}
