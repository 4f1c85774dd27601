package faults

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// message is a JSON-RPC message as far as the proxy looks at it. A text that is
// none has all but raw empty and is passed on as it is.
type message struct {
	raw    []byte
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`

	tool, cursor, state, key string
	hasCursor                bool
	token                    json.RawMessage // the progressToken
	cancels                  json.RawMessage // the requestId of notifications/cancelled
	task                     string
}

// parse reads a message. In a batch, it is the first request of it.
func parse(raw []byte) *message {
	if begin := bytes.TrimSpace(raw); len(begin) == 0 || begin[0] != '[' {
		return parseOne(raw)
	}
	var batch []json.RawMessage // what is in it is not looked into as a batch
	if json.Unmarshal(raw, &batch) == nil {
		for _, one := range batch {
			if inner := parseOne(one); inner.request() {
				inner.raw = raw
				return inner
			}
		}
	}
	return &message{raw: raw}
}

func parseOne(raw []byte) *message {
	m := &message{raw: raw}
	if json.Unmarshal(raw, m) != nil {
		return &message{raw: raw}
	}
	m.look()
	return m
}

// look reads what is said in the parameters.
func (m *message) look() {
	var params struct {
		Name      string                     `json:"name"`
		Cursor    *string                    `json:"cursor"`
		State     string                     `json:"requestState"`
		RequestID json.RawMessage            `json:"requestId"`
		Task      string                     `json:"taskId"`
		Meta      map[string]json.RawMessage `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return
	}
	if m.Method == "tools/call" {
		m.tool = params.Name
	}
	if params.Cursor != nil {
		m.cursor, m.hasCursor = *params.Cursor, true
	}
	m.state, m.cancels, m.task, m.token = params.State, params.RequestID, params.Task, params.Meta["progressToken"]
	for name, value := range params.Meta {
		var key string
		if (name == "idempotencyKey" || strings.HasSuffix(name, "/idempotencyKey")) && json.Unmarshal(value, &key) == nil {
			m.key = key
		}
	}
}

// members are the messages in a text: the elements of a batch, or itself.
func members(raw []byte) []json.RawMessage {
	var batch []json.RawMessage
	if json.Unmarshal(raw, &batch) == nil {
		return batch
	}
	return []json.RawMessage{raw}
}

func (m *message) request() bool {
	return m.Method != "" && len(m.ID) > 0 && string(m.ID) != "null"
}

// answers reports a response to the request with that id.
func (m *message) answers(id json.RawMessage) bool {
	return m.Method == "" && (m.Result != nil || m.Error != nil) && bytes.Equal(bytes.TrimSpace(m.ID), bytes.TrimSpace(id))
}

// preview reads id, method and tool from the beginning of a message, as far as
// they are in it.
func preview(raw []byte) *message {
	m := &message{raw: raw}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return m
	}
	for {
		name, err := dec.Token()
		if err != nil {
			return m
		}
		switch name {
		case "id":
			err = dec.Decode(&m.ID)
		case "method":
			err = dec.Decode(&m.Method)
		case "params":
			if t, first := dec.Token(); first != nil || t != json.Delim('{') {
				return m
			}
			if name, _ := dec.Token(); name == "name" && m.Method == "tools/call" {
				_ = dec.Decode(&m.tool) // not there yet: a call without a name
			}
			return m
		default:
			var skipped json.RawMessage
			err = dec.Decode(&skipped)
		}
		if err != nil {
			return m
		}
	}
}

// response is an answer with that result, which is JSON text.
func response(id json.RawMessage, result string) []byte {
	return slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), orNull(id), []byte(`,"result":`), []byte(result), []byte("}"))
}

// nothing is the answer of a server that has nothing to tell: what the proxy
// says when the server was not asked.
func nothing(m *message) []byte {
	if m.Method == "tools/call" {
		return response(m.ID, `{"resultType":"complete","content":[]}`)
	}
	return response(m.ID, `{"resultType":"complete"}`)
}

// failure is an answer with that error; data is JSON text or empty.
func failure(id json.RawMessage, code int, text, data string) []byte {
	out := slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), orNull(id), []byte(`,"error":{"code":`))
	out = strconv.AppendInt(out, int64(code), 10)
	out = append(append(out, `,"message":`...), quote(text)...)
	if data != "" {
		out = append(append(out, `,"data":`...), data...)
	}
	return append(out, "}}"...)
}

// notification is one from the server; params is JSON text.
func notification(method, params string) []byte {
	return []byte(`{"jsonrpc":"2.0","method":` + quote(method) + `,"params":` + params + `}`)
}

func orNull(id json.RawMessage) json.RawMessage {
	if len(id) == 0 {
		return json.RawMessage("null")
	}
	return id
}

func quote(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(out)
}

// object is the members of a JSON object; nil when it is none.
func object(text json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(text, &m) != nil {
		return nil
	}
	return m
}

// text is the JSON of a value that was JSON before.
func text(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return out
}

// with returns a JSON object with a member set, or taken out when value is empty.
func with(of json.RawMessage, name, value string) json.RawMessage {
	m := object(of)
	if m == nil {
		m = map[string]json.RawMessage{}
	}
	if value == "" {
		delete(m, name)
	} else {
		m[name] = json.RawMessage(value)
	}
	return text(m)
}

// withResult returns an answer whose result was changed; an error stays as it is.
func withResult(answer []byte, change func(result json.RawMessage) json.RawMessage) []byte {
	m := object(answer)
	if m == nil || m["result"] == nil {
		return answer
	}
	m["result"] = change(m["result"])
	return text(m)
}
