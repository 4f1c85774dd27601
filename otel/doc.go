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
// A call has one CLIENT span, such as "tools/call get-weather", however many
// requests it takes. The span has the attributes of the conventions for MCP:
// mcp.method.name, mcp.protocol.version, gen_ai.tool.name, gen_ai.operation.name,
// jsonrpc.request.id, rpc.response.status_code, error.type, network.transport,
// server.address and others, and mainstay.server, the name of the server
// ([client.WithName]), over stdio too. The error.type of a tool error is "tool_error". For a
// call without an answer it is a kind of package errors, such as "timeout", or an
// HTTP status.
//
// Requests carry traceparent and tracestate in _meta, if the program propagates
// them, so that the server's spans are children of the call's. They carry baggage
// only if [Settings.Propagator] names it. A span has at most 256 bytes of a server's
// text, without secrets. It never has arguments or results, nor mcp.session.id.
// Answers from the cache, handshakes and liveness probes have no span.
//
// # Metrics
//
// mcp.client.operation.duration and mcp.client.session.duration are those of
// the conventions, in seconds, with their buckets. Every metric has the attribute
// mainstay.server, so that servers with the same program or host have series of
// their own. A server without a name is its URL without the query, or the path of
// its program. These metrics are our own:
//
//	mainstay.client.attempts             counter    requests, by class, delivery and verdicts
//	mainstay.client.call.attempts        histogram  requests a call
//	mainstay.client.calls.unknown        counter    calls that may or may not have run: alert on these
//	mainstay.client.retries              counter    mainstay.outcome: made; denied, by mainstay.reason: budget, time, attempts
//	mainstay.client.refusals             counter    calls not sent, by mainstay.reason: open, tool-open, throttled, full, rate
//	mainstay.client.throttles            counter    Retry-After of a server, by mainstay.scope: server, credential
//	mainstay.client.probes               counter    by mainstay.reason: circuit, silence
//	mainstay.client.silences             counter    circuits opened because the server was silent
//	mainstay.client.hedges               counter    mainstay.outcome: sent, won
//	mainstay.client.late_answers         counter    answers that no call waited for
//	mainstay.client.logins               counter    mainstay.outcome: begun, finished, failed, renewed, lost, logged-out
//	mainstay.client.queue.duration       histogram  seconds waited in the client's queue
//	mainstay.client.breaker.state        updown     1 for the state it is in, by mainstay.state
//	mainstay.client.breaker.transitions  counter    changes of state
//
// and of the circuits of tools that have failed, with gen_ai.tool.name:
//
//	mainstay.client.tool.breaker.state        updown   1 for the state it is in, by mainstay.state
//	mainstay.client.tool.breaker.transitions  counter  changes of state
//
// The last four exist only for clients and pools that [Telemetry.Observe] observes.
// The servers of a pool get the options by
//
//	pool.WithClientOptions(telemetry.Options()...)
//
// Collecting these metrics reads [client.Client.Health], which probes a circuit whose
// cooldown is over.
//
// Alert on mainstay.client.logins with mainstay.outcome lost: calls fail until somebody
// logs in again.
//
// Metrics replace some values by "_OTHER": names of tools and prompts after the first
// 256, error codes after the first 64, and codes outside the ranges that JSON-RPC and
// HTTP reserve. This limits the number of series.
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
// The name of the package differs from its folder, because programs that use it also
// import go.opentelemetry.io/otel. The package depends only on the API of
// OpenTelemetry; without an SDK in the program it does nothing.
package mcpotel
