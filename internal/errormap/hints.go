package errormap

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// maxRetryAfter limits how long a peer can make the client wait.
const maxRetryAfter = 24 * time.Hour

// hints are members of a payload with more information about an error. The peer writes them, so
// members of a wrong type count as absent.
type hints struct {
	message   string
	recovery  string
	retryable *bool
	after     time.Duration
	envelope  bool // the payload has an "error" object
}

// readHints reads the data of an error or the payload of a tool's result: the members of its
// "error" object if it has one, else its own members.
func readHints(data json.RawMessage) hints {
	var h hints
	top := object(data)
	if top == nil {
		return h
	}
	inner := top
	if e := object(top["error"]); e != nil {
		inner, h.envelope = e, true
	}
	h.message = text(inner["message"])
	h.recovery = text(inner["recovery_hint"])
	switch string(inner["retryable"]) {
	case "true":
		h.retryable = new(true)
	case "false":
		h.retryable = new(false)
	}
	h.after = seconds(inner["retry_after_seconds"])
	return h
}

func object(data json.RawMessage) map[string]json.RawMessage {
	if len(data) == 0 {
		return nil
	}
	var m map[string]json.RawMessage
	if jsonrpc.Unmarshal(data, &m) != nil {
		return nil
	}
	return m
}

func text(data json.RawMessage) string {
	var s string
	if len(data) == 0 || data[0] != '"' || jsonrpc.Unmarshal(data, &s) != nil {
		return ""
	}
	return s
}

// seconds reads a number of seconds. It returns 0 unless the number is positive.
func seconds(data json.RawMessage) time.Duration {
	s, err := strconv.ParseFloat(string(data), 64)
	if err != nil || math.IsNaN(s) || s <= 0 {
		return 0
	}
	if s >= maxRetryAfter.Seconds() {
		return maxRetryAfter
	}
	return time.Duration(s * float64(time.Second))
}
