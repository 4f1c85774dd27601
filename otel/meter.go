package mcpotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// buckets are the recommended ones of the conventions, in seconds.
var buckets = []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}

type instruments struct {
	operation, session metric.Float64Histogram // seconds
	queue              metric.Float64Histogram
	perCall            metric.Int64Histogram

	attempts, unknown, retries, refusals, throttles, probes, silences, hedges, late, logins metric.Int64Counter

	server, tool circuit
}

// circuit reports breakers of one kind.
type circuit struct {
	state       metric.Int64ObservableUpDownCounter
	transitions metric.Int64ObservableCounter
}

func (c *circuit) make(m metric.Meter, name, whose string) error {
	var state, transitions error
	c.state, state = m.Int64ObservableUpDownCounter(name+".state", metric.WithUnit("1"), metric.WithDescription("1 for the state the breaker of the "+whose+" is in."))
	c.transitions, transitions = m.Int64ObservableCounter(name+".transitions", metric.WithUnit("{transition}"), metric.WithDescription("Changes of state of the breaker of the "+whose+"."))
	return errors.Join(state, transitions)
}

// observe reports one breaker. b may be nil.
func (c *circuit) observe(o metric.Observer, b *breaker.Breaker, whose ...attribute.KeyValue) {
	if b == nil {
		return
	}
	s := b.Snapshot()
	for _, state := range []breaker.State{breaker.Closed, breaker.Open, breaker.HalfOpen} {
		in := int64(0)
		if s.State == state {
			in = 1
		}
		o.ObserveInt64(c.state, in, metric.WithAttributes(append(whose, keyState.String(state.String()))...))
	}
	o.ObserveInt64(c.transitions, int64(s.Generation-1), metric.WithAttributes(whose...))
}

func (i *instruments) make(m metric.Meter) error {
	var errs []error
	seconds := func(name, what string) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what), metric.WithExplicitBucketBoundaries(buckets...))
		errs = append(errs, err)
		return h
	}
	counter := func(name, unit, what string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
		errs = append(errs, err)
		return c
	}
	i.operation = seconds("mcp.client.operation.duration", "The duration of the MCP request or notification as observed on the sender from the time it was sent until the response or ack is received.")
	i.session = seconds("mcp.client.session.duration", "The duration of the MCP session as observed on the MCP client.")
	i.queue = seconds("mainstay.client.queue.duration", "How long calls waited in the client's queue.")
	var err error
	i.perCall, err = m.Int64Histogram("mainstay.client.call.attempts", metric.WithUnit("{request}"),
		metric.WithDescription("Requests a call took."), metric.WithExplicitBucketBoundaries(0, 1, 2, 3, 4, 5, 10))
	errs = append(errs, err)
	i.attempts = counter("mainstay.client.attempts", "{request}", "Requests that were made.")
	i.unknown = counter("mainstay.client.calls.unknown", "{call}", "Calls of which nobody knows whether they were done.")
	i.retries = counter("mainstay.client.retries", "{request}", "Requests made again, and not made again.")
	i.refusals = counter("mainstay.client.refusals", "{call}", "Calls that were refused before they were sent.")
	i.throttles = counter("mainstay.client.throttles", "{throttle}", "Times a server answered with Retry-After.")
	i.probes = counter("mainstay.client.probes", "{request}", "Signs of life that were asked for.")
	i.silences = counter("mainstay.client.silences", "{opening}", "Circuits opened because nothing came.")
	i.hedges = counter("mainstay.client.hedges", "{request}", "Second requests beside slow ones.")
	i.late = counter("mainstay.client.late_answers", "{response}", "Answers that nobody waited for.")
	i.logins = counter("mainstay.client.logins", "{change}", "Changes of the login that the client's requests use.")
	return errors.Join(append(errs,
		i.server.make(m, "mainstay.client.breaker", "server"), i.tool.make(m, "mainstay.client.tool.breaker", "tool"))...)
}

// meter implements [client.Meter]. Its reports have no context of a call, and therefore
// no exemplars.
type meter struct {
	client.NoMeter
	t *Telemetry
}

// AttemptEnded implements [client.Meter].
func (m meter) AttemptEnded(r client.AttemptRecord) {
	m.t.attempts.Add(background(), 1, metric.WithAttributes(append(m.t.about(r.Server, r.Method, r.Tool),
		keyClass.String(r.Class), keyDelivery.String(r.Delivery.String()),
		keyServerVerdict.String(r.OnServer.String()), keyToolVerdict.String(r.OnTool.String()))...))
}

// CallEnded implements [client.Meter].
func (m meter) CallEnded(r client.CallRecord) {
	tool := ""
	if r.Method == mcp.MethodToolsCall {
		tool = r.Name
	}
	attrs := metric.WithAttributes(m.t.about(r.Server, r.Method, tool)...)
	m.t.perCall.Record(background(), int64(r.Attempts), attrs)
	if r.Err != nil && r.Err.Delivery == mcperrors.Unknown {
		m.t.unknown.Add(background(), 1, attrs)
	}
}

// Observe implements [client.Meter].
func (m meter) Observe(h client.Signal) {
	attrs := m.t.about(h.Server, h.Method, h.Tool)
	n := int64(max(h.Count, 1))
	add := func(c metric.Int64Counter, kind ...attribute.KeyValue) {
		c.Add(background(), n, metric.WithAttributes(append(attrs, kind...)...))
	}
	i := &m.t.instruments
	switch h.Kind {
	case client.RefusedOpen:
		add(i.refusals, keyReason.String("open"))
	case client.RefusedToolOpen:
		add(i.refusals, keyReason.String("tool-open"))
	case client.RefusedThrottled:
		add(i.refusals, keyReason.String("throttled"))
	case client.RefusedFull:
		add(i.refusals, keyReason.String("full"))
	case client.RefusedRate:
		add(i.refusals, keyReason.String("rate"))
	case client.Retried:
		add(i.retries, keyOutcome.String("made"))
	case client.RetryDenied:
		add(i.retries, keyOutcome.String("denied"), keyReason.String(h.Denied.String()))
	case client.ThrottledServer:
		add(i.throttles, keyScope.String("server"))
	case client.ThrottledCredentials:
		add(i.throttles, keyScope.String("credential"))
	case client.Probed:
		add(i.probes, keyReason.String("circuit"))
	case client.SilenceProbed:
		add(i.probes, keyReason.String("silence"))
	case client.Silent:
		add(i.silences)
	case client.Hedged:
		add(i.hedges, keyOutcome.String("sent"))
	case client.HedgeWon:
		add(i.hedges, keyOutcome.String("won"))
	case client.Queued:
		i.queue.Record(background(), h.Wait.Seconds(), metric.WithAttributes(attrs...))
	case client.LateAnswers:
		add(i.late)
	case client.LoginSignal:
		add(i.logins, keyOutcome.String(string(h.Login)))
	default: // a kind of a newer client
	}
}

// about returns the attributes of a server and, if method is set, of a call.
func (t *Telemetry) about(server, method, tool string) []attribute.KeyValue {
	all := append(make([]attribute.KeyValue, 0, 8), keyServer.String(server))
	if method != "" {
		all = append(all, keyMethod.String(method))
	}
	if tool != "" {
		all = append(all, keyToolName.String(tool))
	}
	return t.bounds.limit(all)
}

// background returns the context for counts outside of calls.
func background() context.Context {
	return context.Background() //nolint:forbidigo // a meter gets no context, and nothing waits for it
}
