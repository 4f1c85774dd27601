package suitetest

import (
	"bytes"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func batchRewrites() map[string]rewritten {
	null := success(json.RawMessage("null"), reply{})
	// rejoined changes the array that answers a batch with part in it.
	rejoined := func(part string, change func(answers []any) []any) rewritten {
		return rewritten{options: onlyFixtures, array: func(line []byte) []byte {
			var answers []any
			if !bytes.Contains(line, []byte(part)) || json.Unmarshal(line, &answers) != nil {
				return line
			}
			return rawjson.Encode(change(answers))
		}}
	}
	return map[string]rewritten{
		"RPC-15/requests":      rejoined(`"b-1"`, func(answers []any) []any { return answers[1:] }),
		"RPC-15/mixed":         rejoined(`"b-4"`, func(answers []any) []any { return append(answers, null) }),
		"RPC-15/notifications": lines(`[{"jsonrpc":"2.0","method":"notifications/com.example/unknown"},{"jsonrpc":"2.0","method":"notifications/com.example/unknown"}]`, null),
		"RPC-15/empty":         lines("[]\n", null),
		"RPC-15/part":          lines(`[1,{`, failure(nil, wire.CodeInvalidRequest, "no", nil)),
		"RPC-15/errors": rejoined(`"b-6"`, func(answers []any) []any {
			for _, a := range answers {
				answer := a.(map[string]any)
				delete(answer, "error")
				answer["result"] = reply{}
			}
			return answers
		}),
		"RPC-15/alive":   deaf(`[1,{`),
		"RPC-17/refused": lines(`[{"id":"batched-1"`, success(json.RawMessage(`"batched-1"`), reply{})),
		"RPC-17/alive":   deaf(`[{"id":"batched-1"`),
	}
}

func stdioRewrites() map[string]rewritten {
	return map[string]rewritten{
		"STDIO-02/last": {options: onlyFixtures, line: func(line []byte) ([]any, bool) {
			return nil, !bytes.HasSuffix(line, []byte("\n"))
		}},
		"STDIO-02/split":      lines("größe-日本"),
		"STDIO-02/separators": deaf("\u2028b\u2029"),
		"STDIO-02/mixed":      deaf("this is not JSON"),
		"STDIO-02/nul":        deaf("\x00\x00\x00"),
		"STDIO-02/many":       nth(mcp.MethodDiscover, 300, ignores),
		"STDIO-01/newlines":   answering(`no\nsuch`, ignores),
		"STDIO-08/after": {options: onlyFixtures, after: func(_ fakeMessage, r reply) []any {
			return []any{r, "bye"}
		}},
	}
}
