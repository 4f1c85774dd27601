package suitetest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/checks/stateless"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// statelessRewrites break the rules of the era without sessions.
func statelessRewrites() map[string]rewritten {
	all := map[string]rewritten{}
	for _, part := range []map[string]rewritten{
		discoverRewrites(), metaRewrites(), removedRewrites(), headerRewrites(), postRewrites(),
		undeclaredRewrites(), logLevelRewrites(), cacheRewrites(), seenStatelessRewrites(),
		listenRewrites(), inputRewrites(), stateRewrites(),
	} {
		for id, r := range part {
			all[id] = r
		}
	}
	return all
}

// discovers changes the result of server/discover.
func discovers(change func(result reply)) rewritten {
	return changed(mcp.MethodDiscover, func(_ fakeMessage, result reply) { change(result) })
}

// failing changes the errors with a code.
func failing(code float64, change func(m fakeMessage, failure reply)) rewritten {
	return rewritten{after: func(m fakeMessage, r reply) []any {
		if e, ok := r["error"].(reply); ok && e["code"] == code {
			change(m, e)
		}
		return []any{r}
	}}
}

// recoded gives errors with a code another one.
func recoded(code, other float64) rewritten {
	return failing(code, func(_ fakeMessage, e reply) { e["code"] = other })
}

// servedInstead answers requests with an empty result in place of an error.
func servedInstead(when func(m fakeMessage) bool) rewritten {
	return rewritten{after: func(m fakeMessage, r reply) []any {
		if r["error"] != nil && when(m) {
			return []any{success(m.id, reply{"resultType": "complete"})}
		}
		return []any{r}
	}}
}

// refusedInstead answers requests with an error in place of a result.
func refusedInstead(when func(m fakeMessage) bool) rewritten {
	return refusedWith(wire.CodeInternal, when)
}

func refusedWith(code int64, when func(m fakeMessage) bool) rewritten {
	return rewritten{first: func(m fakeMessage) ([]any, bool) {
		if m.id == nil || !when(m) {
			return nil, false
		}
		return []any{failure(m.id, code, "no", nil)}, true
	}}
}

// restated gives answers over HTTP another status.
func restated(from, to int) rewritten {
	return rewritten{http: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(&statusWriter{ResponseWriter: w, from: from, to: to}, r)
		})
	}}
}

// statusWriter replaces one status by another.
type statusWriter struct {
	http.ResponseWriter
	from, to int
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) WriteHeader(status int) {
	if status == w.from {
		status = w.to
	}
	w.ResponseWriter.WriteHeader(status)
}

// standingBefore answers what when takes before the server sees it.
func standingBefore(when func(r *http.Request, m fakeMessage) bool, answer func(w http.ResponseWriter, m fakeMessage)) rewritten {
	return rewritten{http: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			m, _ := toFakeMessage(body)
			if when(r, m) {
				answer(w, m)
				return
			}
			next.ServeHTTP(w, r)
		})
	}}
}

// replying writes a message with a status.
func replying(status int, message func(m fakeMessage) any) func(w http.ResponseWriter, m fakeMessage) {
	return func(w http.ResponseWriter, m fakeMessage) {
		w.Header().Set("Content-Type", wire.MediaJSON)
		w.WriteHeader(status)
		_, _ = w.Write(rawjson.Encode(message(m))) // a client that has gone reads nothing
	}
}

func emptyResult(m fakeMessage) any { return success(m.id, reply{"resultType": "complete"}) }

func headerMismatch(m fakeMessage) any { return failure(m.id, wire.CodeHeader, "header mismatch", nil) }

func asksFor(name string) func(m fakeMessage) bool {
	return func(m fakeMessage) bool { return m.method == name }
}

// metaOf returns the _meta of a request.
func metaOf(m fakeMessage) map[string]any {
	meta, _ := m.params["_meta"].(map[string]any)
	return meta
}

func discoverRewrites() map[string]rewritten {
	set := func(name string, value any) rewritten { return discovers(func(result reply) { result[name] = value }) }
	return map[string]rewritten{
		"DISC-01/answered":     {first: refusedFirst(mcp.MethodDiscover)},
		"DISC-03/versions":     set("supportedVersions", "2026-07-28"),
		"DISC-03/this-version": set("supportedVersions", []any{"2025-11-25"}),
		"DISC-03/capabilities": discovers(func(result reply) { result["capabilities"].(reply)["tools"] = true }),
		"DISC-03/instructions": set("instructions", 7),
		"DISC-03/identity":     set("serverInfo", reply{"name": "x", "version": "1"}),
		"META-07/server-info":  discovers(func(result reply) { delete(result, "_meta") }),
		"DISC-06/code":         recoded(mcp.CodeUnsupportedProtocolVersion, wire.CodeInvalidParams),
		"DISC-06/supported":    failing(mcp.CodeUnsupportedProtocolVersion, func(_ fakeMessage, e reply) { e["data"].(reply)["supported"] = "2026-07-28" }),
		"DISC-06/requested":    failing(mcp.CodeUnsupportedProtocolVersion, func(_ fakeMessage, e reply) { delete(e["data"].(reply), "requested") }),
		"DISC-06/status":       restated(http.StatusBadRequest, http.StatusOK),
		"DISC-06/agrees": failing(mcp.CodeUnsupportedProtocolVersion, func(_ fakeMessage, e reply) {
			e["data"].(reply)["supported"] = []any{"2026-07-28"}
		}),
		"DISC-06/next":       afterBad(),
		"DISC-11/first":      refusedUntil(mcp.MethodDiscover, mcp.MethodToolsList),
		"DISC-11/list":       {after: shrinkingList()},
		"DISC-11/declared":   {after: listOnceDeclared()},
		"TOOL-02/order":      {after: turningList()},
		"DISC-17/initialize": refusedInstead(asksFor(mcp.MethodInitialize)),
	}
}

// refusedFirst refuses the first requests of a method on a connection but not
// those of the introduction, of which there are two.
func refusedFirst(method string) func(m fakeMessage) ([]any, bool) {
	seen := 0
	return func(m fakeMessage) ([]any, bool) {
		if m.method != method {
			return nil, false
		}
		seen++
		return []any{failure(m.id, wire.CodeInternal, "no", nil)}, seen > 2
	}
}

// afterBad refuses whatever follows a request in an unknown revision.
func afterBad() rewritten {
	bad := false
	return rewritten{first: func(m fakeMessage) ([]any, bool) {
		if metaOf(m)[mcp.MetaProtocolVersion] == "1999-01-01" {
			bad = true
			return nil, false
		}
		return []any{failure(m.id, wire.CodeInternal, "no", nil)}, bad && m.id != nil
	}}
}

// refusedUntil asks for one method before it answers another.
func refusedUntil(before, method string) rewritten {
	seen := 0 // twice by those that introduce themselves
	return rewritten{first: func(m fakeMessage) ([]any, bool) {
		if m.method == before {
			seen++
		}
		return []any{failure(m.id, wire.CodeInvalidRequest, "not discovered", nil)}, m.method == method && seen > 0
	}}
}

// shrinkingList has a tool less each time.
func shrinkingList() func(m fakeMessage, r reply) []any {
	times := 0
	return changed(mcp.MethodToolsList, func(_ fakeMessage, result reply) {
		tools := result["tools"].([]any)
		times++
		result["tools"] = tools[:max(1, len(tools)-times)]
	}).after
}

func listByCapability() func(m fakeMessage, r reply) []any {
	return changed(mcp.MethodToolsList, func(m fakeMessage, result reply) {
		if declared, _ := metaOf(m)[mcp.MetaClientCapabilities].(map[string]any); len(declared) > 0 {
			result["tools"] = result["tools"].([]any)[:1]
		}
	}).after
}

// listOnceDeclared gives a short list from the first request on that declares a
// capability.
func listOnceDeclared() func(m fakeMessage, r reply) []any {
	short := false
	return changed(mcp.MethodToolsList, func(m fakeMessage, result reply) {
		declared, _ := metaOf(m)[mcp.MetaClientCapabilities].(map[string]any)
		if short = short || len(declared) > 0; short {
			result["tools"] = result["tools"].([]any)[:1]
		}
	}).after
}

func turningList() func(m fakeMessage, r reply) []any {
	times := 0
	return changed(mcp.MethodToolsList, func(_ fakeMessage, result reply) {
		tools := result["tools"].([]any)
		times++
		at := times % len(tools)
		result["tools"] = append(append([]any{}, tools[at:]...), tools[:at]...)
	}).after
}

func metaRewrites() map[string]rewritten {
	without := func(key string) rewritten {
		return rewritten{overHTTP: true, after: servedInstead(func(m fakeMessage) bool { return metaOf(m)[key] == nil }).after}
	}
	typed := func(key string) rewritten {
		return rewritten{overHTTP: true, after: servedInstead(func(m fakeMessage) bool { return metaOf(m)[key] != nil }).after}
	}
	status := restated(http.StatusBadRequest, http.StatusOK)
	return map[string]rewritten{
		"DISC-05/version":           without(mcp.MetaProtocolVersion),
		"DISC-05/capabilities":      without(mcp.MetaClientCapabilities),
		"DISC-05/meta":              without(mcp.MetaProtocolVersion),
		"DISC-05/params":            without(mcp.MetaProtocolVersion),
		"DISC-05/version-type":      typed(mcp.MetaProtocolVersion),
		"DISC-05/capabilities-type": typed(mcp.MetaClientCapabilities),
		"DISC-05/status":            status,
		"META-05/anonymous":         refusedInstead(func(m fakeMessage) bool { return metaOf(m) != nil && metaOf(m)[mcp.MetaClientInfo] == nil }),
		"META-03/trace":             refusedInstead(func(m fakeMessage) bool { return metaOf(m)[mcp.MetaTraceParent] != nil }),
	}
}

func removedRewrites() map[string]rewritten {
	served := func(method string) rewritten { return servedInstead(asksFor(method)) }
	return map[string]rewritten{
		"DISC-14/ping":        served(mcp.MethodPing),
		"DISC-14/set-level":   served(mcp.MethodLoggingSetLevel),
		"DISC-14/subscribe":   served(mcp.MethodResourcesSubscribe),
		"DISC-14/unsubscribe": served(mcp.MethodResourcesUnsubscribe),
		"DISC-14/roots":       served(mcp.MethodRootsList),
		"DISC-14/unknown":     served(fixture.NoMethod),
		"DISC-14/status":      restated(http.StatusNotFound, http.StatusOK),
		"DISC-14/silent": {first: func(m fakeMessage) ([]any, bool) {
			return []any{success(json.RawMessage(`"stray"`), reply{"resultType": "complete"})}, m.method == mcp.MethodInitialized && m.params["_meta"] != nil
		}},
	}
}

// headerRewrites stand before the server and look at headers less, or more,
// than they should.
func headerRewrites() map[string]rewritten {
	all := map[string]rewritten{}
	// A server that does not look: any request with headers is as if it had those of its body.
	lax := rewritten{http: func(next http.Handler) http.Handler {
		mirrors := map[string][]wire.Mirror{"test_x_mcp_header": {
			{Path: []string{"region"}, Header: "Region"}, {Path: []string{"count"}, Header: "Count"}, {Path: []string{"urgent"}, Header: "Urgent"},
		}}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			m, _ := toFakeMessage(body)
			if version, ok := metaOf(m)[mcp.MetaProtocolVersion].(string); ok {
				for name := range r.Header {
					if strings.HasPrefix(name, wire.HeaderParam) {
						r.Header.Del(name)
					}
				}
				r.Header.Set(wire.HeaderRevision, version)
				wire.Route(r.Header, body, mirrors)
			}
			next.ServeHTTP(w, r)
		})
	}}
	for _, id := range []string{
		"HTTP-30/missing", "HTTP-30/other", "HTTP-30/case", "HTTP-29/missing", "HTTP-29/other",
		"HDR-11/other", "HDR-11/case", "HDR-11/missing", "HDR-11/base64-other", "HDR-11/base64-bad",
		"HDR-11/integer-other", "HDR-11/integer-text", "HDR-11/boolean-other", "HDR-11/typed-missing",
	} {
		all[id] = lax
	}
	// And one that looks too hard.
	strict := func(when func(r *http.Request, m fakeMessage) bool) rewritten {
		return standingBefore(when, replying(http.StatusBadRequest, headerMismatch))
	}
	for _, kind := range []string{"tool", "prompt", "resource"} {
		for _, word := range []string{"HTTP-31/" + kind + "-missing", "HTTP-31/" + kind + "-other", "HTTP-31/" + kind + "-case", "HDR-05/" + kind + "-base64-other", "HDR-05/" + kind + "-base64-bad"} {
			all[word] = lax
		}
		all["HDR-05/"+kind+"-base64"] = strict(func(r *http.Request, _ fakeMessage) bool {
			return strings.HasPrefix(r.Header.Get(wire.HeaderName), "=?base64?")
		})
		all["HTTP-32/"+kind+"-status"] = restated(http.StatusBadRequest, http.StatusOK)
	}
	all["HTTP-32/status"] = restated(http.StatusBadRequest, http.StatusOK)
	all["HDR-11/status"] = restated(http.StatusBadRequest, http.StatusOK)
	all["HDR-11/unknown"] = strict(func(r *http.Request, _ fakeMessage) bool { return r.Header.Get(wire.HeaderParam+"Nobody-Knows") != "" })
	region := func(value string) rewritten {
		return strict(func(r *http.Request, _ fakeMessage) bool { return r.Header.Get(wire.HeaderParam+"Region") == value })
	}
	argument := func(name string, value any) rewritten {
		return strict(func(_ *http.Request, m fakeMessage) bool {
			got, there := m.arguments[name]
			return m.call == "test_x_mcp_header" && there && got == value
		})
	}
	all["HDR-11/equal"] = region("Eu-West-1")
	all["HDR-11/base64"] = region(stateless.InBase64("Eu-West-1"))
	all["HDR-11/unicode"] = argument("region", "Hello, 世界")
	all["HDR-11/sentinel"] = argument("region", "=?base64?literal?=")
	all["HDR-11/null"] = argument("region", nil)
	all["HDR-11/absent"] = strict(func(_ *http.Request, m fakeMessage) bool {
		return m.call == "test_x_mcp_header" && len(m.arguments) == 0
	})
	all["HDR-11/integer"] = strict(func(r *http.Request, _ fakeMessage) bool { return r.Header.Get(wire.HeaderParam+"Count") == "42" })
	all["HDR-11/integer-numeric"] = strict(func(r *http.Request, _ fakeMessage) bool { return r.Header.Get(wire.HeaderParam+"Count") == "42.0" })
	all["HDR-11/boolean"] = strict(func(r *http.Request, _ fakeMessage) bool { return r.Header.Get(wire.HeaderParam+"Urgent") == "true" })
	all["HTTP-11/lower-case"], all["HTTP-11/upper-case"] = unread("mcp-method"), unread("MCP-METHOD")
	all["HDR-11/name-case"] = unread("mcp-param-region")
	return all
}

// unread is a server that does not read a header in this spelling.
func unread(name string) rewritten {
	return rewritten{trip: func(next http.RoundTripper) http.RoundTripper {
		return tripper(func(r *http.Request) (*http.Response, error) {
			_, there := r.Header[name]
			if !there {
				return next.RoundTrip(r)
			}
			defer func() { _ = r.Body.Close() }()
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			m, _ := toFakeMessage(body)
			rec := httptest.NewRecorder()
			replying(http.StatusBadRequest, headerMismatch)(rec, m)
			return rec.Result(), nil
		})
	}}
}

type tripper func(r *http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }
