package front

import (
	"bytes"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxBatch bounds the messages in one batch.
const maxBatch = 1000

// isBatch reports whether raw is an array, if it is JSON at all.
func isBatch(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '['
}

// split returns the messages of a batch, or the one answer to all of it.
func split(raw []byte) ([]json.RawMessage, *fault) {
	if deep(raw) {
		return nil, invalidRequest(nil, "too_deep", "nested deeper than %d", maxDepth)
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return nil, &fault{err: rpcError(jsonrpc.CodeParseError, "Parse error", nil)}
	}
	if len(parts) == 0 {
		return nil, invalidRequest(nil, "batch", "a batch must not be empty")
	}
	if len(parts) > maxBatch {
		return nil, invalidRequest(nil, "batch", "a batch has %d messages at most", maxBatch)
	}
	return parts, nil
}

// join writes answers as one array.
func join(answers [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(answers, []byte{','})...), ']')
}

// batch collects the answers of an array of requests (stdio).
type batch struct {
	answers [][]byte
	open    int // requests that are not answered yet
	calls   int // how many of its requests became calls
}
