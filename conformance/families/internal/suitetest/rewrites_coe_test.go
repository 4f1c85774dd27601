package suitetest

import (
	"maps"
	"net/http"

	"github.com/mainstay-mcp/mainstay/conformance/families/checks/coe"
	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/reference"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// coeRewrites break the checks of the coe family.
func coeRewrites() map[string]rewritten {
	all := tableRewrites(coe.Area, onlyFamily(fixture.COE))
	shape := func(id string, change func(o *reference.COE)) {
		r := all[id]
		r.options = func(o *reference.Options) {
			onlyFamily(fixture.COE)(o)
			change(&o.COE)
		}
		all[id] = r
	}
	for _, id := range []string{"S1-NEXT-09/status", "S1-NEXT-04/implemented"} {
		shape(id, func(o *reference.COE) { o.NextTask = "implemented" })
	}
	shape("S1-NEXT-10/task", func(o *reference.COE) { o.NextTask = "legacy" })
	for _, id := range []string{"S1-TRANS-07/envelope", "S1-TRANS-07/others"} {
		shape(id, func(o *reference.COE) { o.NoOrchestrator = true })
	}
	// A server that does not say so is none the scenario is about: what breaks
	// the first check leaves its code.
	orchestrator := all["S1-TRANS-07/envelope"]
	orchestrator.after = spoiled(tableOf("S1-TRANS-07"), 0, 2, nil).after
	all["S1-TRANS-07/envelope"] = orchestrator

	maps.Copy(all, coeTransportRewrites())
	maps.Copy(all, coeLimitRewrites())
	maps.Copy(all, coeDrainRewrites())
	return all
}

// tableOf returns the table with an id.
func tableOf(id string) *table.Table {
	for _, sc := range registry() {
		if dataOf(&sc) != nil && dataOf(&sc).ID == id {
			return dataOf(&sc)
		}
	}
	panic("no table " + id)
}

func coeTransportRewrites() map[string]rewritten {
	only := onlyFamily(fixture.COE)
	payload := func(tool string, change func(m fakeMessage, p map[string]any)) func(m fakeMessage, r reply) []any {
		return func(m fakeMessage, r reply) []any {
			doc := table.Outcome(wire.ToAnswer(wire.Received(rawjson.Encode(r), nil)))
			p, ok := doc["payload"].(map[string]any)
			if !ok || m.call != tool && m.method != tool {
				return []any{r}
			}
			change(m, p)
			return []any{answerOf(m, r, doc)}
		}
	}
	wrap := func(m fakeMessage, r reply) []any {
		if m.method == coe.ToolNext {
			return []any{reply{"jsonrpc": "2.0", "id": r["id"], "result": reply{"content": []any{}, "isError": false}}}
		}
		return []any{r}
	}
	return map[string]rewritten{
		"S1-TRANS-01":      {options: only, after: wrap},
		"S1-TRANS-01/cold": {options: only, after: wrap},
		"S1-TRANS-02/payload": {options: only, after: payload(coe.ToolNext, func(m fakeMessage, p map[string]any) {
			if m.call != "" {
				p["queueLength"] = 4711
			}
		})},
		"S1-TRANS-02/error": {options: only, after: func(m fakeMessage, r reply) []any {
			if _, failed := r["error"]; failed && m.call != "" {
				return []any{failure(m.id, wire.CodeInvalidParams, "no such filter", nil)}
			}
			return []any{r}
		}},
		"S1-TRANS-02/structured": {options: only, after: func(m fakeMessage, r reply) []any {
			if res, ok := r["result"].(map[string]any); ok && m.call == coe.ToolNext {
				res["structuredContent"] = reply{"success": true}
			}
			return []any{r}
		}},
		"S1-TRANS-04": {options: only, after: payload(coe.ToolAsk, func(_ fakeMessage, p map[string]any) { p["question"] = "Gr��e" })},
		"S1-TICKET-06": {options: only, after: payload(coe.ToolTicket, func(_ fakeMessage, p map[string]any) {
			p["ticket"] = map[string]any{"id": "TK-123"}
		})},
		"S1-ADMIN-01": {options: func(o *reference.Options) { only(o); o.COE.Admin = false }, after: changed(mcp.MethodToolsList, func(_ fakeMessage, result reply) {
			tools, _ := result["tools"].([]any)
			result["tools"] = append(tools, reply{"name": "clearQueue", "inputSchema": reply{"type": "object"}})
		}).after},
		"S1-INJ-02": {options: func(o *reference.Options) { only(o); o.AllowFaultInjection = false }, after: func(m fakeMessage, r reply) []any {
			if m.method == coe.MethodInject {
				return []any{reply{"jsonrpc": "2.0", "id": r["id"], "result": reply{}}}
			}
			return []any{r}
		}},
	}
}

func coeLimitRewrites() map[string]rewritten {
	only := onlyFamily(fixture.COE)
	refusals := func(change func(e *wire.RPCError, data map[string]any)) rewritten {
		return rewritten{options: only, after: func(_ fakeMessage, r reply) []any {
			a := wire.ToAnswer(wire.Received(rawjson.Encode(r), nil))
			if a.Err == nil || a.Err.Code != http.StatusTooManyRequests {
				return []any{r}
			}
			data, _ := table.Decoded(a.Err.Data).(map[string]any)
			change(a.Err, data)
			a.Err.Data = rawjson.Encode(data)
			return []any{reply{"jsonrpc": "2.0", "id": r["id"], "error": a.Err}}
		}}
	}
	limitError := func(change func(e map[string]any)) rewritten {
		return rewritten{options: only, after: func(m fakeMessage, r reply) []any {
			doc := table.Outcome(wire.ToAnswer(wire.Received(rawjson.Encode(r), nil)))
			if table.TextAt(doc, "payload.error.code") != "RATE_LIMIT" {
				return []any{r}
			}
			e, _ := table.Lookup(doc, "payload.error")
			members, _ := e.(map[string]any)
			change(members)
			return []any{answerOf(m, r, doc)}
		}}
	}
	// every call is one too many, or each after the tenth of all agents
	refusing := func(from int) rewritten {
		n := 0
		return rewritten{options: only, after: func(m fakeMessage, r reply) []any {
			if m.call != coe.ToolNext {
				return []any{r}
			}
			n++
			if n < from {
				return []any{r}
			}
			return []any{failure(m.id, http.StatusTooManyRequests, "Too Many Requests", reply{"scope": "burst"})}
		}}
	}
	headers := func(change func(h http.Header)) rewritten {
		return rewritten{options: only, http: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				next.ServeHTTP(&headerWriter{ResponseWriter: w, change: change}, req)
			})
		}}
	}
	n := 1000
	return map[string]rewritten{
		"S1-RATE-03/ten":     refusing(10),
		"S1-RATE-03/refused": refusals(func(e *wire.RPCError, _ map[string]any) { e.Code = http.StatusServiceUnavailable }),
		"S1-RATE-03/data":    refusals(func(_ *wire.RPCError, data map[string]any) { delete(data, "retry_after_seconds") }),
		"S1-RATE-03/envelope": limitError(func(e map[string]any) {
			e["retry_after_seconds"] = nil
		}),
		"S1-ERR-04/rate":         limitError(func(e map[string]any) { e["retryable"] = false }),
		"S1-RATE-07":             refusing(12),
		"S1-RATE-04/limit":       headers(func(h http.Header) { h.Set("X-RateLimit-Limit", "60") }),
		"S1-RATE-04/remaining":   headers(func(h http.Header) { h.Set("X-RateLimit-Remaining", "7") }),
		"S1-RATE-04/reset":       headers(func(h http.Header) { h.Set("X-RateLimit-Reset", "30") }),
		"S1-RATE-04/retry-after": headers(func(h http.Header) { h.Del("Retry-After") }),
		"S1-RATE-06": headers(func(h http.Header) {
			n--
			if h.Get("Retry-After") != "" {
				h.Set("X-RateLimit-Remaining", itoa(n))
			}
		}),
	}
}

func coeDrainRewrites() map[string]rewritten {
	only := onlyFamily(fixture.COE)
	next := func(change func(doc, p map[string]any)) rewritten {
		return rewritten{options: only, after: func(m fakeMessage, r reply) []any {
			doc := table.Outcome(wire.ToAnswer(wire.Received(rawjson.Encode(r), nil)))
			p, ok := doc["payload"].(map[string]any)
			if m.call != coe.ToolNext && m.call != coe.ToolDone || !ok {
				return []any{r}
			}
			change(doc, p)
			return []any{answerOf(m, r, doc)}
		}}
	}
	calls := 0
	return map[string]rewritten{
		"S1-NEXT-02/empty": next(func(_, p map[string]any) {
			if p["task"] == nil {
				p["queueLength"] = 1
			}
		}),
		"S1-NEXT-05/drained": next(func(_, p map[string]any) {
			if task, ok := p["task"].(map[string]any); ok {
				calls++
				task["priority"] = coe.Priorities[(calls+2)%4]
			}
		}),
		"S1-NEXT-07/drained": next(func(_, p map[string]any) {
			if task, ok := p["task"].(map[string]any); ok {
				task["blockedBy"] = []any{"TASK-001"}
			}
		}),
		"S1-DONE-07/drained": next(func(_, p map[string]any) {
			if _, done := p["dashboardUpdate"]; done {
				p["nextTaskId"] = "TASK-001"
			}
		}),
		"S1-TRANS-08/reset": {options: only, first: func() func(m fakeMessage) ([]any, bool) {
			resets := 0
			return func(m fakeMessage) ([]any, bool) {
				if m.method != coe.MethodReset {
					return nil, false
				}
				resets++
				return []any{reply{"jsonrpc": "2.0", "id": m.id, "result": reply{"success": true}}}, resets > 1
			}
		}()},
	}
}

func itoa(n int) string { return string(rawjson.Encode(n)) }

// headerWriter changes the headers of an answer before they are written.
type headerWriter struct {
	http.ResponseWriter
	change func(h http.Header)
	done   bool
}

func (w *headerWriter) once() {
	if !w.done {
		w.done = true
		w.change(w.Header())
	}
}

func (w *headerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *headerWriter) WriteHeader(status int) {
	w.once()
	w.ResponseWriter.WriteHeader(status)
}

func (w *headerWriter) Write(data []byte) (int, error) {
	w.once()
	return w.ResponseWriter.Write(data)
}

func (w *headerWriter) Flush() {
	w.once()
	_ = http.NewResponseController(w.ResponseWriter).Flush() // a writer that cannot flush has written already
}
