package mcpotel

import (
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mainstay-mcp/mainstay/client"
)

// Settings configure a [Telemetry]. The zero value uses the global providers.
type Settings struct {
	// TracerProvider makes the tracer. nil means the global provider.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the meter. nil means the global provider.
	MeterProvider metric.MeterProvider
	// Propagator writes the trace context into _meta. nil means the global
	// propagator ([otel.SetTextMapPropagator]) without its baggage, because
	// baggage for your own services should not reach the servers of others. To
	// send baggage, set a propagator that writes it, such as [propagation.Baggage]
	// beside [propagation.TraceContext]. Only the fields of these two are sent,
	// because MCP has names for no others.
	Propagator propagation.TextMapPropagator
}

// Telemetry observes any number of clients. It is safe for concurrent use and
// needs no Close.
type Telemetry struct {
	tracer     trace.Tracer
	source     metric.Meter
	propagator propagation.TextMapPropagator // nil: the global one
	bounds     bounds
	instruments
}

// Scope is the name of the instrumentation scope of all spans and metrics.
const Scope = "github.com/mainstay-mcp/mainstay/otel"

// New returns a Telemetry. It returns an error if the meter provider cannot
// make an instrument.
func New(s Settings) (*Telemetry, error) {
	if s.TracerProvider == nil {
		s.TracerProvider = otel.GetTracerProvider()
	}
	if s.MeterProvider == nil {
		s.MeterProvider = otel.GetMeterProvider()
	}
	t := &Telemetry{
		tracer:     s.TracerProvider.Tracer(Scope, trace.WithInstrumentationVersion(client.Version)),
		source:     s.MeterProvider.Meter(Scope, metric.WithInstrumentationVersion(client.Version)),
		propagator: s.Propagator,
	}
	if err := t.make(t.source); err != nil {
		return nil, errors.New("mcpotel: " + err.Error())
	}
	return t, nil
}

// Options returns the options of a client that is observed: a middleware around its calls,
// and a meter, of which a client has one. Put them before middleware that should run
// inside the span.
func (t *Telemetry) Options() []client.Option {
	return []client.Option{client.WithMiddleware(t.trace), client.WithMeter(t.Meter())}
}

// Meter returns only the meter. Use it for a client whose spans come from
// elsewhere, or call it from a meter of your own.
func (t *Telemetry) Meter() client.Meter { return meter{t: t} }
