package suitetest

import (
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func postRewrites() map[string]rewritten {
	header := func(name string) func(r *http.Request, m fakeMessage) bool {
		return func(r *http.Request, _ fakeMessage) bool { return r.Header.Get(name) != "" }
	}
	methodIs := func(name string) func(r *http.Request, m fakeMessage) bool {
		return func(r *http.Request, _ fakeMessage) bool { return r.Method == name }
	}
	no := replying(http.StatusBadRequest, func(m fakeMessage) any { return failure(m.id, wire.CodeInvalidRequest, "no", nil) })
	return map[string]rewritten{
		"HTTP-28/get":        modernOnly(standingBefore(methodIs(http.MethodGet), replying(http.StatusOK, emptyResult))),
		"HTTP-28/delete":     modernOnly(standingBefore(methodIs(http.MethodDelete), replying(http.StatusOK, emptyResult))),
		"HTTP-28/session":    modernOnly(standingBefore(header(wire.HeaderSession), no)),
		"HTTP-35/last-event": modernOnly(standingBefore(header("Last-Event-ID"), no)),
		"HTTP-28/answer":     standingBefore(func(r *http.Request, m fakeMessage) bool { return m.method == mcp.MethodDiscover }, replying(http.StatusAccepted, emptyResult)),
		"HTTP-28/notification": standingBefore(func(_ *http.Request, m fakeMessage) bool { return strings.HasPrefix(m.method, "notifications/com") },
			replying(http.StatusOK, func(fakeMessage) any { return reply{} })),
		"HTTP-05/foreign":   standingBefore(header("Origin"), replying(http.StatusOK, emptyResult)),
		"HTTP-05/none":      standingBefore(afterOrigin(), no),
		"HTTP-37/buffering": {http: func(next http.Handler) http.Handler { return withoutHeader(next, "X-Accel-Buffering") }},
		"HTTP-36/ends":      {http: lingering},
		"HTTP-36/related":   {overHTTP: true, note: foreignToken},
		"HTTP-34/alive":     {overHTTP: true, first: refusedInstead(func(m fakeMessage) bool { return metaOf(m)["progressToken"] == "stream-4" }).first},
	}
}

// afterOrigin takes requests without Origin once there was one with it.
func afterOrigin() func(r *http.Request, m fakeMessage) bool {
	seen := false
	return func(r *http.Request, m fakeMessage) bool {
		seen = seen || r.Header.Get("Origin") != ""
		return seen && r.Header.Get("Origin") == "" && m.method == mcp.MethodDiscover
	}
}

// withoutHeader drops a header of the answers.
func withoutHeader(next http.Handler, name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(&bareWriter{w, name}, r)
	})
}

type bareWriter struct {
	http.ResponseWriter
	name string
}

func (w *bareWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *bareWriter) WriteHeader(status int) {
	w.Header().Del(w.name)
	w.ResponseWriter.WriteHeader(status)
}

func (w *bareWriter) Write(data []byte) (int, error) {
	w.Header().Del(w.name)
	return w.ResponseWriter.Write(data)
}

func (w *bareWriter) Flush() {
	w.Header().Del(w.name)
	_ = http.NewResponseController(w.ResponseWriter).Flush() // a client that has gone reads nothing
}

// lingering leaves a stream open after its response.
func lingering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		if wire.MediaType(w.Header()) == wire.MediaStream {
			_ = http.NewResponseController(w).Flush() // a client that has gone reads nothing
			<-r.Context().Done()
		}
	})
}

// foreignToken has news be of another call.
func foreignToken(n reply) []any {
	if params, ok := n["params"].(reply); ok && params["progressToken"] == "stream-1" {
		params["progressToken"] = "stream-2"
	}
	return []any{n}
}

func undeclaredRewrites() map[string]rewritten {
	declares := func(m fakeMessage) bool {
		declared, _ := metaOf(m)[mcp.MetaClientCapabilities].(map[string]any)
		return len(declared) > 0
	}
	// A server that remembers what anybody declared.
	leaky := func() rewritten {
		declared := false
		return rewritten{after: func(m fakeMessage, r reply) []any {
			declared = declared || declares(m)
			if m.call == fixture.ToolMissing && declared {
				return []any{success(m.id, reply{"resultType": "complete", "content": []any{}})}
			}
			return []any{r}
		}}
	}
	return map[string]rewritten{
		"DISC-08/code":         recoded(mcp.CodeMissingRequiredClientCapability, wire.CodeInvalidParams),
		"DISC-08/data":         failing(mcp.CodeMissingRequiredClientCapability, func(_ fakeMessage, e reply) { e["data"] = reply{"requiredCapabilities": []any{"sampling"}} }),
		"DISC-08/status":       restated(http.StatusBadRequest, http.StatusOK),
		"DISC-08/declared":     refusedInstead(func(m fakeMessage) bool { return m.call == fixture.ToolMissing && declares(m) }),
		"DISC-11/capabilities": leaky(),
		"DISC-11/interleaved":  leaky(),
	}
}

// logs has a tool send a log message before its result, to whom when takes.
func logs(level string, when func(m fakeMessage) bool) rewritten {
	return rewritten{after: func(m fakeMessage, r reply) []any {
		if m.call != fixture.ToolLogsOnce || !when(m) {
			return []any{r}
		}
		return []any{reply{"jsonrpc": "2.0", "method": mcp.MethodMessage, "params": reply{"level": level, "data": "x"}}, r}
	}}
}

func logLevelRewrites() map[string]rewritten {
	level := func(level any) func(m fakeMessage) bool {
		return func(m fakeMessage) bool { return metaOf(m)[mcp.MetaLogLevel] == level }
	}
	leaks := false
	return map[string]rewritten{
		"LOG-02/silent":    logs("info", level(nil)),
		"LOG-02/sent":      {note: dropped(mcp.MethodMessage)},
		"LOG-02/threshold": logs("info", level("emergency")),
		"LOG-02/unknown":   servedInstead(level("loud")),
		"LOG-02/leak": logs("info", func(m fakeMessage) bool {
			leaks = leaks || metaOf(m)[mcp.MetaLogLevel] != nil
			return leaks && metaOf(m)[mcp.MetaLogLevel] == nil
		}),
		"LOG-02/stream": overHTTP(logs("info", level(nil))),
	}
}

func overHTTP(r rewritten) rewritten {
	r.overHTTP = true
	return r
}

// dropped drops notifications of a method.
func dropped(method string) func(n reply) []any {
	return func(n reply) []any {
		if n["method"] == method {
			return nil
		}
		return []any{n}
	}
}

func cacheRewrites() map[string]rewritten {
	all := map[string]rewritten{}
	for word, method := range map[string]string{
		"discover": mcp.MethodDiscover, "tools": mcp.MethodToolsList, "prompts": mcp.MethodPromptsList,
		"resources": mcp.MethodResourcesList, "templates": mcp.MethodResourceTemplatesList, "read": mcp.MethodResourcesRead,
	} {
		all["CACHE-01/"+word+"-ttl"] = changed(method, func(_ fakeMessage, result reply) { result["ttlMs"] = -1 })
		all["CACHE-01/"+word+"-scope"] = changed(method, func(_ fakeMessage, result reply) { delete(result, "cacheScope") })
	}
	return all
}

func seenStatelessRewrites() map[string]rewritten {
	on := func(r rewritten) rewritten {
		r.also = []string{"TOOL-01", "X-WIRE-03"}
		return r
	}
	return map[string]rewritten{
		observe.SeenNoRequests: on(rewritten{after: func(m fakeMessage, r reply) []any {
			return []any{reply{"jsonrpc": "2.0", "id": "s-1", "method": mcp.MethodRootsList}, r}
		}}),
		observe.SeenResultType: on(changed(mcp.MethodToolsList, func(_ fakeMessage, result reply) { result["resultType"] = "weird" })),
		observe.SeenIdentity:   on(changed(mcp.MethodToolsList, func(_ fakeMessage, result reply) { delete(result, "_meta") })),
		observe.SeenAskers:     on(changed(mcp.MethodToolsList, func(_ fakeMessage, result reply) { result["resultType"] = "input_required" })),
		observe.SeenReserved:   on(recoded(wire.CodeMethodNotFound, -32050)),
		observe.SeenRetired:    on(recoded(wire.CodeMethodNotFound, mcp.CodeResourceNotFound)),
	}
}

// noted changes the params of notifications of a method.
func noting(method string, change func(params reply)) rewritten {
	return rewritten{note: func(n reply) []any {
		if params, ok := n["params"].(reply); ok && n["method"] == method {
			change(params)
		}
		return []any{n}
	}}
}

func unmarked(params reply) { delete(params["_meta"].(reply), mcp.MetaSubscriptionID) }

func listenRewrites() map[string]rewritten {
	const ack = mcp.MethodSubscriptionsAcknowledged
	notifications := func(value any) rewritten { return noting(ack, func(params reply) { params["notifications"] = value }) }
	twice := func(n reply) []any { return []any{n, n} }
	all := map[string]rewritten{
		"CHG-04/first":    {note: dropped(ack)},
		"CHG-04/id":       overHTTP(noting(ack, unmarked)),
		"CHG-04/integer":  overHTTP(noting(ack, func(params reply) { params["_meta"].(reply)[mcp.MetaSubscriptionID] = "70001" })),
		"CHG-04/subset":   notifications(reply{"toolsListChanged": true, "promptsListChanged": true}),
		"CHG-04/honoured": notifications(reply{}),
		"CHG-04/empty":    notifications(reply{"toolsListChanged": true}),
		"CHG-04/open": {note: func(n reply) []any {
			if n["method"] != ack {
				return []any{n}
			}
			id := n["params"].(reply)["_meta"].(reply)[mcp.MetaSubscriptionID]
			return []any{n, reply{"jsonrpc": "2.0", "id": id, "result": reply{"resultType": "complete"}}}
		}},
		"CHG-07/closed":  closing(),
		"CHG-05/updated": {note: dropped(mcp.MethodResourcesUpdated)},
		"CHG-05/uri":     noting(mcp.MethodResourcesUpdated, func(params reply) { delete(params, "uri") }),
		"CHG-05/id":      overHTTP(noting(mcp.MethodResourcesUpdated, unmarked)),
		"CHG-05/others":  chatty(mcp.MethodResourcesUpdated, reply{"uri": fixture.ResourceStatic}),
		"CHG-06/two":     {note: twiceOf(mcp.MethodPromptsListChanged, twice)},
		"CHG-03/unasked": chatty(mcp.MethodToolsListChanged, reply{}),
		"CHG-07/quiet":   uncancelled(),
		"LOG-02/listen":  chatty(mcp.MethodMessage, reply{"level": "info", "data": "x"}),
	}
	for list, method := range map[string]string{
		"tools": mcp.MethodToolsListChanged, "prompts": mcp.MethodPromptsListChanged, "resources": mcp.MethodResourcesListChanged,
	} {
		all["CHG-03/"+list] = rewritten{note: dropped(method)}
		all["META-08/"+list] = overHTTP(noting(method, unmarked))
	}
	return all
}

func twiceOf(method string, twice func(n reply) []any) func(n reply) []any {
	return func(n reply) []any {
		if n["method"] == method {
			return twice(n)
		}
		return []any{n}
	}
}

// chatty sends a notification right after each acknowledgment.
func chatty(method string, params reply) rewritten {
	return rewritten{note: func(n reply) []any {
		if n["method"] != mcp.MethodSubscriptionsAcknowledged {
			return []any{n}
		}
		with := reply{"_meta": n["params"].(reply)["_meta"]}
		for name, v := range params {
			with[name] = v
		}
		return []any{n, reply{"jsonrpc": "2.0", "method": method, "params": with}}
	}}
}

// closing refuses everything once a subscription was closed.
func closing() rewritten {
	closed := false
	return rewritten{first: func(m fakeMessage) ([]any, bool) {
		closed = closed || m.method == mcp.MethodCancelled
		return []any{failure(m.id, wire.CodeInternal, "no", nil)}, closed && m.id != nil
	}}
}

// uncancelled passes no cancellation on.
func uncancelled() rewritten {
	return rewritten{first: func(m fakeMessage) ([]any, bool) { return nil, m.method == mcp.MethodCancelled }}
}

// modernOnly is a server that speaks no revision with sessions.
func modernOnly(r rewritten) rewritten {
	r.first = func(m fakeMessage) ([]any, bool) {
		return []any{failure(m.id, wire.CodeMethodNotFound, "Method not found", nil)}, m.method == mcp.MethodInitialize
	}
	r.after = changed(mcp.MethodDiscover, func(_ fakeMessage, result reply) {
		result["supportedVersions"] = []any{mcp.Version2026_07_28}
	}).after
	return r
}
