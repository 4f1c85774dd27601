package mutants

import (
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// statelessMutants break the rules that only the stateless era has.
func statelessMutants() []Mutant {
	cacheable := func(change func(result object)) func() *defect {
		return answers(func(x *exchange, r object) []object {
			if result, ok := r["result"].(object); ok && result["ttlMs"] != nil && x.stateless {
				change(result)
			}
			return []object{r}
		})
	}
	header := func(mend func(x *exchange, h http.Header)) func() *defect {
		return beforeAll(func(x *exchange) {
			if x.http != nil && x.stateless {
				mend(x, x.http.Header)
			}
		})
	}
	return []Mutant{
		{ID: "result-type-missing", Says: "results have no resultType", Breaks: "DISC-12", plant: answers(func(x *exchange, r object) []object {
			delete(at(r, "result"), "resultType")
			return []object{r}
		})},
		{ID: "result-type-unknown", Says: "the resultType of calls is one nobody knows", Breaks: "DISC-12", plant: calls("", func(x *exchange, result object) {
			if result["resultType"] == "complete" {
				result["resultType"] = "done"
			}
		})},
		{ID: "ttl-missing", Says: "lists have no ttlMs", Breaks: "CACHE-01", plant: cacheable(func(result object) { delete(result, "ttlMs") })},
		{ID: "ttl-negative", Says: "ttlMs is negative", Breaks: "CACHE-01", plant: cacheable(func(result object) { result["ttlMs"] = -1 })},
		{ID: "ttl-seconds", Says: "ttlMs is a text with a unit", Breaks: "CACHE-01", plant: cacheable(func(result object) { result["ttlMs"] = "300s" })},
		{ID: "cache-scope-missing", Says: "lists have no cacheScope", Breaks: "CACHE-01", plant: cacheable(func(result object) { delete(result, "cacheScope") })},
		{ID: "cache-scope-unknown", Says: "cacheScope is shared", Breaks: "CACHE-01", plant: cacheable(func(result object) { result["cacheScope"] = "shared" })},
		{ID: "discover-versions-text", Says: "supportedVersions is one string", Breaks: "DISC-03", plant: results(mcp.MethodDiscover, func(_ *exchange, result object) { result["supportedVersions"] = string(mcp.Latest) })},
		{ID: "discover-without-capabilities", Says: "server/discover says nothing of capabilities", Breaks: "DISC-03", plant: results(mcp.MethodDiscover, func(_ *exchange, result object) { delete(result, "capabilities") })},
		{ID: "discover-server-info-top", Says: "serverInfo stands beside the result's members and not in _meta", Breaks: "META-07", plant: answers(func(x *exchange, r object) []object {
			if meta := at(r, "result", "_meta"); x.stateless && meta[mcp.MetaServerInfo] != nil {
				at(r, "result")["serverInfo"] = meta[mcp.MetaServerInfo]
				delete(meta, mcp.MetaServerInfo)
			}
			return []object{r}
		})},
		{ID: "version-unsupported-served", Says: "a revision the server does not speak is served", Breaks: "DISC-06", plant: header(func(x *exchange, h http.Header) {
			if meta := at(x.params, "_meta"); !mcp.Version(text(meta[mcp.MetaProtocolVersion])).Known() {
				meta[mcp.MetaProtocolVersion] = string(mcp.Latest)
				h.Set(headerRevision, string(mcp.Latest))
			}
		})},
		{ID: "version-unsupported-code", Says: "a revision the server does not speak is answered with -32602", Breaks: "DISC-06", plant: failures("-32022", func(_ *exchange, _, e object) { e["code"] = -32602 })},
		{ID: "version-unsupported-silent", Says: "the answer to a revision the server does not speak does not say which it does", Breaks: "DISC-06", plant: failures("-32022", func(_ *exchange, _, e object) { delete(e, "data") })},
		{ID: "meta-missing-served", Says: "a request without the required _meta is served", Breaks: "DISC-05", plant: metaMissingServed},
		{ID: "meta-capabilities-missing-served", Says: "a request without clientCapabilities is served", Breaks: "DISC-05", plant: header(func(x *exchange, _ http.Header) {
			if meta := at(x.params, "_meta"); meta[mcp.MetaClientCapabilities] == nil {
				meta[mcp.MetaClientCapabilities] = object{}
			}
		})},
		{ID: "meta-missing-200", Says: "a request without the required _meta is refused with status 200", Breaks: "HTTP-33", plant: heads(func(x *exchange, status int, _ http.Header) int {
			if status == http.StatusBadRequest && x.http.Header.Get(headerRevision) == string(mcp.Latest) && x.isRequest() {
				return http.StatusOK
			}
			return status
		})},
		{ID: "method-header-ignored", Says: "Mcp-Method is not compared with the body", Breaks: "HTTP-32", plant: header(func(x *exchange, h http.Header) {
			if h.Get(headerMethod) != "" {
				h.Set(headerMethod, x.method)
			}
		})},
		{ID: "method-header-missing-served", Says: "a request without Mcp-Method is served", Breaks: "HTTP-32", plant: header(func(x *exchange, h http.Header) {
			if h.Get(headerMethod) == "" {
				h.Set(headerMethod, x.method)
			}
		})},
		{ID: "name-header-ignored", Says: "Mcp-Name is not compared with the body", Breaks: "HTTP-32", plant: header(func(x *exchange, h http.Header) {
			if name := named(x); h.Get(headerName) != "" && name != "" {
				h.Set(headerName, name)
			}
		})},
		{ID: "name-header-missing-served", Says: "a call without Mcp-Name is served", Breaks: "HTTP-32", plant: header(func(x *exchange, h http.Header) {
			if name := named(x); h.Get(headerName) == "" && name != "" {
				h.Set(headerName, name)
			}
		})},
		{ID: "revision-header-mismatch-served", Says: "a revision in the header other than that in the body is served", Breaks: "HTTP-29", plant: header(func(x *exchange, h http.Header) {
			if v := text(at(x.params, "_meta")[mcp.MetaProtocolVersion]); h.Get(headerRevision) != "" && mcp.Version(v).Known() {
				h.Set(headerRevision, v)
			}
		})},
		{ID: "header-mismatch-code", Says: "headers that disagree with the body are answered with -32602", Breaks: "HTTP-32", plant: failures("-32020", func(_ *exchange, _, e object) { e["code"] = -32602 })},
		{ID: "header-mismatch-200", Says: "headers that disagree with the body are refused with status 200", Breaks: "HTTP-33", plant: failureStatus("-32020", http.StatusOK)},
		{ID: "param-header-ignored", Says: "Mcp-Param headers are not compared with the arguments", Breaks: "HDR-11", plant: header(func(_ *exchange, h http.Header) {
			for name := range h {
				if strings.HasPrefix(name, "Mcp-Param-") {
					h.Del(name)
				}
			}
		})},
		{ID: "name-header-not-decoded", Says: "the base64 form of a header is taken as it stands", Breaks: "HDR-05", plant: func() *defect {
			return &defect{request: func(x *exchange) []object {
				if x.http != nil && strings.HasPrefix(x.http.Header.Get(headerName), "=?base64?") {
					return x.failure(-32020, "Mcp-Name differs from the body")
				}
				return nil
			}}
		}},
		{ID: "x-mcp-header-invalid", Says: "a tool's x-mcp-header is no header name", Breaks: "HDR-06", plant: results(mcp.MethodToolsList, func(_ *exchange, result object) {
			each(result, func(o object) {
				if _, there := o["x-mcp-header"]; there {
					o["x-mcp-header"] = "not a token"
				}
			})
		})},
		{ID: "unknown-method-200", Says: "an unknown method is refused with status 200", Breaks: "HTTP-33", plant: heads(func(x *exchange, status int, _ http.Header) int {
			if status == http.StatusNotFound && x.stateless {
				return http.StatusOK
			}
			return status
		})},
		{ID: "ping-lives", Says: "ping is served in the stateless era", Breaks: "DISC-14", plant: func() *defect {
			return &defect{request: func(x *exchange) []object {
				if x.stateless && x.method == mcp.MethodPing && x.isRequest() {
					return x.result(x.complete(object{}))
				}
				return nil
			}}
		}},
		{ID: "subscribe-lives", Says: "resources/subscribe is served in the stateless era", Breaks: "DISC-14", plant: func() *defect {
			return &defect{request: func(x *exchange) []object {
				if x.stateless && x.method == mcp.MethodResourcesSubscribe && x.isRequest() {
					return x.result(x.complete(object{}))
				}
				return nil
			}}
		}},
		{ID: "stateless-get-404", Says: "GET without a session is answered with 404", Breaks: "HTTP-33", plant: heads(func(x *exchange, status int, _ http.Header) int {
			if status == http.StatusMethodNotAllowed {
				return http.StatusNotFound
			}
			return status
		})},
		{ID: "request-in-stateless", Says: "the server sends a request in the stateless era", Breaks: "RPC-14", plant: answers(func(x *exchange, r object) []object {
			if x.stateless && x.method == mcp.MethodToolsCall {
				return []object{{"jsonrpc": "2.0", "id": 1, "method": mcp.MethodRootsList, "params": object{}}, r}
			}
			return []object{r}
		})},
		{ID: "log-unasked", Says: "log messages come to a request that set no level", Breaks: "LOG-02", plant: answers(func(x *exchange, r object) []object {
			if x.stateless && x.method == mcp.MethodToolsCall && at(x.params, "_meta")[mcp.MetaLogLevel] == nil {
				return []object{note(mcp.MethodMessage, object{"level": "info", "data": "called"}), r}
			}
			return []object{r}
		})},
		{ID: "log-threshold-ignored", Says: "log messages below the level of the request are sent", Breaks: "LOG-02", plant: beforeAll(func(x *exchange) {
			if meta := at(x.params, "_meta"); x.stateless && knownLevel(text(meta[mcp.MetaLogLevel])) {
				meta[mcp.MetaLogLevel] = "debug"
			}
		})},
		{ID: "session-era-in-stateless", Says: "initialize is needed in the stateless era", Breaks: "DISC-11", plant: func() *defect {
			return &defect{request: func(x *exchange) []object {
				if x.stateless && x.isRequest() && x.method == mcp.MethodPromptsList {
					return x.failure(-32600, "not initialized")
				}
				return nil
			}}
		}},
	}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

// named is what Mcp-Name has to say of a request.
func named(x *exchange) string {
	switch x.method {
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
		return text(x.params["name"])
	case mcp.MethodResourcesRead:
		return text(x.params["uri"])
	}
	return ""
}

// metaMissingServed gives requests that name the stateless revision in their
// header alone the _meta they lack.
func metaMissingServed() *defect {
	return &defect{request: func(x *exchange) []object {
		if x.http == nil || x.http.Header.Get(headerRevision) != string(mcp.Latest) || x.stateless || !x.isRequest() {
			return nil
		}
		if x.params == nil {
			x.params = object{}
			x.message["params"] = x.params
		}
		meta := at(x.params, "_meta")
		meta[mcp.MetaProtocolVersion] = string(mcp.Latest)
		if meta[mcp.MetaClientCapabilities] == nil {
			meta[mcp.MetaClientCapabilities] = object{}
		}
		x.params["_meta"] = meta
		return nil
	}}
}

// failureStatus sends the errors with a code under another status.
func failureStatus(code string, status int) func() *defect {
	return func() *defect {
		return &defect{serve: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := peek(r)
				if x := read(body); err != nil || !x.stateless || x.method == mcp.MethodSubscriptionsListen {
					next.ServeHTTP(w, r)
					return
				}
				next.ServeHTTP(&statusWriter{ResponseWriter: w, code: code, status: status}, r)
			})
		}}
	}
}
