package calls_test

import (
	"context"
	"encoding/json"
	"io"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// examples are calls that succeed with a healthy stranger.
func examples() conformance.Calls {
	return conformance.Calls{
		Tools: map[string]conformance.ToolCalls{
			"find": {Examples: []map[string]any{{"id": "7"}}},
			"add":  {Examples: []map[string]any{{"a": 1, "b": 2}}, Changes: []string{"sum://all"}},
		},
		Prompts:   map[string]conformance.PromptCalls{"greet": {Examples: []map[string]string{{"city": "Oslo"}}}},
		Templates: map[string]conformance.TemplateCalls{"sum://{name}": {Examples: []string{"sum://all"}}},
	}
}

func judge(t *testing.T, s *stranger, opts conformance.Options) *conformance.Report {
	t.Helper()
	opts.Revisions, opts.Only, opts.SideEffects = []mcp.Version{mcp.LatestSession}, []string{"calls"}, conformance.SideEffectsReadOnly
	report, err := checks.Run(t.Context(), conformance.InProcess(func(ctx context.Context, in io.Reader, out io.Writer) error { return s.serve(ctx, in, out) }), opts)
	require.NoError(t, err)
	return report
}

// broken returns the ids of the checks with an outcome that is no pass and no skip, in order.
func broken(report *conformance.Report) []string {
	ids := []string{}
	for _, r := range report.Results {
		if r.Status != conformance.Pass && r.Status != conformance.Skip {
			ids = append(ids, r.ID)
		}
	}
	sort.Strings(ids)
	return ids
}

// TestHealthy: a server without defects passes each check, with examples and without.
func TestHealthy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		require.Empty(t, broken(judge(t, &stranger{}, conformance.Options{})))
	})
	synctest.Test(t, func(t *testing.T) {
		report := judge(t, &stranger{}, conformance.Options{Calls: examples(), Seed: 3})
		require.Empty(t, broken(report))
		for _, r := range report.Results {
			if r.Area == "calls" {
				skipped := r.ID == "CALL-06/read" // with examples nothing is completed
				require.Equal(t, skipped, r.Status == conformance.Skip, "%s %s", r.ID, r.Detail)
			}
		}
		said := report.Revisions[0]
		require.Equal(t, []int{4, 4, 2, 4}, []int{said.Tools, said.Called, said.WithExamples, said.ReadOnly})
	})
}

// TestPermission: nothing is called that the file of calls forbids, or that nothing permits.
func TestPermission(t *testing.T) {
	t.Parallel()
	no, yes := false, true
	called := func(t *testing.T, calls conformance.Calls, annotated bool) map[string]bool {
		t.Helper()
		names := map[string]bool{}
		s := &stranger{before: func(c *conversation, r request) {
			c.mu.Lock()
			defer c.mu.Unlock()
			names[r.Params.Name] = true
		}}
		if !annotated {
			s.list = func(tools []object) {
				for _, tool := range tools {
					delete(tool, "annotations")
				}
			}
		}
		judge(t, s, conformance.Options{Calls: calls})
		return names
	}
	synctest.Test(t, func(t *testing.T) {
		names := called(t, conformance.Calls{Tools: map[string]conformance.ToolCalls{"say": {Call: &no}}}, true)
		require.Equal(t, map[string]bool{"add": true, "long": true, "find": true}, names)
	})
	synctest.Test(t, func(t *testing.T) {
		names := called(t, conformance.Calls{Tools: map[string]conformance.ToolCalls{"say": {Call: &yes}}}, false)
		require.Equal(t, map[string]bool{"say": true}, names)
	})
	synctest.Test(t, func(t *testing.T) {
		require.Empty(t, called(t, conformance.Calls{}, false))
	})
}

// inResult changes the results of a tool.
func inResult(tool string, change func(result object)) func(request, object) object {
	return func(r request, reply object) object {
		if result, ok := reply["result"].(object); ok && r.Params.Name == tool && r.Method == "tools/call" {
			change(result)
		}
		return reply
	}
}

// of changes the answers to a method.
func of(method string, change func(reply object) object) func(request, object) object {
	return func(r request, reply object) object {
		if r.Method == method {
			return change(reply)
		}
		return reply
	}
}

// failed makes an answer an error.
func failed(code int) func(object) object {
	return func(reply object) object {
		delete(reply, "result")
		reply["error"] = object{"code": code, "message": "no"}
		return reply
	}
}

// progress sends progress for a call of add.
func progress(params func(token any) object) func(*conversation, request) {
	return func(c *conversation, r request) {
		var token any
		_ = json.Unmarshal(r.Params.Meta.ProgressToken, &token)
		if r.Params.Name == "add" {
			if p := params(token); p != nil {
				c.notify("notifications/progress", p)
			}
		}
	}
}

// TestDefects: each defect breaks its check, and no other.
func TestDefects(t *testing.T) {
	t.Parallel()
	unicode := func(r request) bool {
		text, _ := r.Params.Arguments["text"].(string)
		return strings.Contains(text, "🦊")
	}
	var once atomic.Bool
	for name, tt := range map[string]struct {
		stranger
		want []string
	}{
		"no structured content": {stranger{answer: inResult("add", func(r object) { delete(r, "structuredContent") })}, []string{"CALL-01/structured"}},
		"structured content of texts": {stranger{answer: inResult("add", func(r object) {
			r["structuredContent"] = object{"sum": "3"}
			r["content"] = []object{{"type": "text", "text": `{"sum":"3"}`}}
		})}, []string{"CALL-01/structured"}},
		"another text": {stranger{answer: inResult("add", func(r object) { r["content"] = []object{{"type": "text", "text": "the sum"}} })}, []string{"CALL-01/mirror"}},
		"an internal error": {stranger{answer: func(r request, reply object) object {
			if r.Params.Name == "find" {
				return failed(-32603)(reply)
			}
			return reply
		}}, []string{"CALL-01/examples", "CALL-01/is-error"}},
		"a schema that lies": {stranger{answer: func(r request, reply object) object {
			if unicode(r) {
				return failed(-32602)(reply)
			}
			return reply
		}}, []string{"CALL-01/accepts"}},
		"a listed tool that is unknown": {stranger{answer: func(r request, reply object) object {
			if r.Params.Name == "say" {
				return failed(-32601)(reply)
			}
			return reply
		}}, []string{"CALL-01/known"}},
		"an example that fails": {stranger{answer: inResult("find", func(r object) { r["isError"] = true })}, []string{"CALL-01/examples"}},
		"it dies of some texts": {stranger{dies: unicode}, []string{"CALL-01/alive"}},
		"it dies once": {stranger{dies: func(r request) bool {
			return unicode(r) && once.CompareAndSwap(false, true)
		}}, nil},
		"silence to some texts": {stranger{answer: func(r request, reply object) object {
			if unicode(r) {
				return nil
			}
			return reply
		}}, []string{"CALL-01/answered"}},
		"a tool that never answers": {stranger{answer: func(r request, reply object) object {
			if r.Params.Name == "say" {
				return nil
			}
			return reply
		}}, []string{"CALL-01/in-time"}},
		"answers of others": {stranger{mixes: true}, []string{"CALL-02/own"}},
		"a token of another type": {stranger{before: progress(func(token any) object {
			if n, ok := token.(float64); ok {
				return object{"progressToken": string(rune('0' + int(n)%10)), "progress": 1}
			}
			return nil
		})}, []string{"CALL-03/token"}},
		"progress that stands still": {stranger{before: func(c *conversation, r request) {
			for range 2 {
				progress(func(token any) object {
					if token == nil {
						return nil
					}
					return object{"progressToken": token, "progress": 1}
				})(c, r)
			}
		}}, []string{"CALL-03/increases"}},
		"progress as a text": {stranger{before: progress(func(token any) object {
			if token == nil {
				return nil
			}
			return object{"progressToken": token, "progress": "half"}
		})}, []string{"CALL-03/number"}},
		"progress after the answer": {stranger{after: progress(func(token any) object {
			if token == nil {
				return nil
			}
			return object{"progressToken": token, "progress": 9}
		})}, []string{"CALL-03/after"}},
		"progress nobody asked for": {stranger{before: progress(func(token any) object {
			if token == nil {
				return object{"progressToken": "", "progress": 1}
			}
			return object{"progressToken": token, "progress": 1}
		})}, []string{"CALL-03/none"}},
		"it dies of a cancellation":  {stranger{dies: func(r request) bool { return r.Method == "notifications/cancelled" }}, []string{"CALL-04/alive"}},
		"it does not cancel":         {stranger{stubborn: true}, []string{"CALL-04/silent", "CALL-04/stops"}},
		"logs that are not declared": {stranger{capabilities: func(c object) { delete(c, "logging") }}, []string{"CALL-05/declared"}},
		"logs without a level":       {stranger{before: func(c *conversation, r request) { c.notify("notifications/message", object{"data": 1}) }}, []string{"CALL-05/shape", "CALL-05/threshold"}},
		"logs below the level": {stranger{before: func(c *conversation, r request) {
			c.notify("notifications/message", object{"level": "info", "data": 1})
		}}, []string{"CALL-05/threshold"}},
		"a template nobody can read": {stranger{answer: of("resources/read", failed(-32002))}, []string{"CALL-06/examples"}},
		"contents of another": {stranger{answer: of("resources/read", func(r object) object {
			r["result"] = object{"contents": []object{{"uri": "x://y", "text": "3"}}}
			return r
		})}, []string{"CALL-06/uri"}},
		"a prompt nobody can have":   {stranger{answer: of("prompts/get", failed(-32603))}, []string{"CALL-07/examples", "CALL-07/get"}},
		"completion that is unknown": {stranger{answer: of("completion/complete", failed(-32603))}, []string{"CALL-08/answered"}},
		"values that are no texts":   {stranger{answer: of("completion/complete", func(r object) object { r["result"] = object{"completion": object{"values": []int{1}}}; return r })}, []string{"CALL-08/values"}},
		"a total that is too small": {stranger{answer: of("completion/complete", func(r object) object {
			r["result"] = object{"completion": object{"values": []string{"a", "b"}, "total": 1}}
			return r
		})}, []string{"CALL-08/total"}},
		"too many values": {stranger{answer: of("completion/complete", func(r object) object {
			r["result"] = object{"completion": object{"values": make([]string, 101)}}
			return r
		})}, []string{"CALL-08/hundred"}},
		"no subscriptions":         {stranger{answer: of("resources/subscribe", failed(-32601))}, []string{"CALL-09/subscribe"}},
		"no news":                  {stranger{quiet: true}, []string{"CALL-09/updated"}},
		"news of another resource": {stranger{quiet: true, before: func(c *conversation, r request) { c.notify("notifications/resources/updated", object{"uri": "x://y"}) }}, []string{"CALL-09/updated", "CALL-09/uri"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				report := judge(t, &tt.stranger, conformance.Options{Calls: examples()})
				require.ElementsMatch(t, tt.want, broken(report))
				for _, r := range report.Results {
					if r.Status == conformance.Fail || r.Status == conformance.Warn {
						require.NotEmpty(t, r.Evidence, r.ID)
						require.NotEmpty(t, r.Actual, r.ID)
					}
				}
			})
		})
	}
}

// TestWithoutExamples: what only a server's own values show.
func TestWithoutExamples(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stranger
		want []string
	}{
		"a completed uri nobody can read": {stranger{answer: of("resources/read", failed(-32002))}, []string{"CALL-06/read"}},
		"a prompt that fails":             {stranger{answer: of("prompts/get", failed(-32603))}, []string{"CALL-07/get"}},
		"it dies of a prompt":             {stranger{dies: func(r request) bool { return r.Method == "prompts/get" }}, []string{"CALL-07/get"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				require.Equal(t, tt.want, broken(judge(t, &tt.stranger, conformance.Options{})))
			})
		})
	}
}
