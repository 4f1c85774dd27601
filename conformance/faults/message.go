package faults

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// message has the parts of a JSON-RPC message that the proxy uses. For other text only raw
// is set, and it is forwarded unchanged.
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

// parse reads a message, or the first request of a batch.
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

// look reads the params.
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

// members returns the messages of a text: the elements of a batch, or the text itself.
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

// answers reports whether it is a response to the request with that id.
func (m *message) answers(id json.RawMessage) bool {
	return m.Method == "" && (m.Result != nil || m.Error != nil) && bytes.Equal(bytes.TrimSpace(m.ID), bytes.TrimSpace(id))
}

// preview reads id, method and tool from the beginning of a message.
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

// response returns an answer with that result, which is JSON.
func response(id json.RawMessage, result string) []byte {
	return slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), orNull(id), []byte(`,"result":`), []byte(result), []byte("}"))
}

// nothing returns an empty answer, for requests that are not forwarded.
func nothing(m *message) []byte {
	if m.Method == "tools/call" {
		return response(m.ID, `{"resultType":"complete","content":[]}`)
	}
	return response(m.ID, `{"resultType":"complete"}`)
}

// failure returns an answer with that error; data is JSON or empty.
func failure(id json.RawMessage, code int, text, data string) []byte {
	out := slices.Concat([]byte(`{"jsonrpc":"2.0","id":`), orNull(id), []byte(`,"error":{"code":`))
	out = strconv.AppendInt(out, int64(code), 10)
	out = append(append(out, `,"message":`...), quote(text)...)
	if data != "" {
		out = append(append(out, `,"data":`...), data...)
	}
	return append(out, "}}"...)
}

// notification returns a notification of the server; params is JSON.
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

// object returns the members of a JSON object, nil for other JSON.
func object(text json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(text, &m) != nil {
		return nil
	}
	return m
}

// text encodes a value that was decoded from JSON.
func text(v any) json.RawMessage {
	out, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return out
}

// with returns a JSON object with a member set, or removed if value is empty.
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

// withResult returns an answer with another result; an error is unchanged.
func withResult(answer []byte, change func(result json.RawMessage) json.RawMessage) []byte {
	m := object(answer)
	if m == nil || m["result"] == nil {
		return answer
	}
	m["result"] = change(m["result"])
	return text(m)
}
