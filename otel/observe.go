package mcpotel

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// Observed is the argument of [Telemetry.Observe]: a *client.Client, or a pool
// of package pool.
type Observed interface {
	// Clients returns the clients that are connected at this moment.
	Clients() []*client.Client
}

// Observe reports the state of the breakers of a client, or of all clients of a
// pool, as a metric. It also measures how long the session lasts. Call Observe
// when the client is connected or the pool is open. Call end when it is closed,
// with the error that closed it, or nil. Only the first call of end counts.
//
// The metric mcp.client.session.duration measures the session of the
// application. A session that the client reopens after a loss is the same
// session. A pool has one session for each server that was connected when
// Observe was called.
func (t *Telemetry) Observe(of Observed) (end func(err error)) {
	began := time.Now()
	var sessions [][]attribute.KeyValue
	for _, c := range of.Clients() {
		h := c.Health()
		sessions = append(sessions, connection(h.Version, h.Transport, h.Server, h.Address))
	}
	// The error reports only instruments of another meter.
	registered, _ := t.source.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, c := range of.Clients() {
			t.show(o, c)
		}
		return nil
	}, t.server.state, t.server.transitions, t.tool.state, t.tool.transitions)
	var once sync.Once
	return func(err error) {
		once.Do(func() {
			if registered != nil {
				_ = registered.Unregister() // fails only if it is not registered
			}
			for _, attrs := range sessions {
				if err != nil {
					attrs = append(attrs, keyErrorType.String(mcperrors.KindOf(err).String()))
				}
				t.session.Record(background(), time.Since(began).Seconds(), metric.WithAttributes(attrs...))
			}
		})
	}
}

// show reports the breakers of a client.
func (t *Telemetry) show(o metric.Observer, c *client.Client) {
	server := keyServer.String(c.Health().Server)
	t.server.observe(o, c.Breaker(), server)
	group := c.ToolBreakers()
	if group == nil {
		return
	}
	for tool, b := range group.All() {
		t.tool.observe(o, b, t.bounds.limit([]attribute.KeyValue{server, keyToolName.String(tool)})...)
	}
}
