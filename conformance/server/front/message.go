package front

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Limits of a message: the same on stdio and on HTTP.
const (
	// DefaultMaxBytes bounds a line or a body.
	DefaultMaxBytes = 16 << 20
	// maxDepth bounds the nesting of arrays and objects.
	maxDepth = 512
)

// kind is what a message turned out to be.
type kind uint8

const (
	kindRequest kind = iota
	kindNotification
	kindResponse
)

// message is a JSON-RPC message whose envelope has been checked.
type message struct {
	kind   kind
	id     json.RawMessage // compact; nil for a notification
	method string
	params json.RawMessage // nil when absent or null; an object, but for a request that check has not seen
	opened map[string]json.RawMessage
}

// open returns the members of the params.
func (m *message) open() map[string]json.RawMessage {
	if m.opened == nil && m.params != nil {
		_ = json.Unmarshal(m.params, &m.opened) // what is no object has no members
	}
	return m.opened
}

// parse checks the envelope of one message. Exactly one of the results is set.
// Member names are compared exactly and may not repeat: encoding/json's own
// struct decoding would take "Method" for "method" and the last of two ids.
func parse(raw []byte) (*message, *fault) {
	if deep(raw) {
		return nil, invalidRequest(nil, "too_deep", "nested deeper than %d", maxDepth)
	}
	if !json.Valid(raw) {
		return nil, &fault{err: rpcError(jsonrpc.CodeParseError, "Parse error", nil)}
	}
	switch first := bytes.TrimLeft(raw, " \t\r\n")[0]; first {
	case '{':
	case '[':
		return nil, invalidRequest(nil, "batch", "a batch is served in revision "+revisionWithBatches+" only, and not inside another")
	default:
		return nil, invalidRequest(nil, "not_object", "a message must be an object")
	}
	env, err := members(raw)
	if err != nil {
		return nil, invalidRequest(usableID(env["id"]), "duplicate_member", "%s", err)
	}
	return classify(env)
}

func classify(env map[string]json.RawMessage) (*message, *fault) {
	rawID, hasID := env["id"]
	id := usableID(rawID)
	if string(env["jsonrpc"]) != `"2.0"` {
		return nil, invalidRequest(id, "jsonrpc", `jsonrpc must be "2.0"`)
	}
	rawMethod, hasMethod := env["method"]
	_, hasResult := env["result"]
	_, hasError := env["error"]
	if !hasMethod && hasID && hasResult != hasError {
		if !exactID(id) {
			return nil, invalidRequest(id, "id", "a response needs a string or integer id")
		}
		return &message{kind: kindResponse, id: id}, nil
	}
	m := &message{id: id}
	if !hasMethod || json.Unmarshal(rawMethod, &m.method) != nil || string(rawMethod) == "null" || hasResult || hasError {
		return nil, invalidRequest(id, "method", "method must be a string, without result or error")
	}
	if !hasID {
		m.kind = kindNotification
	} else if !exactID(id) {
		return nil, invalidRequest(id, "id", "id must be a string or an integer")
	}
	if p, ok := env["params"]; ok && string(p) != "null" {
		if p[0] != '{' && !hasID {
			return nil, &fault{}
		}
		m.params = p // of a request maybe no object: that is for its family to say, or for check
	}
	return m, nil
}

// members splits the top level of an object. On a repeated name it returns
// what it has and an error.
func members(raw []byte) (map[string]json.RawMessage, error) {
	env := make(map[string]json.RawMessage, 4)
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil { // the opening brace
		return env, err
	}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return env, err
		}
		name, ok := tok.(string)
		if !ok {
			return env, io.ErrUnexpectedEOF
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return env, err
		}
		if _, dup := env[name]; dup {
			return env, fmt.Errorf("member %q appears twice", clip(name))
		}
		env[name] = value
	}
	return env, nil
}

// idInPart looks for the id in the first part of a message that was too long
// to keep, so that the caller can be told which of its calls it was.
func idInPart(part []byte) json.RawMessage {
	part = bytes.TrimLeft(part, " \t\r\n")
	if len(part) == 0 || part[0] != '{' {
		return nil
	}
	env, _ := members(part) // the error is the cut: what came before it counts
	id := usableID(env["id"])
	if len(id) > 0 && id[0] != '"' && bytes.HasSuffix(part, id) {
		return nil // a number at the cut may go on behind it
	}
	return id
}

var integer = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// usableID returns raw if it may be echoed in an error (a string or any
// number), else nil, which is written as null.
func usableID(raw json.RawMessage) json.RawMessage {
	if len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') {
		return raw
	}
	return nil
}

// exactID reports whether id is what MCP allows: a string or an integer.
func exactID(id json.RawMessage) bool {
	return len(id) > 0 && (id[0] == '"' || integer.Match(id))
}

// deep reports whether raw nests deeper than maxDepth. It looks at brackets
// outside strings only, so it may run before raw is known to be JSON.
func deep(raw []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// clip shortens text of the peer to what an error may carry.
func clip(s string) string {
	const most = 64
	if len(s) <= most {
		return s
	}
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
