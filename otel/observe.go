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

// Observed is what [Telemetry.Observe] observes: a [*client.Client] or a
// pool of package pool.
type Observed interface {
	// Clients returns those that are connected at this moment.
	Clients() []*client.Client
}

// Observe shows the state of the breakers of a client, or of the clients of a pool,
// for as long as they are used, and how long that was. Call it once the client is
// connected or the pool is open, and end when it is closed, with the error that it
// was closed for or nil; end may be called more than once, the first time counts.
// The session that mcp.client.session.duration is about is that of the application:
// one that the client has opened anew in between is the same. Of a pool each server
// has one that was connected when Observe was called.
func (t *Telemetry) Observe(of Observed) (end func(err error)) {
	began := time.Now()
	var sessions [][]attribute.KeyValue
	for _, c := range of.Clients() {
		h := c.Health()
		sessions = append(sessions, connection(h.Version, h.Transport, h.Server))
	}
	// The error is about instruments of another meter.
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
				_ = registered.Unregister() // it was registered
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

// show shows the breakers of a client.
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
