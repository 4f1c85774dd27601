package suitetest

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/conformance/checks/lifecycle"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/reference"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// opened is a reference server that says something else in answer to
// initialize.
func opened(change func(offered string, result reply)) rewritten {
	r := changed(mcp.MethodInitialize, func(m fakeMessage, result reply) {
		offered, _ := m.params["protocolVersion"].(string)
		change(offered, result)
	})
	r.options = onlyFixtures
	return r
}

// agrees is one that answers the offer of a revision with another one.
func agrees(offer, answer string) rewritten {
	return opened(func(offered string, result reply) {
		if offered == offer {
			result["protocolVersion"] = answer
		}
	})
}

// acceptedInitialize is one that answers an initialize with a part in it with a result
// of its own.
func acceptedInitialize(part string) rewritten {
	return answering(part, func(m fakeMessage) any {
		return success(m.id, reply{"protocolVersion": mcp.LatestSession, "capabilities": reply{}, "serverInfo": reply{"name": "x", "version": "1"}})
	})
}

// initializeWithout is one that treats an initialize without a member of its
// params in its own way.
func initializeWithout(member string, answer func(m fakeMessage) any) rewritten {
	return rewritten{options: onlyFixtures, first: func(m fakeMessage) ([]any, bool) {
		if m.method != mcp.MethodInitialize || bytes.Contains(m.raw, []byte(`"`+member+`"`)) {
			return nil, false
		}
		return []any{answer(m)}, true
	}}
}

// nth is one that answers the nth message of a method in its own way.
func nth(method string, n int32, answer func(m fakeMessage) any) rewritten {
	var seen atomic.Int32
	return rewritten{options: onlyFixtures, first: func(m fakeMessage) ([]any, bool) {
		if m.method != method || seen.Add(1) != n {
			return nil, false
		}
		if out := answer(m); out != nil {
			return []any{out}, true
		}
		return nil, true
	}}
}

func lifecycleRewrites() map[string]rewritten {
	says := func(path []string, value any) rewritten {
		return opened(func(_ string, result reply) {
			at := result
			for _, name := range path[:len(path)-1] {
				at = at[name].(reply)
			}
			at[path[len(path)-1]] = value
		})
	}
	var refused atomic.Bool
	offended := rewritten{options: onlyFixtures, first: func(m fakeMessage) ([]any, bool) {
		if m.method == mcp.MethodInitialize && m.params != nil && m.params["protocolVersion"] == nil {
			refused.Store(true)
		}
		return []any{failure(m.id, wire.CodeInvalidParams, "no", nil)}, refused.Load()
	}}
	early := opened(func(string, reply) {})
	early.after = func(m fakeMessage, r reply) []any {
		if m.method != mcp.MethodInitialize {
			return []any{r}
		}
		return []any{r, reply{"jsonrpc": "2.0", "method": mcp.MethodToolsListChanged}}
	}
	dropped := nth(mcp.MethodInitialize, 4, ignores)
	all := map[string]rewritten{
		"LC-03/future":    agrees("2099-12-31", "2099-12-31"),
		"LC-03/stateless": agrees(string(mcp.Latest), string(mcp.Latest)),
		"LC-03/words":     agrees("the newest, please", "the newest, please"),
		"LC-03/kept": opened(func(offered string, result reply) {
			switch mcp.Version(offered) {
			case mcp.Version2024_11_05:
				result["protocolVersion"] = mcp.Version2025_03_26
			case mcp.LatestSession:
			default:
				result["protocolVersion"] = mcp.Version2024_11_05
			}
		}),
		"LC-01/no-params":         initializeWithout("params", func(m fakeMessage) any { return success(m.id, reply{}) }),
		"LC-01/no-version":        initializeWithout("protocolVersion", func(m fakeMessage) any { return success(m.id, reply{}) }),
		"LC-01/version-type":      acceptedInitialize(`"protocolVersion":7`),
		"LC-01/info-type":         acceptedInitialize(`"clientInfo":"me"`),
		"LC-01/capabilities-type": acceptedInitialize(`"capabilities":[]`),
		"LC-01/no-info":           initializeWithout("clientInfo", fails),
		"LC-01/no-capabilities":   initializeWithout("capabilities", fails),
		"LC-01/unknown":           answering(`"colour"`, fails),
		"LC-01/again":             offended,
		"LC-01/info-members":      says([]string{"serverInfo", "title"}, 7),
		"LC-01/flags":             says([]string{"capabilities", "tools"}, reply{"listChanged": "yes"}),
		"LC-09/quiet":             early,
		"LC-07/twice":             nth(mcp.MethodInitialized, 4, func(fakeMessage) any { return success(json.RawMessage(`"stray"`), reply{}) }),
		"UTIL-01/params":          answering(`"com.example/unknown":[1]`, fails),
		"UTIL-01/before":          nth(mcp.MethodPing, 1, fails),
		"LC-07/early":             nth(mcp.MethodInitialize, 3, fails),
		"LC-10/cancelled":         dropped,
	}
	for _, v := range mcp.Versions() {
		if v.Era() == mcp.EraSession {
			all["LC-03/"+string(v)] = agrees(string(v), "1999-01-01")
		}
	}
	return all
}

func capabilityRewrites() map[string]rewritten {
	all := map[string]rewritten{}
	for _, f := range lifecycle.Features {
		all["LC-14/"+f.Word] = answering(`"method":"`+f.Method+`"`, func(m fakeMessage) any {
			return failure(m.id, wire.CodeMethodNotFound, "no", nil)
		})
		if strings.HasPrefix(f.Capability, "tasks.") { // the reference server has none
			all["LC-14/"+f.Word] = tasked(all["LC-14/"+f.Word])
		}
		if f.Elsewhere || f.Capability == "tools" || f.Capability == "resources" {
			continue // the reference server always has these
		}
		served := answering(`"method":"`+f.Method+`"`, accepts)
		served.options = func(o *reference.Options) { o.Families = []string{"artifact"} }
		all["LC-11/"+f.Word] = served
	}
	return all
}
