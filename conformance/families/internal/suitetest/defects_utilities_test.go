package suitetest

import (
	"bytes"
	"encoding/json"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func utilityRewrites() map[string]rewritten {
	// progress changes the notifications of progress.
	progress := func(change func(params reply) []any) rewritten {
		return rewritten{options: onlyFixtures, note: func(n reply) []any {
			params, ok := n["params"].(reply)
			if n["method"] != mcp.MethodProgress || !ok {
				return []any{n}
			}
			var out []any
			for _, p := range change(params) {
				out = append(out, reply{"jsonrpc": "2.0", "method": mcp.MethodProgress, "params": p})
			}
			return out
		}}
	}
	token := func(sent, got any) rewritten {
		return progress(func(params reply) []any {
			if string(rawjson.Encode(params["progressToken"])) == string(rawjson.Encode(sent)) {
				params["progressToken"] = got
			}
			return []any{params}
		})
	}
	report := func(token any) reply {
		return reply{"jsonrpc": "2.0", "method": mcp.MethodProgress, "params": reply{"progressToken": token, "progress": 1}}
	}
	// more is a server that says more after the answer to a call.
	more := func(fits func(m fakeMessage, token any) bool, extra ...any) rewritten {
		return rewritten{options: onlyFixtures, after: func(m fakeMessage, r reply) []any {
			meta, _ := m.params["_meta"].(map[string]any)
			if m.call == fixture.ToolProgress && fits(m, meta["progressToken"]) {
				return append([]any{r}, extra...)
			}
			return []any{r}
		}}
	}
	unheard := rewritten{options: onlyFixtures, line: func(line []byte) ([]any, bool) {
		m, ok := toFakeMessage(line)
		return nil, ok && m.method == mcp.MethodCancelled
	}}
	cancels := func(id string, answers ...any) rewritten {
		return rewritten{options: onlyFixtures, line: func(line []byte) ([]any, bool) {
			m, ok := toFakeMessage(line)
			return answers, ok && m.method == mcp.MethodCancelled && string(rawjson.Encode(m.params["requestId"])) == id
		}}
	}
	var deafened atomic.Bool
	dead := rewritten{options: onlyFixtures, first: func(m fakeMessage) ([]any, bool) {
		if m.method == mcp.MethodCancelled && string(rawjson.Encode(m.params["requestId"])) == "70001" {
			deafened.Store(true)
		}
		return nil, deafened.Load()
	}}
	loud := func(also any) rewritten {
		return rewritten{options: onlyFixtures, after: func(m fakeMessage, r reply) []any {
			if m.call == fixture.ToolLogging {
				return []any{also, r}
			}
			return []any{r}
		}}
	}
	logged := reply{"jsonrpc": "2.0", "method": mcp.MethodMessage, "params": reply{"level": "info", "data": "x"}}
	var calls atomic.Int32
	held := rewritten{options: onlyFixtures}
	var waiting atomic.Pointer[reply]
	held.after = func(m fakeMessage, r reply) []any {
		// The answer to a ping waits for that of the call before it.
		if m.method == mcp.MethodPing || m.method == mcp.MethodDiscover {
			if calls.Load() == 1 {
				waiting.Store(&r)
				return nil
			}
		}
		if m.call == fixture.ToolProgress {
			calls.Store(0)
			if w := waiting.Swap(nil); w != nil {
				return []any{r, *w}
			}
		}
		return []any{r}
	}
	held.note = func(n reply) []any {
		if n["method"] == mcp.MethodProgress {
			calls.CompareAndSwap(0, 1)
		}
		return []any{n}
	}
	twin := rewritten{options: onlyFixtures, after: func(m fakeMessage, r reply) []any {
		if r["error"] != nil && m.method == mcp.MethodPing {
			return []any{success(m.id, reply{})}
		}
		return []any{r}
	}}
	var once atomic.Bool
	quiet := rewritten{options: onlyFixtures, first: func(m fakeMessage) ([]any, bool) {
		meta, _ := m.params["_meta"].(map[string]any)
		silent := m.call == fixture.ToolProgress && meta["progressToken"] == "same" && once.CompareAndSwap(false, true)
		return []any{success(m.id, reply{"content": []any{}})}, silent
	}}
	return map[string]rewritten{
		"UTIL-08/some":    progress(func(reply) []any { return nil }),
		"UTIL-08/string":  token("7", 7),
		"UTIL-08/integer": token(7, "7"),
		"UTIL-08/zero":    token(0, nil),
		"UTIL-08/unicode": token("größe-日本-🦊", "gr??e"),
		"UTIL-08/increases": progress(func(params reply) []any {
			return []any{params, params}
		}),
		"UTIL-08/numbers": progress(func(params reply) []any {
			params["total"] = "100"
			return []any{params}
		}),
		"UTIL-08/none": {options: onlyFixtures, after: func(m fakeMessage, r reply) []any {
			if meta, _ := m.params["_meta"].(map[string]any); m.call == fixture.ToolProgress && meta["progressToken"] == nil {
				return []any{report("made-up"), r}
			}
			return []any{r}
		}},
		"UTIL-08/after":  more(func(_ fakeMessage, token any) bool { return token == "größe-日本-🦊" }, report("größe-日本-🦊")),
		"UTIL-08/two":    token("one", 2),
		"UTIL-06/silent": unheard,
		"UTIL-06/stops":  unheard,
		"UTIL-06/others": {options: onlyFixtures, after: func(m fakeMessage, r reply) []any {
			if meta, _ := m.params["_meta"].(map[string]any); meta["progressToken"] == "stays" {
				return nil
			}
			return []any{r}
		}},
		"UTIL-06/type": {options: onlyFixtures, after: func(m fakeMessage, r reply) []any {
			if string(m.id) == "70001" {
				return nil
			}
			return []any{r}
		}},
		"UTIL-06/late":     cancels("70001", success(json.RawMessage(`"stray"`), reply{})),
		"UTIL-06/alive":    dead,
		"UTIL-01/slow":     held,
		"RPC-03/duplicate": twin,
		"RPC-03/first": {options: onlyFixtures, after: func(_ fakeMessage, r reply) []any {
			if bytes.Contains(rawjson.Encode(r), []byte("times to twin")) {
				return nil
			}
			return []any{r}
		}},
		"X-ISO-01/ids": {options: onlyFixtures, after: func(m fakeMessage, r reply) []any {
			if string(m.id) == `"same"` && m.method == mcp.MethodPing {
				return []any{failure(m.id, wire.CodeMethodNotFound, "no", nil)}
			}
			return []any{r}
		}},
		"X-ISO-01/progress": quiet,
		"X-ISO-01/level":    loud(logged),
		"X-ISO-01/log": {options: onlyFixtures, after: func(m fakeMessage, r reply) []any {
			if m.method == mcp.MethodPing {
				return []any{logged, r}
			}
			return []any{r}
		}},
	}
}
