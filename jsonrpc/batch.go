package jsonrpc

import (
	"bytes"
	"errors"
)

// maxBatch bounds the messages of one batch.
const maxBatch = 10_000

var (
	errBatchEnd   = errors.New("the batch is incomplete")
	errBatchLarge = errors.New("the batch has too many messages")
)

// AcceptBatches sets whether a JSON array is accepted as a batch of messages.
// By default an array is reported to Config.OnFault.
func (c *Conn) AcceptBatches(yes bool) { c.batches.Store(yes) }

// IsBatch reports whether data looks like a batch: an array that begins with an
// object. A bracket alone does not prove it, because log lines also begin with
// one.
//
// # Experimental
//
// The client's transports use it. Its form may change.
func IsBatch(data []byte) bool {
	data, ok := bytes.CutPrefix(bytes.TrimLeft(data, jsonSpace), []byte("["))
	return ok && bytes.HasPrefix(bytes.TrimLeft(data, jsonSpace), []byte("{"))
}

// SplitBatch splits a batch into its messages, which share the memory of data.
// It examines only brackets and quotes, so that an invalid message does not
// affect the others. If it returns an error, a [*DecodeError], it also returns
// the messages before it.
//
// # Experimental
//
// The client's transports use it. Its form may change.
func SplitBatch(data []byte) ([][]byte, error) {
	data = bytes.Trim(data, jsonSpace)
	if len(data) == 0 || data[0] != '[' {
		return nil, batchError(errBatchEnd, data)
	}
	var parts [][]byte
	depth, quoted, start := 0, false, 1
	for i := 1; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth > 0 && (c == '}' || c == ']'):
			depth--
		case c == '}' || (c == ']' && i < len(data)-1):
			return parts, batchError(errTrailing, data)
		case c == ']':
			return append(parts, data[start:i]), nil
		case c == ',' && depth == 0:
			if len(parts) == maxBatch-1 {
				return parts, batchError(errBatchLarge, data)
			}
			parts = append(parts, data[start:i])
			start = i + 1
		}
	}
	return parts, batchError(errBatchEnd, data)
}

func batchError(err error, data []byte) *DecodeError {
	tooMany := errors.Is(err, errBatchLarge)
	return &DecodeError{Reason: err.Error(), Syntax: !tooMany, TooLarge: tooMany, Head: head(data)}
}

// batch handles the messages of a line one by one.
func (c *Conn) batch(ln line) {
	parts, err := SplitBatch(ln.text)
	for _, part := range parts {
		c.message(line{text: bytes.Trim(part, jsonSpace), owned: ln.owned, whole: len(ln.text)})
	}
	var de *DecodeError
	if errors.As(err, &de) {
		c.fault(de)
	}
}
