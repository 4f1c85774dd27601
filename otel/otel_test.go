package mcpotel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	mcpotel "github.com/mainstay-mcp/mainstay/otel"
	"github.com/mainstay-mcp/mainstay/pool"
)

// lab is an SDK that keeps everything.
type lab struct {
	*mcpotel.Telemetry
	spans  *tracetest.SpanRecorder
	tracer *sdktrace.TracerProvider
	reader *sdkmetric.ManualReader
}

func newLab(t *testing.T, s mcpotel.Settings) *lab {
	t.Helper()
	l := &lab{spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	l.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(l.spans))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(l.reader))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		require.NoError(t, l.tracer.Shutdown(ctx))
		require.NoError(t, meters.Shutdown(ctx))
	})
	s.TracerProvider, s.MeterProvider = l.tracer, meters
	var err error
	l.Telemetry, err = mcpotel.New(s)
	require.NoError(t, err)
	return l
}

// last is the span that ended last, with its attributes.
func (l *lab) last(t *testing.T) (sdktrace.ReadOnlySpan, map[attribute.Key]string) {
	t.Helper()
	ended := l.spans.Ended()
	require.NotEmpty(t, ended)
	span := ended[len(ended)-1]
	attrs := map[attribute.Key]string{}
	for _, kv := range span.Attributes() {
		attrs[kv.Key] = kv.Value.Emit()
	}
	return span, attrs
}

// points are all points of a metric: what they count, by their attributes.
func (l *lab) points(t *testing.T, name string) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, l.reader.Collect(t.Context(), &all))
	got := map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		require.Equal(t, mcpotel.Scope, scope.Scope.Name)
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			key := func(set attribute.Set) string { return set.Encoded(attribute.DefaultEncoder()) }
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				require.Equal(t, "s", m.Unit)
				for _, p := range data.DataPoints {
					require.Equal(t, []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}, p.Bounds)
					got[key(p.Attributes)] = float64(p.Count)
				}
			case metricdata.Histogram[int64]:
				for _, p := range data.DataPoints {
					got[key(p.Attributes)] = float64(p.Sum)
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					got[key(p.Attributes)] = float64(p.Value)
				}
			default:
				t.Fatalf("%s is a %T", name, data)
			}
		}
	}
	return got
}

func weather(t *testing.T) *clienttest.Server {
	t.Helper()
	s := clienttest.NewServer(t)
	s.Tool("get-weather", "", func(*clienttest.Call) (any, error) { return clienttest.Text("rain"), nil })
	s.Tool("get-lost", "", func(*clienttest.Call) (any, error) {
		return &mcp.CallToolResult{IsError: true, Content: clienttest.Text("lost").Content}, nil
	})
	s.Tool("get-refused", "", func(*clienttest.Call) (any, error) {
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "no such place", nil)
	})
	s.Prompt(mcp.Prompt{Name: "plan"}, func(*clienttest.Call) (any, error) { return map[string]any{"messages": []any{}}, nil })
	s.Resource("https://user:hunter2@example.com/a?key=hunter2", "text/plain", "x")
	return s
}

// metaOf is _meta of the last request of a method.
func metaOf(t *testing.T, s *clienttest.Server, method string) map[string]json.RawMessage {
	t.Helper()
	var params struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	for _, r := range s.Requests() {
		if r.Method == method {
			params.Meta = nil
			require.NoError(t, json.Unmarshal(r.Params, &params))
		}
	}
	return params.Meta
}

func TestSpans(t *testing.T) {
	t.Parallel()
	for _, version := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			w3c := propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
			s, l := weather(t), newLab(t, mcpotel.Settings{Propagator: w3c})
			c, err := client.Connect(t.Context(), s.Transport(), append(l.Options(), client.WithProtocolVersion(string(version)))...)
			require.NoError(t, err)
			defer c.Close() //nolint:errcheck // the test is over

			ctx, parent := l.tracer.Tracer("app").Start(t.Context(), "app")
			bag, err := baggage.Parse("user=alice")
			require.NoError(t, err)
			_, err = c.CallTool(baggage.ContextWithBaggage(ctx, bag), "get-weather", map[string]any{"where": "hunter2"})
			require.NoError(t, err)
			span, attrs := l.last(t)
			require.Equal(t, "tools/call get-weather", span.Name())
			require.Equal(t, trace.SpanKindClient, span.SpanKind())
			require.Equal(t, codes.Unset, span.Status().Code)
			require.Equal(t, parent.SpanContext().SpanID(), span.Parent().SpanID())
			id := attrs["jsonrpc.request.id"]
			require.NotEmpty(t, id)
			require.Equal(t, map[attribute.Key]string{
				"mcp.method.name": "tools/call", "mcp.protocol.version": string(version), "gen_ai.tool.name": "get-weather",
				"gen_ai.operation.name": "execute_tool", "jsonrpc.request.id": id, "mainstay.attempts": "1",
				"network.transport": "pipe", "mainstay.server": "clienttest",
			}, attrs)
			meta := metaOf(t, s, "tools/call")
			want := "00-" + span.SpanContext().TraceID().String() + "-" + span.SpanContext().SpanID().String() + "-01"
			require.JSONEq(t, `"`+want+`"`, string(meta["traceparent"]), "the server's span is a child of ours")
			require.JSONEq(t, `"user=alice"`, string(meta["baggage"]))

			_, err = c.CallTool(t.Context(), "get-lost", nil)
			require.NoError(t, err)
			span, attrs = l.last(t)
			require.Equal(t, codes.Error, span.Status().Code)
			require.Equal(t, "tool_error", attrs["error.type"])
			require.NotContains(t, attrs, attribute.Key("rpc.response.status_code"))

			_, err = c.CallTool(t.Context(), "get-refused", nil)
			require.Error(t, err)
			span, attrs = l.last(t)
			require.Equal(t, sdktrace.Status{Code: codes.Error, Description: "no such place"}, span.Status())
			require.Equal(t, "-32602", attrs["error.type"])
			require.Equal(t, "-32602", attrs["rpc.response.status_code"])

			_, err = c.GetPrompt(t.Context(), "plan", nil)
			require.NoError(t, err)
			span, attrs = l.last(t)
			require.Equal(t, "prompts/get plan", span.Name())
			require.Equal(t, "plan", attrs["gen_ai.prompt.name"])
			require.NotContains(t, attrs, attribute.Key("gen_ai.operation.name"))

			_, err = c.ReadResource(t.Context(), "https://user:hunter2@example.com/a?key=hunter2")
			require.NoError(t, err)
			span, attrs = l.last(t)
			require.Equal(t, "resources/read", span.Name(), "of low cardinality")
			require.Equal(t, "https://example.com/a", attrs["mcp.resource.uri"])

			c.Breaker().Trip("test")
			_, err = c.CallTool(t.Context(), "get-weather", nil)
			require.ErrorIs(t, err, mcperrors.ErrCircuitOpen)
			_, attrs = l.last(t)
			require.Equal(t, mcperrors.KindCircuitOpen.String(), attrs["error.type"])
			require.NotContains(t, attrs, attribute.Key("jsonrpc.request.id"), "nothing was sent")

			for _, span := range l.spans.Ended() {
				for _, kv := range span.Attributes() {
					require.NotContains(t, kv.Value.Emit(), "hunter2")
				}
			}
			all := l.points(t, "mcp.client.operation.duration")
			var ok, wrong float64
			for key, n := range all {
				switch {
				case strings.Contains(key, "gen_ai.tool.name=get-weather") && !strings.Contains(key, "error.type"):
					ok += n
				case strings.Contains(key, "error.type=tool_error"), strings.Contains(key, "rpc.response.status_code=-32602"):
					wrong += n
				}
				require.NotContains(t, key, "jsonrpc.request.id")
				require.NotContains(t, key, "example.com/a")
			}
			require.InDelta(t, 1, ok, 0)
			require.InDelta(t, 2, wrong, 0)
		})
	}
}

func TestSpansOverHTTP(t *testing.T) {
	t.Parallel()
	s, l := weather(t), newLab(t, mcpotel.Settings{})
	c, err := client.Dial(t.Context(), s.URL()+"?key=hunter2", l.Options()...)
	require.NoError(t, err)
	defer c.Close() //nolint:errcheck // the test is over
	_, err = c.CallTool(t.Context(), "get-weather", nil)
	require.NoError(t, err)
	_, attrs := l.last(t)
	require.Equal(t, "tcp", attrs["network.transport"])
	require.Equal(t, "http", attrs["network.protocol.name"])
	require.Equal(t, "127.0.0.1", attrs["server.address"])
	require.NotEmpty(t, attrs["server.port"])
	for key := range l.points(t, "mainstay.client.attempts") {
		require.NotContains(t, key, "hunter2")
	}
}

// A field of a propagator that the protocol does not reserve is not sent: the client would
// refuse the call.
func TestForeignPropagators(t *testing.T) {
	t.Parallel()
	s, l := weather(t), newLab(t, mcpotel.Settings{Propagator: propagation.NewCompositeTextMapPropagator(foreign{}, propagation.TraceContext{})})
	c, err := client.Connect(t.Context(), s.Transport(), l.Options()...)
	require.NoError(t, err)
	defer c.Close() //nolint:errcheck // the test is over
	_, err = c.CallTool(t.Context(), "get-weather", nil)
	require.NoError(t, err)
	meta := metaOf(t, s, "tools/call")
	require.Contains(t, meta, "traceparent")
	require.NotContains(t, meta, "b3")
}

// The default is what the program propagates, without baggage: that goes to
// others than its own servers only where it is set.
func TestTheGlobalPropagator(t *testing.T) {
	before := otel.GetTextMapPropagator()
	defer otel.SetTextMapPropagator(before)
	s, l := weather(t), newLab(t, mcpotel.Settings{})
	c, err := client.Connect(t.Context(), s.Transport(), l.Options()...)
	require.NoError(t, err)
	defer c.Close() //nolint:errcheck // the test is over
	bag, err := baggage.Parse("user=alice")
	require.NoError(t, err)
	sent := func(p propagation.TextMapPropagator) map[string]json.RawMessage {
		otel.SetTextMapPropagator(p)
		_, err := c.CallTool(baggage.ContextWithBaggage(t.Context(), bag), "get-weather", nil)
		require.NoError(t, err)
		return metaOf(t, s, "tools/call")
	}
	require.NotContains(t, sent(propagation.NewCompositeTextMapPropagator()), "traceparent")
	meta := sent(propagation.NewCompositeTextMapPropagator(propagation.Baggage{}, propagation.TraceContext{}))
	require.Contains(t, meta, "traceparent")
	require.NotContains(t, meta, "baggage")
}

// Spans have only short texts of a server, without secrets.
func TestWordsAreRedacted(t *testing.T) {
	t.Parallel()
	s, l := weather(t), newLab(t, mcpotel.Settings{})
	s.Tool("get-secrets", "", func(*clienttest.Call) (any, error) {
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Authorization: Bearer sk-hunter2hunter2 "+strings.Repeat("é", 100_000), nil)
	})
	c, err := client.Connect(t.Context(), s.Transport(), l.Options()...)
	require.NoError(t, err)
	defer c.Close() //nolint:errcheck // the test is over
	_, err = c.CallTool(t.Context(), "get-secrets", nil)
	require.Error(t, err)
	span, _ := l.last(t)
	require.Equal(t, codes.Error, span.Status().Code)
	require.Contains(t, span.Status().Description, "Authorization")
	require.NotContains(t, span.Status().Description, "hunter2")
	require.LessOrEqual(t, len(span.Status().Description), 256)
	require.True(t, utf8.ValidString(span.Status().Description))
}

// A peer, or a model, must not create endless series, because the SDK then drops those of
// others.
func TestSeriesAreBounded(t *testing.T) {
	t.Parallel()
	s, l := weather(t), newLab(t, mcpotel.Settings{})
	var code atomic.Int64
	s.Tool("get-codes", "", func(*clienttest.Call) (any, error) {
		return nil, jsonrpc.NewError(code.Add(1), "no", nil)
	})
	c, err := client.Connect(t.Context(), s.Transport(), append(l.Options(), client.WithResilience(client.Resilience{Off: true}))...)
	require.NoError(t, err)
	defer c.Close() //nolint:errcheck // the test is over
	for _, from := range []int64{10_000, -32_500} {
		code.Store(from)
		for range 150 {
			_, err = c.CallTool(t.Context(), "get-codes", nil)
			require.Error(t, err)
		}
	}
	_, attrs := l.last(t)
	require.Equal(t, "-32350", attrs["error.type"], "spans have all")
	got := l.points(t, "mcp.client.operation.duration")
	require.LessOrEqual(t, len(got), 66)
	require.Contains(t, fmt.Sprint(got), "error.type=_OTHER")
	require.Contains(t, fmt.Sprint(got), "rpc.response.status_code=-32499")
	require.NotContains(t, fmt.Sprint(got), "=10001")

	m := l.Meter()
	for i := range 300 {
		m.CallEnded(client.CallRecord{Server: "s", Method: "tools/call", Name: "made-up-" + strconv.Itoa(i), Attempts: 1})
	}
	got = l.points(t, "mainstay.client.call.attempts")
	require.LessOrEqual(t, len(got), 258)
	require.Contains(t, fmt.Sprint(got), "gen_ai.tool.name=_OTHER")
	require.Contains(t, fmt.Sprint(got), "made-up-7,")
}

type foreign struct{}

func (foreign) Inject(_ context.Context, c propagation.TextMapCarrier) { c.Set("b3", "1-2-1") }

func (foreign) Extract(ctx context.Context, _ propagation.TextMapCarrier) context.Context { return ctx }

func (foreign) Fields() []string { return []string{"b3"} }

func TestSessionAndBreaker(t *testing.T) {
	t.Parallel()
	s, l := weather(t), newLab(t, mcpotel.Settings{})
	c, err := client.Connect(t.Context(), s.Transport(), l.Options()...)
	require.NoError(t, err)
	defer c.Close() //nolint:errcheck // the test is over
	end := l.Observe(c)
	require.Equal(t, map[string]float64{
		"mainstay.server=clienttest,mainstay.state=CLOSED":    1,
		"mainstay.server=clienttest,mainstay.state=HALF_OPEN": 0,
		"mainstay.server=clienttest,mainstay.state=OPEN":      0,
	}, l.points(t, "mainstay.client.breaker.state"))
	c.Breaker().Trip("test")
	require.InDelta(t, 1, l.points(t, "mainstay.client.breaker.state")["mainstay.server=clienttest,mainstay.state=OPEN"], 0)
	require.Equal(t, map[string]float64{"mainstay.server=clienttest": 1}, l.points(t, "mainstay.client.breaker.transitions"))

	require.Empty(t, l.points(t, "mcp.client.session.duration"))
	end(&mcperrors.Error{Kind: mcperrors.KindTimeout})
	end(nil)
	require.Equal(t, map[string]float64{"error.type=timeout,mainstay.server=clienttest,mcp.protocol.version=" + string(c.ProtocolVersion()) + ",network.transport=pipe": 1}, l.points(t, "mcp.client.session.duration"))
	require.Empty(t, l.points(t, "mainstay.client.breaker.state"))
}

// The circuits of tools have metrics of their own, and one that is closed again is
// seen as closed.
func TestToolBreakers(t *testing.T) {
	t.Parallel()
	s, l := weather(t), newLab(t, mcpotel.Settings{})
	c, err := client.Connect(t.Context(), s.Transport(), append(l.Options(), client.WithErrorProfile(mcperrors.Docling))...)
	require.NoError(t, err)
	defer c.Close() //nolint:errcheck // the test is over
	end := l.Observe(c)
	defer end(nil)
	require.Empty(t, l.points(t, "mainstay.client.tool.breaker.state"), "no tool has failed")
	s.Tool("get-weather", "", func(*clienttest.Call) (any, error) {
		return nil, jsonrpc.NewError(jsonrpc.CodeInternalError, "broken", nil)
	})
	for range 5 {
		_, err := c.CallTool(t.Context(), "get-weather", nil)
		require.Error(t, err)
	}
	const at = "gen_ai.tool.name=get-weather,mainstay.server=clienttest"
	state := func(open float64) map[string]float64 {
		return map[string]float64{at + ",mainstay.state=CLOSED": 1 - open, at + ",mainstay.state=HALF_OPEN": 0, at + ",mainstay.state=OPEN": open}
	}
	require.Equal(t, state(1), l.points(t, "mainstay.client.tool.breaker.state"))
	require.Equal(t, map[string]float64{at: 1}, l.points(t, "mainstay.client.tool.breaker.transitions"))
	require.InDelta(t, 1, l.points(t, "mainstay.client.breaker.state")["mainstay.server=clienttest,mainstay.state=CLOSED"], 0, "the server is well")
	c.ToolBreakers().Get("get-weather").Renewed("test")
	require.Equal(t, state(0), l.points(t, "mainstay.client.tool.breaker.state"))

	// Invented names are limited as everywhere.
	for n := range 300 {
		c.ToolBreakers().Get("made-up-" + strconv.Itoa(n)).Trip("test")
	}
	points := l.points(t, "mainstay.client.tool.breaker.state")
	require.Len(t, points, 3*257)
	require.InDelta(t, 301-256, points["gen_ai.tool.name=_OTHER,mainstay.server=clienttest,mainstay.state=OPEN"], 0)
}

// The servers of a pool come and go; each is seen while it is connected.
func TestObservePool(t *testing.T) {
	t.Parallel()
	l := newLab(t, mcpotel.Settings{})
	a, b := weather(t), weather(t)
	dead := pool.Server{Name: "dead", Err: errors.New("no such program")}
	p, err := pool.Open(t.Context(), []pool.Server{
		{Name: "a", Transport: a.Transport()}, dead, {Name: "b", Transport: b.Transport()},
	})
	require.NoError(t, err)
	defer p.Close() //nolint:errcheck // the test is over
	require.Len(t, p.Clients(), 2)
	end := l.Observe(p)
	second, err := p.Client("b")
	require.NoError(t, err)
	second.Breaker().Trip("test")
	points := l.points(t, "mainstay.client.breaker.state")
	require.Len(t, points, 6)
	require.InDelta(t, 1, points["mainstay.server=a,mainstay.state=CLOSED"], 0)
	require.InDelta(t, 1, points["mainstay.server=b,mainstay.state=OPEN"], 0)
	require.NoError(t, p.Close())
	require.Empty(t, l.points(t, "mainstay.client.breaker.state"))
	end(nil)
	way := ",mcp.protocol.version=" + string(second.ProtocolVersion()) + ",network.transport=pipe"
	require.Equal(t, map[string]float64{"mainstay.server=a" + way: 1, "mainstay.server=b" + way: 1}, l.points(t, "mcp.client.session.duration"))
}

// Every signal of a client has its metric.
func TestSignals(t *testing.T) {
	t.Parallel()
	metrics := []string{"retries", "refusals", "throttles", "probes", "silences", "hedges", "late_answers", "logins", "queue.duration"}
	sum := func(l *lab) (n float64) {
		for _, m := range metrics {
			for _, v := range l.points(t, "mainstay.client."+m) {
				n += v
			}
		}
		return n
	}
	for what := client.SignalKind(1); what.String() != "unknown"; what++ {
		l := newLab(t, mcpotel.Settings{})
		l.Meter().Observe(client.Signal{Kind: what, Server: "s", Method: "tools/call", Tool: "x", Wait: time.Second, Count: 1})
		require.InDelta(t, 1, sum(l), 0, what)
	}
	for by, reason := range map[client.RetryDenial]string{
		client.DeniedByBudget: "budget", client.DeniedByTime: "time", client.DeniedByAttempts: "attempts", 0: "unknown", 250: "unknown",
	} {
		l := newLab(t, mcpotel.Settings{})
		l.Meter().Observe(client.Signal{Kind: client.RetryDenied, Server: "s", Denied: by})
		require.Equal(t, map[string]float64{"mainstay.outcome=denied,mainstay.reason=" + reason + ",mainstay.server=s": 1}, l.points(t, "mainstay.client.retries"))
	}
	l := newLab(t, mcpotel.Settings{})
	m := l.Meter()
	m.Observe(client.Signal{Kind: client.LateAnswers, Server: "s", Count: 7})
	require.Equal(t, map[string]float64{"mainstay.server=s": 7}, l.points(t, "mainstay.client.late_answers"))
	m.Observe(client.Signal{Kind: client.LoginSignal, Server: "s", Login: transport.LoginLost, Count: 1})
	require.Equal(t, map[string]float64{"mainstay.outcome=lost,mainstay.server=s": 1}, l.points(t, "mainstay.client.logins"))
	m.Observe(client.Signal{Kind: 250})
	m.CallEnded(client.CallRecord{Server: "s", Method: "tools/call", Name: "pay", Attempts: 3, Err: &mcperrors.Error{Delivery: mcperrors.Unknown}})
	m.CallEnded(client.CallRecord{Server: "s", Method: "resources/read", Name: "file:///a", Attempts: 1, Err: &mcperrors.Error{Delivery: mcperrors.NotSent}})
	require.Equal(t, map[string]float64{"gen_ai.tool.name=pay,mainstay.server=s,mcp.method.name=tools/call": 1}, l.points(t, "mainstay.client.calls.unknown"))
	require.InDelta(t, 3, l.points(t, "mainstay.client.call.attempts")["gen_ai.tool.name=pay,mainstay.server=s,mcp.method.name=tools/call"], 0)
	m.AttemptEnded(client.AttemptRecord{Server: "s", Method: "tools/call", Tool: "pay", Class: "lost", Delivery: mcperrors.Unknown, OnServer: breaker.Failure})
	require.Equal(t, map[string]float64{
		"gen_ai.tool.name=pay,mainstay.class=lost,mainstay.delivery=" + mcperrors.Unknown.String() +
			",mainstay.server=s,mainstay.verdict.server=failure,mainstay.verdict.tool=neutral,mcp.method.name=tools/call": 1,
	}, l.points(t, "mainstay.client.attempts"))
}

// Without an SDK the package does nothing, and requests do not change.
func TestWithoutSDK(t *testing.T) {
	t.Parallel()
	s := weather(t)
	quiet, err := mcpotel.New(mcpotel.Settings{})
	require.NoError(t, err)
	c, err := client.Connect(t.Context(), s.Transport(), quiet.Options()...)
	require.NoError(t, err)
	defer c.Close() //nolint:errcheck // the test is over
	end := quiet.Observe(c)
	_, err = c.CallTool(t.Context(), "get-weather", nil)
	require.NoError(t, err)
	require.NotContains(t, metaOf(t, s, "tools/call"), "traceparent")
	end(errors.New("any"))
}
