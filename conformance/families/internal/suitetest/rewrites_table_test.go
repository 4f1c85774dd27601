package suitetest

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/assistant"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/coe"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/docling"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/preflights"
	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/reference"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// tableRewrites has for each check of a table of an area a server that breaks
// the first thing the check expects. TestEveryExpectationIsJudged breaks each of
// the others.
func tableRewrites(area string, options func(o *reference.Options)) map[string]rewritten {
	all := map[string]rewritten{}
	for _, sc := range registry() {
		if dataOf(&sc) == nil || sc.Area != area {
			continue
		}
		for i := range dataOf(&sc).Steps {
			st := &dataOf(&sc).Steps[i]
			if st.Word != "" {
				all[dataOf(&sc).CheckID(st)] = spoiled(dataOf(&sc), i, 0, options)
			}
		}
	}
	return all
}

// spoiled breaks one expectation of a step.
func spoiled(tb *table.Table, at, expectation int, options func(o *reference.Options)) rewritten {
	made := at
	for tb.Steps[made].Tool == "" {
		made--
	}
	caller := &tb.Steps[made]
	nth := 0 // calls before it that look the same
	for _, before := range tb.Steps[:made] {
		if before.Tool == caller.Tool && before.Direct == caller.Direct && sameShape(table.Normal(before.Args), table.Normal(caller.Args)) {
			nth++
		}
	}
	if tb.Area == preflights.Area && caller.Tool == preflights.ToolRead {
		nth++ // the look whether the server sees the folders of the suite
	}
	want := tb.Steps[at].Want[expectation]
	seen := 0
	return rewritten{
		options: options,
		opts:    func(o *conformance.Options) { o.Answer = conformance.DefaultAnswer }, // it answers, sooner or later
		after: func(m fakeMessage, r reply) []any {
			method, args := caller.Tool, any(m.params)
			if !caller.Direct {
				method, args = mcp.MethodToolsCall, m.arguments
				if m.call != caller.Tool {
					return []any{r}
				}
			} else if m.method == method {
				args = withoutMeta(m.params)
			}
			if m.method != method || !sameShape(args, orEmpty(table.Normal(caller.Args))) {
				return []any{r}
			}
			seen++
			if seen-1 != nth {
				return []any{r}
			}
			return []any{broke(m, r, want)}
		},
	}
}

func withoutMeta(params map[string]any) map[string]any {
	out := maps.Clone(params)
	delete(out, "_meta")
	return out
}

func orEmpty(v any) any {
	if v == nil {
		return map[string]any{}
	}
	return v
}

// sameShape reports whether a call has the arguments of a step, whose names
// may stand for anything.
func sameShape(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(want) {
			return false
		}
		for name, inner := range want {
			if v, there := g[name]; !there || !sameShape(v, inner) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(want) {
			return false
		}
		for i := range want {
			if !sameShape(g[i], want[i]) {
				return false
			}
		}
		return true
	case string:
		if strings.Contains(want, "$") {
			return true
		}
	}
	return string(rawjson.Encode(got)) == string(rawjson.Encode(want))
}

// broke is the answer with what an expectation is about made wrong.
func broke(m fakeMessage, r reply, want table.Expectation) any {
	in := wire.Received(rawjson.Encode(r), nil)
	doc := table.Outcome(wire.ToAnswer(in))
	if want.Path == "" {
		return answerOf(m, r, map[string]any{"isError": false, "payload": map[string]any{"spoiled": true}})
	}
	for _, wrong := range []any{nil, "spoiled", "", -4711.5, true, false, map[string]any{}, []any{}} {
		for _, remove := range []bool{false, true} {
			changed, ok := replaced(table.Decoded(rawjson.Encode(doc)), strings.Split(want.Path, "."), wrong, remove)
			if !ok {
				continue
			}
			members, _ := changed.(map[string]any)
			answer := answerOf(m, r, members)
			v, there := table.Lookup(table.Outcome(wire.ToAnswer(wire.Received(rawjson.Encode(answer), nil))), want.Path)
			if !want.Holds(v, there, map[string]any{"nonce": "none"}) {
				return answer
			}
		}
	}
	panic(fmt.Sprintf("nothing breaks %s: %s", want.Path, want.Want))
}

// replaced sets or removes the value at a path, and makes what leads to it.
func replaced(v any, path []string, to any, remove bool) (any, bool) {
	if len(path) == 0 {
		return to, !remove
	}
	switch in := v.(type) {
	case []any:
		if path[0] == "#" {
			if len(in) > 0 && to == nil {
				return in[:0], true
			}
			return append(in, "spoiled", "spoiled", "spoiled"), true
		}
		i, err := strconv.Atoi(path[0])
		if err != nil || i >= len(in) {
			return nil, false
		}
		inner, ok := replaced(in[i], path[1:], to, remove)
		if !ok {
			return nil, false
		}
		in[i] = inner
		return in, true
	case map[string]any, nil:
		members, _ := in.(map[string]any)
		if members == nil {
			members = map[string]any{}
		}
		if remove && len(path) == 1 {
			delete(members, path[0])
			return members, true
		}
		inner, ok := replaced(members[path[0]], path[1:], to, remove)
		if !ok {
			return nil, false
		}
		members[path[0]] = inner
		return members, true
	}
	return replaced(nil, path, to, remove)
}

// answerOf writes a document back as an answer of its kind.
func answerOf(m fakeMessage, r reply, doc map[string]any) any {
	out := reply{"jsonrpc": "2.0", "id": r["id"]}
	if e, there := doc["error"].(map[string]any); there {
		code, _ := e["code"].(float64)
		out["error"] = &wire.RPCError{Code: int64(code), Message: fmt.Sprint(e["message"]), Data: rawjson.Encode(e["data"])}
		return out
	}
	result, _ := r["result"].(reply)
	if res, ok := r["result"].(map[string]any); ok {
		result = res
	}
	if m.method != mcp.MethodToolsCall {
		out["result"] = doc["payload"]
		return out
	}
	changed := reply{}
	maps.Copy(changed, result)
	said, hasText := doc["text"]
	text, isText := said.(string)
	if payload, there := doc["payload"]; there && (isText || !hasText) {
		old := table.Decoded([]byte(text))
		if text == "" || json.Valid([]byte(text)) && string(rawjson.Encode(old)) != string(rawjson.Encode(payload)) {
			text = string(rawjson.Encode(payload))
		}
		delete(changed, "structuredContent")
	}
	changed["isError"], changed["content"] = doc["isError"], []any{reply{"type": "text", "text": text}}
	out["result"] = changed
	return out
}

// tabled are the areas of tables, and the server each is tried on.
func tabled() map[string]func(o *reference.Options) {
	return map[string]func(o *reference.Options){
		coe.Area: onlyFamily(fixture.COE), preflights.Area: onlyFamily(fixture.Preflights),
		docling.Area: onlyFamily(fixture.Docling), assistant.Area: withToken,
	}
}

// onlyFamily has a server of one family, which starts at once.
func onlyFamily(name string) func(o *reference.Options) {
	return func(o *reference.Options) {
		o.Families, o.AllowFaultInjection = []string{name}, true
	}
}

// TestEveryExpectationIsJudged: no expectation of a table goes by unseen.
func TestEveryExpectationIsJudged(t *testing.T) {
	t.Parallel()
	own, nth := rewrites(), 0
	for area, options := range tabled() {
		for _, sc := range registry() {
			if dataOf(&sc) == nil || sc.Area != area {
				continue
			}
			for i := range dataOf(&sc).Steps {
				st := &dataOf(&sc).Steps[i]
				for n := 1; n < len(st.Want) && st.Word != ""; n++ {
					id := dataOf(&sc).CheckID(st)
					if nth++; !sampled(nth) {
						continue
					}
					t.Run(fmt.Sprintf("%s/%d", id, n), func(t *testing.T) {
						t.Parallel()
						r := spoiled(dataOf(&sc), i, n, own[id].optionsOr(options))
						r.program = own[id].program
						if own[id].opts != nil {
							r.opts = own[id].opts
						}
						got := r.judge(t, id)
						require.Contains(t, []conformance.Status{conformance.Fail, conformance.Warn}, got.Status, "%s: %s: %+v", st.Want[n].Path, st.Want[n].Want, got)
					})
				}
			}
		}
	}
}

// optionsOr are the options of a rewritten server, or others.
func (r rewritten) optionsOr(other func(o *reference.Options)) func(o *reference.Options) {
	if r.options != nil {
		return r.options
	}
	return other
}

// dataOf returns the table that a scenario works through, nil where it is none.
func dataOf(sc *engine.Scenario) *table.Table {
	tb, _ := sc.Source.(*table.Table)
	return tb
}
