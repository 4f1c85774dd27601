package suitetest

import (
	"bytes"
	"encoding/json"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/conformance/checks/base"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/reference"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// onlyFixtures makes the reference server one of a single family, which starts
// at once.
func onlyFixtures(o *reference.Options) { o.Families = []string{"fixtures"} }

// lines is a reference server that answers lines with a part in them itself:
// with nothing when there is no answer.
func lines(part string, answers ...any) rewritten {
	return rewritten{options: onlyFixtures, line: func(line []byte) ([]any, bool) {
		return answers, bytes.Contains(line, []byte(part))
	}}
}

// deaf is one that answers nothing any more after a line with part in it.
func deaf(part string) rewritten {
	var gone atomic.Bool
	return rewritten{options: onlyFixtures, line: func(line []byte) ([]any, bool) {
		if bytes.Contains(line, []byte(part)) {
			gone.Store(true)
		}
		return nil, gone.Load()
	}}
}

// answering is one that answers requests with a part in them in its own way.
func answering(part string, answer func(m fakeMessage) any) rewritten {
	return rewritten{options: onlyFixtures, first: func(m fakeMessage) ([]any, bool) {
		if m.id == nil || !bytes.Contains(m.raw, []byte(part)) {
			return nil, false
		}
		if out := answer(m); out != nil {
			return []any{out}, true
		}
		return nil, true
	}}
}

func accepts(m fakeMessage) any { return success(m.id, reply{}) }

func ignores(fakeMessage) any { return nil }

func fails(m fakeMessage) any { return failure(m.id, wire.CodeInternal, "no", nil) }

func requestRewrites() map[string]rewritten {
	long := func(more int, answer func(m fakeMessage) any) rewritten {
		return rewritten{options: onlyFixtures, first: func(m fakeMessage) ([]any, bool) {
			if len(m.raw) < more {
				return nil, false
			}
			if out := answer(m); out != nil {
				return []any{out}, true
			}
			return nil, true
		}}
	}
	null := success(json.RawMessage("null"), reply{})
	return map[string]rewritten{
		"RPC-02/null":     answering(`"id":null`, accepts),
		"RPC-02/fraction": answering(`"id":1.5`, accepts),
		"RPC-02/boolean":  answering(`"id":true`, accepts),
		"RPC-02/object":   answering(`"id":{"a":1}`, accepts),
		"RPC-02/array":    answering(`"id":[1]`, fails),
		"RPC-02/alive":    deaf(`"id":[1]`),
		"RPC-12/array":    answering(`"params":["a"]`, accepts),
		"RPC-12/string":   answering(`"params":"a"`, accepts),
		"RPC-12/number":   answering(`"params":7`, accepts),
		"RPC-12/null":     answering(`"params":null`, ignores),
		"RPC-12/meta":     answering(`"_meta":7`, fails),
		"RPC-12/alive":    deaf(`"_meta":7`),
		"RPC-19/members":  answering(`"x-trace"`, fails),
		"RPC-20/case":     lines(`"Method"`, null),
		"RPC-20/twice":    lines(fixture.NoMethod, null),
		"RPC-07/result":   lines(`"result":{}`, null),
		"X-WIRE-01/empty": lines("{}\n", null),
		"X-WIRE-01/scalar": {options: onlyFixtures, line: func(line []byte) ([]any, bool) {
			return []any{null}, string(line) == "true\n"
		}},
		"RPC-20/alive":    deaf("null\n"),
		"RPC-22/mebibyte": long(1<<20, fails),
		"RPC-22/large":    long(largestHere, ignores),
		"RPC-22/deep":     deaf(`{"a":{"a":{"a":`),
		"RPC-22/wide":     answering("com.example/m19999", ignores),
		"RPC-22/method":   answering("x/mmmm", accepts),
		"RPC-22/id": answering(`"i-iiii`, func(fakeMessage) any {
			return success(json.RawMessage(`"i-iiii"`), reply{})
		}),
		"RPC-22/digits": answering("999999999999", fails),
	}
}

func textRewrites() map[string]rewritten {
	silenced := changed(mcp.MethodPromptsGet, func(_ fakeMessage, result reply) { result["messages"] = []any{} })
	silenced.options = onlyFixtures
	all := map[string]rewritten{
		"RPC-01/text-large": silenced,
		"RPC-01/text-lone":  deaf(`\ud83ez`),
		"RPC-01/text-bytes": deaf("\xff"),
	}
	for _, c := range base.TextCases {
		all["RPC-01/text-"+c.Word] = silenced
	}
	return all
}
