package errormap

import (
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// maxRetryAfter bounds what a peer may make us wait.
const maxRetryAfter = 24 * time.Hour

// hints is what a payload says besides code and message. The peer writes it:
// members that are missing, or not of the type they should be, are not there.
type hints struct {
	reason       string
	prerequisite bool
	code         string // a code that is a string
	number       *int64 // a code that is an integer
	message      string
	recovery     string
	retryable    *bool
	after        time.Duration
	envelope     bool // there is an "error" object
}

// readHints reads an error's data, or a tool result's payload: the members of
// its "error" object where there is one, else its own.
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
	h.reason = text(inner["reason"])
	h.prerequisite = len(inner["prerequisite"]) > 0 && string(inner["prerequisite"]) != "null"
	h.code = text(inner["code"])
	if n, err := strconv.ParseInt(string(inner["code"]), 10, 64); err == nil {
		h.number = &n
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

// seconds reads a number of seconds: 0 when there is none, or it is not above
// zero.
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
