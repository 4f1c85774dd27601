package mcpotel

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// trace is the middleware around calls.
func (t *Telemetry) trace(next client.Next) client.Next {
	return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
		attrs := common(inv)
		ctx, span := t.tracer.Start(ctx, spanName(inv), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(attrs...))
		defer span.End()
		t.inject(ctx, inv)
		began := time.Now()
		raw, err := next(ctx, inv)
		elapsed := time.Since(began)
		wrong, words := failure(inv, raw, err)
		t.operation.Record(ctx, elapsed.Seconds(), metric.WithAttributes(t.bounds.limit(slices.Concat(attrs, wrong))...))
		if !span.IsRecording() {
			return raw, err
		}
		span.SetAttributes(wrong...)
		span.SetAttributes(keyAttempts.Int(inv.Attempts))
		if inv.RequestID != "" {
			span.SetAttributes(keyRequestID.String(inv.RequestID))
		}
		if uri := resource(inv); uri != "" {
			span.SetAttributes(keyResourceURI.String(uri))
		}
		if wrong != nil {
			span.SetStatus(codes.Error, words)
		}
		return raw, err
	}
}

// inject writes the trace context into the _meta of a call.
func (t *Telemetry) inject(ctx context.Context, inv *client.Invocation) {
	if t.propagator != nil {
		t.propagator.Inject(ctx, carrier{inv: inv, baggage: true})
		return
	}
	otel.GetTextMapPropagator().Inject(ctx, carrier{inv: inv})
}

// carrier is the _meta of a call. The protocol reserves three names without a prefix for
// the W3C formats. The client refuses other names without a prefix.
type carrier struct {
	inv     *client.Invocation
	baggage bool // is sent too
}

// Get implements [go.opentelemetry.io/otel/propagation.TextMapCarrier].
func (c carrier) Get(key string) string {
	s, _ := c.inv.Meta[key].(string)
	return s
}

// Set implements [go.opentelemetry.io/otel/propagation.TextMapCarrier].
func (c carrier) Set(key, value string) {
	switch {
	case key == mcp.MetaTraceParent, key == mcp.MetaTraceState, key == mcp.MetaBaggage && c.baggage:
		if c.inv.Meta == nil {
			c.inv.Meta = map[string]any{}
		}
		c.inv.Meta[key] = value
	}
}

// Keys implements [go.opentelemetry.io/otel/propagation.TextMapCarrier].
func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c.inv.Meta))
	for k := range c.inv.Meta {
		keys = append(keys, k)
	}
	return keys
}
