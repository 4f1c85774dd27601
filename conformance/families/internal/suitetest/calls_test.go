package suitetest

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// strangerCalls are calls that succeed with a healthy stranger.
func strangerCalls() conformance.Calls {
	return conformance.Calls{
		Tools: map[string]conformance.ToolCalls{
			"find": {Examples: []map[string]any{{"id": "7"}}},
			"add":  {Examples: []map[string]any{{"a": 1, "b": 2}}, Changes: []string{"sum://all"}},
		},
		Prompts:   map[string]conformance.PromptCalls{"greet": {Examples: []map[string]string{{"city": "Oslo"}}}},
		Templates: map[string]conformance.TemplateCalls{"sum://{name}": {Examples: []string{"sum://all"}}},
	}
}

func judgeStranger(t *testing.T, s *strangerServer, opts conformance.Options) *conformance.Report {
	t.Helper()
	opts.Revisions, opts.SideEffects = []mcp.Version{mcp.LatestSession}, conformance.SideEffectsReadOnly
	if opts.Only == nil {
		opts.Only = []string{"calls"}
	}
	if s.stateless {
		opts.Revisions = []mcp.Version{mcp.Latest}
	}
	report, err := checks.Run(t.Context(), conformance.InProcess(func(ctx context.Context, in io.Reader, out io.Writer) error { return s.serve(ctx, in, out) }), opts)
	require.NoError(t, err)
	return report
}

// brokenIDs returns the ids of the checks with an outcome that is no pass and no skip, in order.
func brokenIDs(report *conformance.Report) []string {
	ids := []string{}
	for _, r := range report.Results {
		if r.Status != conformance.Pass && r.Status != conformance.Skip {
			ids = append(ids, r.ID)
		}
	}
	sort.Strings(ids)
	return ids
}

// TestStranger_Healthy: a server without defects passes each check, with examples and without.
func TestStranger_Healthy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		require.Empty(t, brokenIDs(judgeStranger(t, &strangerServer{}, conformance.Options{})))
	})
	synctest.Test(t, func(t *testing.T) {
		report := judgeStranger(t, &strangerServer{grows: true, stateless: true}, conformance.Options{Calls: strangerCalls()})
		require.Empty(t, brokenIDs(report))
		passed := 0
		for _, r := range report.Results {
			if strings.HasPrefix(r.ID, "CALL-09/") || strings.HasPrefix(r.ID, "CALL-10/") {
				if r.Status == conformance.Pass {
					passed++
				}
			}
		}
		require.Equal(t, 8, passed, "all but the answer to resources/subscribe")
	})
	synctest.Test(t, func(t *testing.T) {
		asks := userForm(reply{"type": "array", "items": reply{"enum": []string{"a", "b"}}, "default": []string{"a"}})
		report := judgeStranger(t, &strangerServer{grows: true, asks: asks}, conformance.Options{Calls: strangerCalls(), Seed: 3})
		require.Empty(t, brokenIDs(report))
		for _, r := range report.Results {
			if r.Area == "calls" {
				skipped := strings.HasSuffix(r.ID, "/tagged") || slices.Contains([]string{"CALL-05/silent", "CALL-06/read", "CALL-01/links", "CALL-11/model"}, r.ID) || strings.HasPrefix(r.ID, "CALL-12/") // with examples nothing is completed; no tool links, or asks the model; sessions need HTTP, tags and levels of calls the stateless era
				require.Equal(t, skipped, r.Status == conformance.Skip, "%s %s", r.ID, r.Detail)
			}
		}
		said := report.Revisions[0]
		require.Equal(t, []int{4, 4, 2, 4}, []int{said.Tools, said.Called, said.WithExamples, said.ReadOnly})
	})
}

// TestStranger_Fair: what no sentence forbids breaks nothing.
func TestStranger_Fair(t *testing.T) {
	t.Parallel()
	var records atomic.Int64
	lines := func(result reply) {
		result["isError"] = false
		result["content"] = []reply{{"type": "text", "text": strings.Repeat("a record\n", int(records.Load()))}}
	}
	const tasked = "say"
	for name, tt := range map[string]strangerDefect{
		"a list that other calls make longer": {strangerServer{list: func(tools []reply) {
			tools[2]["inputSchema"] = reply{"type": "object", "properties": reply{"limit": reply{"type": "integer"}}}
		}, answer: func(r strangerRequest, a reply) reply {
			if r.Params.Name == "find" {
				records.Add(1)
			}
			return inStrangerResult("find", lines)(r, inStrangerResult("long", lines)(r, a))
		}}, nil},
		"a tool that takes longer for larger numbers": {strangerServer{list: func(tools []reply) {
			tools[0]["inputSchema"] = reply{"type": "object", "properties": reply{"a": reply{"type": "integer", "maximum": 5000}}, "required": []string{"a"}}
		}, answer: func(r strangerRequest, a reply) reply {
			if number, _ := r.Params.Arguments["a"].(float64); number == 5000 {
				return nil
			}
			return a
		}}, nil},
		"progress that begins below zero": {strangerServer{before: reports(func(token any) reply {
			if token == nil {
				return nil
			}
			return reply{"progressToken": token, "progress": -7}
		})}, nil},
		"a tool that runs only as a task": {strangerServer{list: func(tools []reply) {
			tools[1]["execution"] = reply{"taskSupport": "required"}
		}, answer: func(r strangerRequest, a reply) reply {
			if r.Params.Name == tasked {
				return withError(-32601)(a)
			}
			return a
		}}, nil},
		"a listed resource without news": {strangerServer{answer: toMethod(mcp.MethodResourcesSubscribe, withError(-32002))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				require.ElementsMatch(t, tt.want, brokenIDs(judgeStranger(t, &tt.strangerServer, conformance.Options{})))
			})
		})
	}
}

// TestStranger_Permission: nothing is called that the file of calls forbids, or that nothing permits.
func TestStranger_Permission(t *testing.T) {
	t.Parallel()
	no, yes := false, true
	called := func(t *testing.T, calls conformance.Calls, annotated bool) map[string]bool {
		t.Helper()
		names := map[string]bool{}
		s := &strangerServer{before: func(c *strangerTalk, r strangerRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			names[r.Params.Name] = true
		}}
		if !annotated {
			s.list = func(tools []reply) {
				for _, tool := range tools {
					delete(tool, "annotations")
				}
			}
		}
		judgeStranger(t, s, conformance.Options{Calls: calls})
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

// inStrangerResult changes the results of a tool.
func inStrangerResult(tool string, change func(result reply)) func(strangerRequest, reply) reply {
	return func(r strangerRequest, a reply) reply {
		if result, ok := a["result"].(reply); ok && r.Params.Name == tool && r.Method == "tools/call" {
			change(result)
		}
		return a
	}
}

// toMethod changes the answers to a method.
func toMethod(method string, change func(a reply) reply) func(strangerRequest, reply) reply {
	return func(r strangerRequest, a reply) reply {
		if r.Method == method {
			return change(a)
		}
		return a
	}
}

// forMissing changes the answers to reads of what nothing has.
func forMissing(change func(a reply) reply) func(strangerRequest, reply) reply {
	return func(r strangerRequest, a reply) reply {
		if r.Method == mcp.MethodResourcesRead && strings.Contains(r.Params.URI, "no-such-value") {
			return change(a)
		}
		return a
	}
}

// withError makes an answer an error.
func withError(code int) func(reply) reply {
	return func(a reply) reply {
		delete(a, "result")
		a["error"] = reply{"code": code, "message": "no"}
		return a
	}
}

// reports sends progress for a call of add.
func reports(params func(token any) reply) func(*strangerTalk, strangerRequest) {
	return func(c *strangerTalk, r strangerRequest) {
		var token any
		_ = json.Unmarshal(r.Params.Meta.ProgressToken, &token)
		if r.Params.Name == "add" {
			if p := params(token); p != nil {
				c.notify("notifications/progress", p)
			}
		}
	}
}

// strangerDefect is a defect of a stranger, and the checks that it breaks.
type strangerDefect struct {
	strangerServer
	want []string
}

// strangerDefects has a defect for each check of the calls.
func strangerDefects() map[string]strangerDefect {
	unicode := func(r strangerRequest) bool {
		text, _ := r.Params.Arguments["text"].(string)
		return strings.Contains(text, "🦊")
	}
	var once, stuck atomic.Bool
	return map[string]strangerDefect{
		"no structured content": {strangerServer{answer: inStrangerResult("add", func(r reply) { delete(r, "structuredContent") })}, []string{"CALL-01/structured"}},
		"structured content of texts": {strangerServer{answer: inStrangerResult("add", func(r reply) {
			r["structuredContent"] = reply{"sum": "3"}
			r["content"] = []reply{{"type": "text", "text": `{"sum":"3"}`}}
		})}, []string{"CALL-01/structured"}},
		"a format it does not keep": {strangerServer{list: func(tools []reply) {
			tools[0]["outputSchema"] = reply{"type": "object", "properties": reply{"days": reply{"type": "array", "items": reply{"type": "string", "format": "date"}}}}
		}, answer: inStrangerResult("add", func(r reply) {
			r["structuredContent"] = reply{"days": []string{"2026-01-31", "Sat Jan 31"}}
			r["content"] = []reply{{"type": "text", "text": `{"days":["2026-01-31","Sat Jan 31"]}`}}
		})}, []string{"CALL-01/formats"}},
		"a link nobody can read": {strangerServer{answer: inStrangerResult("say", func(r reply) {
			r["content"] = []reply{{"type": "resource_link", "uri": "sum://nothing", "name": "nothing"}}
		})}, []string{"CALL-01/links"}},
		"news nobody asked for": {strangerServer{before: func(c *strangerTalk, r strangerRequest) {
			if !c.subscribed["sum://all"] {
				c.notify("notifications/resources/updated", reply{"uri": "sum://all"})
			}
		}}, []string{"CALL-09/unasked"}},
		"another text": {strangerServer{answer: inStrangerResult("add", func(r reply) { r["content"] = []reply{{"type": "text", "text": "the sum"}} })}, []string{"CALL-01/mirror"}},
		"an internal error": {strangerServer{answer: func(r strangerRequest, a reply) reply {
			if r.Params.Name == "find" {
				return withError(-32603)(a)
			}
			return a
		}}, []string{"CALL-01/examples", "CALL-01/is-error"}},
		"a schema that lies": {strangerServer{answer: func(r strangerRequest, a reply) reply {
			if unicode(r) {
				return withError(-32602)(a)
			}
			return a
		}}, []string{"CALL-01/accepts"}},
		"a listed tool that is unknown": {strangerServer{answer: func(r strangerRequest, a reply) reply {
			if r.Params.Name == "say" {
				return withError(-32601)(a)
			}
			return a
		}}, []string{"CALL-01/known"}},
		"an example that fails": {strangerServer{answer: inStrangerResult("find", func(r reply) { r["isError"] = true })}, []string{"CALL-01/examples"}},
		"it dies of some texts": {strangerServer{dies: unicode}, []string{"CALL-01/alive"}},
		"it dies once": {strangerServer{dies: func(r strangerRequest) bool {
			return unicode(r) && once.CompareAndSwap(false, true)
		}}, nil},
		"silence to some texts": {strangerServer{answer: func(r strangerRequest, a reply) reply {
			if unicode(r) {
				return nil
			}
			return a
		}}, []string{"CALL-01/answered"}},
		"work without end on a large number": {strangerServer{
			list: func(tools []reply) {
				tools[1]["inputSchema"].(reply)["properties"].(reply)["times"] = reply{"type": "integer", "minimum": 1}
			},
			answer: func(r strangerRequest, a reply) reply {
				if times, _ := r.Params.Arguments["times"].(float64); times > 1e9 {
					return nil
				}
				return a
			},
		}, nil},
		"a tool that never answers": {strangerServer{answer: func(r strangerRequest, a reply) reply {
			if r.Params.Name == "say" {
				return nil
			}
			return a
		}}, []string{"CALL-01/in-time"}},
		"a ping that has to wait": {strangerServer{blocks: true}, []string{"CALL-02/ping"}},
		"a tool that is dead after a cancellation": {strangerServer{dies: func(r strangerRequest) bool {
			if r.Method == "initialize" || r.Method == "notifications/cancelled" {
				stuck.Store(r.Method != "initialize")
			}
			return false
		}, answer: func(r strangerRequest, a reply) reply {
			if r.Params.Name == "long" && stuck.Load() {
				return nil
			}
			return a
		}}, []string{"CALL-04/again"}},
		"an error that is only a text": {strangerServer{answer: inStrangerResult("say", func(r reply) {
			r["content"] = []reply{{"type": "text", "text": "Error: nothing to say"}}
		})}, []string{"CALL-01/error-text"}},
		"answers of others":  {strangerServer{mixes: true}, []string{"CALL-02/own"}},
		"one answer for two": {strangerServer{drops: true}, []string{"CALL-02/answered", "CALL-02/own"}},
		"a token of another type": {strangerServer{before: reports(func(token any) reply {
			if n, ok := token.(float64); ok {
				return reply{"progressToken": string(rune('0' + int(n)%10)), "progress": 1}
			}
			return nil
		})}, []string{"CALL-03/token"}},
		"progress that stands still": {strangerServer{before: func(c *strangerTalk, r strangerRequest) {
			for range 2 {
				reports(func(token any) reply {
					if token == nil {
						return nil
					}
					return reply{"progressToken": token, "progress": 1}
				})(c, r)
			}
		}}, []string{"CALL-03/increases"}},
		"progress as a text": {strangerServer{before: reports(func(token any) reply {
			if token == nil {
				return nil
			}
			return reply{"progressToken": token, "progress": "half"}
		})}, []string{"CALL-03/number"}},
		"progress after the answer": {strangerServer{after: reports(func(token any) reply {
			if token == nil {
				return nil
			}
			return reply{"progressToken": token, "progress": 9}
		})}, []string{"CALL-03/after"}},
		"progress that comes when all is answered": {strangerServer{after: func(c *strangerTalk, r strangerRequest) {
			if token := r.Params.Meta.ProgressToken; token != nil {
				time.AfterFunc(100*time.Millisecond, func() { c.notify("notifications/progress", reply{"progressToken": token, "progress": 1}) })
			}
		}}, []string{"CALL-03/after", "CALL-04/stops"}},
		"progress under the token of an old call": {strangerServer{before: func(c *strangerTalk, r strangerRequest) {
			c.mu.Lock()
			token := r.Params.Meta.ProgressToken
			if c.oldest == nil {
				c.oldest = token
			}
			token = c.oldest
			c.mu.Unlock()
			if token != nil {
				c.notify("notifications/progress", reply{"progressToken": token, "progress": 1})
			}
		}}, []string{"CALL-03/after", "CALL-03/token"}},
		"progress nobody asked for": {strangerServer{before: reports(func(token any) reply {
			if token == nil {
				return reply{"progressToken": "", "progress": 1}
			}
			return reply{"progressToken": token, "progress": 1}
		})}, []string{"CALL-03/none"}},
		"it dies of a cancellation":  {strangerServer{dies: func(r strangerRequest) bool { return r.Method == "notifications/cancelled" }}, []string{"CALL-04/alive"}},
		"it does not cancel":         {strangerServer{stubborn: true}, []string{"CALL-04/silent", "CALL-04/stops"}},
		"logs that are not declared": {strangerServer{capabilities: func(c reply) { delete(c, "logging") }}, []string{"CALL-05/declared"}},
		"logs without a level":       {strangerServer{before: func(c *strangerTalk, r strangerRequest) { c.notify("notifications/message", reply{"data": 1}) }}, []string{"CALL-05/shape"}},
		"logs below the level": {strangerServer{before: func(c *strangerTalk, r strangerRequest) {
			c.notify("notifications/message", reply{"level": "info", "data": 1})
		}}, []string{"CALL-05/threshold"}},
		"a template nobody can read": {strangerServer{answer: toMethod("resources/read", withError(-32002))}, []string{"CALL-06/examples"}},
		"contents of another": {strangerServer{answer: toMethod("resources/read", func(r reply) reply {
			r["result"] = reply{"contents": []reply{{"uri": "x://y", "text": "3"}}}
			return r
		})}, []string{"CALL-06/uri"}},
		"a prompt nobody can have":   {strangerServer{answer: toMethod("prompts/get", withError(-32603))}, []string{"CALL-07/examples", "CALL-07/get"}},
		"completion that is unknown": {strangerServer{answer: toMethod("completion/complete", withError(-32603))}, []string{"CALL-08/answered"}},
		"values that are no texts":   {strangerServer{answer: toMethod("completion/complete", func(r reply) reply { r["result"] = reply{"completion": reply{"values": []int{1}}}; return r })}, []string{"CALL-08/values"}},
		"a total that is too small": {strangerServer{answer: toMethod("completion/complete", func(r reply) reply {
			r["result"] = reply{"completion": reply{"values": []string{"a", "b"}, "total": 1}}
			return r
		})}, []string{"CALL-08/total"}},
		"too many values": {strangerServer{answer: toMethod("completion/complete", func(r reply) reply {
			r["result"] = reply{"completion": reply{"values": make([]string, 101)}}
			return r
		})}, []string{"CALL-08/hundred"}},
		"no subscriptions":             {strangerServer{answer: toMethod("resources/subscribe", withError(-32601))}, []string{"CALL-09/subscribe"}},
		"no news":                      {strangerServer{quiet: true}, []string{"CALL-09/updated"}},
		"the token of the latest call": {strangerServer{latest: true}, []string{"CALL-02/progress"}},
		"it wants the member arguments": {strangerServer{answer: func(r strangerRequest, a reply) reply {
			if r.Params.Name == "long" && r.Params.Arguments == nil {
				delete(a, "result")
				a["error"] = reply{"code": -32602, "message": "arguments missing"}
			}
			return a
		}}, []string{"CALL-01/bare"}},
		"logs that nobody asked for": {strangerServer{stateless: true, before: func(c *strangerTalk, r strangerRequest) {
			if r.Params.Meta.Level == "" {
				c.notify("notifications/message", reply{"level": "info", "data": "working"})
			}
		}}, []string{"CALL-05/silent"}},
		"news of no subscription":         {strangerServer{stateless: true, grows: true, untagged: true}, []string{"CALL-09/tagged", "CALL-10/tagged"}},
		"a form in a form":                {strangerServer{asks: userForm(reply{"type": "object", "properties": reply{"street": reply{"type": "string"}}})}, []string{"CALL-11/form"}},
		"a form with a list of anything":  {strangerServer{asks: userForm(reply{"type": "array", "items": reply{"type": "object"}})}, []string{"CALL-11/form"}},
		"a default of another type":       {strangerServer{asks: userForm(reply{"type": "integer", "default": "5"})}, []string{"CALL-11/form"}},
		"a question without maxTokens":    {strangerServer{asks: &strangerQuestion{mcp.MethodSamplingCreateMessage, "sampling", reply{"messages": []reply{}}}}, []string{"CALL-11/model"}},
		"it hangs when it has an answer":  {strangerServer{asks: userForm(reply{"type": "string"}), hangs: "accept"}, []string{"CALL-11/answered"}},
		"it hangs when the user declines": {strangerServer{asks: userForm(reply{"type": "string"}), hangs: "decline"}, []string{"CALL-11/refused"}},
		"it asks whom it may not ask":     {strangerServer{asks: userForm(reply{"type": "string"}), bold: true}, []string{"CALL-11/declared"}},
		"no news of lists":                {strangerServer{grows: true, quiet: true}, []string{"CALL-09/updated", "CALL-10/prompts", "CALL-10/resources", "CALL-10/tools"}},
		"news of another resource": {strangerServer{quiet: true, before: func(c *strangerTalk, r strangerRequest) {
			c.notify("notifications/resources/updated", reply{"uri": "x://y"})
		}}, []string{"CALL-09/unasked", "CALL-09/updated", "CALL-09/uri"}},
	}
}

// userForm asks the user for a text and one more thing.
func userForm(more reply) *strangerQuestion {
	return &strangerQuestion{mcp.MethodElicitationCreate, "elicitation", reply{"message": "Who?", "requestedSchema": reply{
		"type": "object", "properties": reply{"name": reply{"type": "string", "default": "you"}, "more": more},
	}}}
}

// strangerDefectsWithoutExamples are those that show in values of the server alone.
func strangerDefectsWithoutExamples() map[string]strangerDefect {
	return map[string]strangerDefect{
		"a completed uri nobody can read": {strangerServer{answer: toMethod("resources/read", withError(-32002))}, []string{"CALL-06/read"}},
		"a missing record is an empty one": {strangerServer{answer: forMissing(func(a reply) reply {
			delete(a, "error")
			a["result"] = reply{"contents": []reply{}}
			return a
		})}, []string{"CALL-06/unknown"}},
		"a missing record is a crash": {strangerServer{answer: forMissing(withError(-32603))}, []string{"CALL-06/code"}},
		"a prompt that fails":         {strangerServer{answer: toMethod("prompts/get", withError(-32603))}, []string{"CALL-07/get"}},
		"it dies of a prompt":         {strangerServer{dies: func(r strangerRequest) bool { return r.Method == "prompts/get" }}, []string{"CALL-07/get"}},
	}
}

// TestStranger_Finds: an id that only the resources of a server show is found.
func TestStranger_Finds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		found := false
		s := &strangerServer{answer: func(r strangerRequest, a reply) reply {
			switch {
			case r.Method == mcp.MethodResourcesList:
				a["result"] = reply{"resources": []reply{{"uri": "sum://7", "name": "seven"}}}
			case r.Params.Name == "find" && r.Params.Arguments["id"] == "7":
				found = true
			}
			return a
		}}
		require.Empty(t, brokenIDs(judgeStranger(t, s, conformance.Options{})))
		require.True(t, found)
	})
}

// TestStranger_Clock: a resource that changes without calls needs no news.
func TestStranger_Clock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &strangerServer{
			quiet: true,
			list:  func(tools []reply) { delete(tools[0], "annotations") }, // add may change something
			answer: toMethod(mcp.MethodResourcesRead, func(a reply) reply {
				now := time.Now().Add(time.Second / 2).Truncate(time.Second).String()
				a["result"] = reply{"contents": []reply{{"uri": "sum://all", "text": now}}}
				return a
			}),
			before: func(*strangerTalk, strangerRequest) { <-time.After(time.Second) },
		}
		yes := true
		report := judgeStranger(t, s, conformance.Options{Calls: conformance.Calls{Tools: map[string]conformance.ToolCalls{"add": {Call: &yes}}}})
		require.NotContains(t, brokenIDs(report), "CALL-09/updated")
	})
}

// brokenByStrangers reports whether a stranger breaks a check.
func brokenByStrangers(id string) bool {
	for _, want := range strangerLeaks() {
		if slices.Contains(want, id) {
			return true
		}
	}
	for _, table := range []map[string]strangerDefect{strangerDefects(), strangerDefectsWithoutExamples()} {
		for _, d := range table {
			if slices.Contains(d.want, id) {
				return true
			}
		}
	}
	return false
}

// TestStranger_Defects: each defect breaks its checks, and no others.
func TestStranger_Defects(t *testing.T) {
	t.Parallel()
	for name, tt := range strangerDefects() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				report := judgeStranger(t, &tt.strangerServer, conformance.Options{Calls: strangerCalls()})
				require.ElementsMatch(t, tt.want, brokenIDs(report))
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

// TestStranger_WithoutExamples: what only a server's own values show.
func TestStranger_WithoutExamples(t *testing.T) {
	t.Parallel()
	for name, tt := range strangerDefectsWithoutExamples() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				require.Equal(t, tt.want, brokenIDs(judgeStranger(t, &tt.strangerServer, conformance.Options{})))
			})
		})
	}
}

// TestStranger_EncodedURIs: a resource may fail for reasons of its own, but not all those, and only
// those, whose URI is percent-encoded.
func TestStranger_EncodedURIs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fail []string
		want conformance.Status
	}{
		"all encoded ones":       {[]string{"sum://caf%C3%A9", "sum://a%20b"}, conformance.Warn},
		"one of them":            {[]string{"sum://a%20b"}, conformance.Inconclusive},
		"another one, too":       {[]string{"sum://caf%C3%A9", "sum://a%20b", "sum://plain"}, conformance.Inconclusive},
		"only one that is plain": {[]string{"sum://plain"}, conformance.Inconclusive},
		"none":                   {nil, conformance.Pass},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &strangerServer{answer: func(r strangerRequest, a reply) reply {
					switch {
					case r.Method == mcp.MethodResourcesList:
						a["result"] = reply{"resources": []reply{{"uri": "sum://plain", "name": "a"}, {"uri": "sum://caf%C3%A9", "name": "b"}, {"uri": "sum://a%20b", "name": "c"}, {"uri": "sum://all", "name": "d"}}}
					case r.Method == mcp.MethodResourcesRead && slices.Contains(tt.fail, r.Params.URI):
						return withError(-32603)(a)
					case r.Method == mcp.MethodResourcesRead:
						delete(a, "error")
						a["result"] = reply{"contents": []reply{{"uri": r.Params.URI, "text": "x"}}}
					}
					return a
				}}
				report := judgeStranger(t, s, conformance.Options{Only: []string{"RES-02/read"}})
				got := report.Results[slices.IndexFunc(report.Results, func(r conformance.Result) bool { return r.ID == "RES-02/read" })]
				require.Equal(t, tt.want, got.Status, got.Detail)
				if tt.want == conformance.Warn {
					require.Contains(t, got.Actual, "percent-encoding")
					require.True(t, slices.ContainsFunc(got.Evidence, func(f conformance.Frame) bool { return strings.Contains(string(f.Data), tt.fail[0]) }))
				}
			})
		})
	}
}
