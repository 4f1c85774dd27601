package peer

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
)

// Message is one message from the client: a line, or an HTTP request, which may have no
// message in it.
type Message struct {
	// Seq is its position on the tape, At its time.
	Seq int
	At  time.Duration
	// Process counts the server processes that the client started, from 1; 0 over HTTP.
	Process int
	Data    []byte
	// Members are those of the JSON object in Data. Err says why there is none.
	Members map[string]json.RawMessage
	Err     error
	// Verb, Path and Header are of the HTTP request.
	Verb, Path string
	Header     http.Header
	// Left is the position where the client left before its request was answered
	// completely, Answered where the first byte of the answer was sent. 0 is never.
	Left, Answered int
	// Reply is the header of the answer. Agreed is the revision in the answer to
	// initialize.
	Reply  http.Header
	Agreed string
}

var errNotObject = errors.New("not a JSON object")

// Parse reads data into the message.
func (m *Message) Parse(data []byte) {
	m.Data = data
	if !utf8.Valid(data) {
		m.Err = errors.New("not UTF-8")
		return
	}
	if err := json.Unmarshal(data, &m.Members); err != nil || m.Members == nil {
		m.Members, m.Err = nil, err
		if json.Valid(data) {
			m.Err = errNotObject
		}
	}
}

// ID is the id as JSON, "" when there is none.
func (m *Message) ID() string { return string(m.Members["id"]) }

// Method is empty in a response, and if Data is no message.
func (m *Message) Method() string { return rawjson.Text(m.Members["method"]) }

// IsRequest reports whether it has a method and an id.
func (m *Message) IsRequest() bool { return m.Method() != "" && m.Members["id"] != nil }

// IsResponse reports whether it is a response, a wrong one included.
func (m *Message) IsResponse() bool {
	return m.Members != nil && m.Members["method"] == nil && (m.Members["result"] != nil || m.Members["error"] != nil || m.Members["id"] != nil)
}

// Param is the member of params at a path.
func (m *Message) Param(path ...string) json.RawMessage { return At(m.Members["params"], path...) }

// Evidence is the message as a frame.
func (m *Message) Evidence() conformance.Frame {
	f := conformance.Frame{At: m.At, Dir: conformance.ToServer, Data: m.Data[:min(len(m.Data), keptBytes)], Size: len(m.Data)}
	if m.Verb != "" {
		f.HTTP = &conformance.HTTPInfo{Method: m.Verb, ContentType: m.Header.Get("Content-Type"), Header: redact(m.Header)}
	}
	return f
}

// At is the member of raw at a path, nil when there is none.
func At(raw json.RawMessage, path ...string) json.RawMessage {
	for _, name := range path {
		members, _ := rawjson.Object(raw)
		raw = members[name]
	}
	return raw
}

// Members are those of a JSON object, nil of anything else.
func Members(raw json.RawMessage) map[string]json.RawMessage {
	out, _ := rawjson.Object(raw)
	return out
}

// IsInteger reports whether a JSON value is spelled as an integer: 1.0 is not.
func IsInteger(raw json.RawMessage) bool {
	if len(raw) > 1 && raw[0] == '-' {
		raw = raw[1:]
	}
	return len(raw) > 0 && !slices.ContainsFunc(raw, func(c byte) bool { return c < '0' || c > '9' })
}

// Quote returns s as a JSON string.
func Quote(s string) string { return string(rawjson.Encode(s)) }

// OrNull returns raw, or null.
func OrNull(raw json.RawMessage) string {
	if raw == nil {
		return "null"
	}
	return string(raw)
}
