// Package mcpotel gives OpenTelemetry to clients of package client: a span for
// each call, the histograms of the MCP semantic conventions, the trace context
// in what is sent, and metrics of what the client's resilience did.
//
//	telemetry, err := mcpotel.New(mcpotel.Settings{}) // the global providers
//	if err != nil {
//		return err
//	}
//	c, err := client.Dial(ctx, url, telemetry.Options()...)
//	if err != nil {
//		return err
//	}
//	end := telemetry.Observe(c)
//	defer func() { end(nil); c.Close() }()
//
// # Spans
//
// A call is one CLIENT span, "tools/call get-weather", however many requests it
// takes, with the attributes of the conventions for MCP: mcp.method.name,
// mcp.protocol.version, gen_ai.tool.name, gen_ai.operation.name, jsonrpc.request.id,
// rpc.response.status_code, error.type, network.transport, server.address and
// the rest. A tool's isError is the error.type "tool_error"; what failed without
// an answer has a kind of package errors, such as "timeout", or an HTTP status.
// What the server is sent has traceparent and tracestate in _meta, so that its
// spans are children, if the program propagates them ([Settings.Propagator]; baggage
// only where that names it). Of what a server says, a span has 256 bytes, without
// what looks secret. What is answered from the cache sends nothing and
// has no span; nor have the handshake and signs of life. Arguments and results
// are never recorded. mcp.session.id is not known here.
//
// # Metrics
//
// mcp.client.operation.duration and mcp.client.session.duration are those of
// the conventions, in seconds, with their buckets. Of our own, each with the
// attribute mainstay.server:
//
//	mainstay.client.attempts             counter    requests, by class, delivery and verdicts
//	mainstay.client.call.attempts        histogram  requests a call
//	mainstay.client.calls.unknown        counter    calls of which nobody knows whether they were done: page on these
//	mainstay.client.retries              counter    mainstay.outcome: made, denied
//	mainstay.client.refusals             counter    calls not sent, by mainstay.reason: open, tool-open, held, full, rate
//	mainstay.client.holds                counter    Retry-After of a server, by mainstay.scope: server, credential
//	mainstay.client.probes               counter    by mainstay.reason: circuit, silence
//	mainstay.client.silences             counter    circuits opened because nothing came
//	mainstay.client.hedges               counter    mainstay.outcome: sent, won
//	mainstay.client.late_answers         counter    answers that nobody waited for
//	mainstay.client.queue.duration       histogram  seconds waited in the client's queue
//	mainstay.client.breaker.state        updown     1 for the state it is in, by mainstay.state
//	mainstay.client.breaker.transitions  counter    changes of state
//
// and of the circuits of tools that have failed, with gen_ai.tool.name:
//
//	mainstay.client.tool.breaker.state        updown   1 for the state it is in, by mainstay.state
//	mainstay.client.tool.breaker.transitions  counter  changes of state
//
// The last four are there for what [Telemetry.Observe] observes: a client, or a
// pool, whose servers get the options by
//
//	client.WithServerOptions(func(string) []client.Option { return telemetry.Options() })
//
// As they read [client.Client.Health], a circuit whose cooldown is over is probed
// when metrics are collected.
//
// Names of tools and prompts beyond the first 256, and codes of errors beyond the
// first 64 or outside of those that JSON-RPC and HTTP reserve, are "_OTHER" in
// metrics: who calls and who answers must not use up what an SDK keeps.
//
// # Prometheus
//
// Prometheus reads what OpenTelemetry's exporter shows:
//
//	exporter, err := prometheus.New() // go.opentelemetry.io/otel/exporters/prometheus
//	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))
//	telemetry, err := mcpotel.New(mcpotel.Settings{MeterProvider: provider})
//	http.Handle("/metrics", promhttp.Handler())
//
// The name of the package differs from that of its folder, since programs that
// use it import go.opentelemetry.io/otel beside it. The package depends on the
// API of OpenTelemetry only; without an SDK in the program it does nothing.
package mcpotel
