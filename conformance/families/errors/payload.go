package familyerrors

import (
	"encoding/json"
	"strings"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// payload is what the families write into the data of an error, or into the result of a
// tool. Members of a wrong type count as absent.
type payload struct {
	code         string // a code that is a string
	number       int64  // a code that is a number; of a JSON-RPC error, its code
	reason       string
	prerequisite bool
	message      string
	retryable    *bool
	after        time.Duration
}

// read returns the payload of an error: the members of its "error" object if it has one,
// else those of the data itself.
func read(r mcperrors.Report) (p payload) {
	var members map[string]json.RawMessage
	if r.RPC != nil {
		if members = envelope(r.RPC.Data); members == nil {
			members = object(r.RPC.Data)
		}
	} else if members = envelope(r.Structured); members == nil && strings.HasPrefix(strings.TrimSpace(r.Text), "{") {
		members = envelope(json.RawMessage(r.Text))
	}
	var seconds float64
	for name, to := range map[string]any{
		"code": &p.code, "reason": &p.reason, "message": &p.message, "retry_after_seconds": &seconds,
	} {
		_ = json.Unmarshal(members[name], to) // absent
	}
	if r.RPC != nil {
		p.number = r.RPC.Code
	} else {
		_ = json.Unmarshal(members["code"], &p.number)
	}
	switch string(members["retryable"]) {
	case "true":
		p.retryable = new(true)
	case "false":
		p.retryable = new(false)
	}
	before := string(members["prerequisite"])
	p.prerequisite = before != "" && before != "null"
	if seconds > 0 {
		p.after = time.Duration(min(seconds, (24*time.Hour).Seconds()) * float64(time.Second))
	}
	return p
}

func envelope(data json.RawMessage) map[string]json.RawMessage { return object(object(data)["error"]) }

func object(data json.RawMessage) (m map[string]json.RawMessage) {
	if json.Unmarshal(data, &m) != nil {
		return nil
	}
	return m
}

// hinted adds what the payload says about the next attempt.
func (p payload) hinted(m mcperrors.Meaning) mcperrors.Meaning {
	if p.retryable != nil {
		m.Retryable = p.retryable
	}
	if p.after > 0 {
		m.RetryAfter = p.after
	}
	return m
}
