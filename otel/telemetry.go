package mcpotel

import (
	"errors"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/mainstay-mcp/mainstay/client"
)

// Settings say where telemetry goes. The zero value uses the global providers.
type Settings struct {
	// TracerProvider makes the tracer, nil means the global one.
	TracerProvider trace.TracerProvider
	// MeterProvider makes the meter, nil means the global one.
	MeterProvider metric.MeterProvider
	// Propagator writes the trace context into _meta. nil means the global one
	// ([otel.SetTextMapPropagator]; a program that has set none propagates
	// nothing), without its baggage: what a program tells its own services is
	// not for every server of somebody else's. To send baggage name a propagator
	// that writes it here, such as [propagation.Baggage] beside
	// [propagation.TraceContext]. The protocol has names for what those two
	// write; what others write under names of their own is left out.
	Propagator propagation.TextMapPropagator
}

// Telemetry observes clients, as many as one likes. Its methods may be called
// from many goroutines at once. It has nothing to close.
type Telemetry struct {
	tracer     trace.Tracer
	source     metric.Meter
	propagator propagation.TextMapPropagator // nil: the global one
	bounds     bounds
	instruments
}

// Scope is the name of the instrumentation scope of all spans and metrics.
const Scope = "github.com/mainstay-mcp/mainstay/otel"

// New makes a Telemetry. The error is about instruments that the meter provider
// does not make.
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

// Options are what a client needs to be observed: a link around its calls, to be
// given before those that should be inside the span, and a meter, of which a
// client has one.
func (t *Telemetry) Options() []client.Option {
	return []client.Option{client.WithMiddleware(t.trace), client.WithMeter(t.Meter())}
}

// Meter is the meter alone, for a client whose calls have spans of somebody
// else's, or that has another meter: call this one from it.
func (t *Telemetry) Meter() client.Meter { return meter{t: t} }
