package conformance

import (
	"bytes"
	"encoding/json"
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
			return encode(change(answers))
		}}
	}
	return map[string]rewritten{
		"RPC-15/requests":      rejoined(`"b-1"`, func(answers []any) []any { return answers[1:] }),
		"RPC-15/mixed":         rejoined(`"b-4"`, func(answers []any) []any { return append(answers, null) }),
		"RPC-15/notifications": lines(`[{"jsonrpc":"2.0","method":"notifications/com.example/unknown"},{"jsonrpc":"2.0","method":"notifications/com.example/unknown"}]`, null),
		"RPC-15/empty":         lines("[]\n", null),
		"RPC-15/part":          lines(`[1,{`, failure(nil, codeInvalidRequest, "no", nil)),
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
