package main

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
)

type obj = map[string]any

// message is one incoming JSON-RPC message.
type message struct {
	ID     json.RawMessage
	Method string
	Params map[string]json.RawMessage
	Result json.RawMessage
	Error  json.RawMessage
	Meta   map[string]json.RawMessage
}

func (m *message) isRequest() bool  { return m.Method != "" && m.ID != nil }
func (m *message) isResponse() bool { return m.Method == "" }

type rpcError struct {
	Code    int
	Message string
	Data    any
	Status  int // HTTP status in the stateless era, 0 for 200
}

func invalidRequest(s string) *rpcError { return &rpcError{Code: -32600, Message: s, Status: 400} }
func invalidParams(s string) *rpcError  { return &rpcError{Code: -32602, Message: s} }
func badMeta(s string) *rpcError        { return &rpcError{Code: -32602, Message: s, Status: 400} }
func noMethod(s string) *rpcError {
	return &rpcError{Code: -32601, Message: "method not found: " + s, Status: 404}
}

var integerText = regexp.MustCompile(`^-?[0-9]+$`)

func validID(raw json.RawMessage) bool {
	if len(raw) == 0 {
		return false
	}
	return raw[0] == '"' || integerText.Match(raw)
}

// parseMessage reads one object. Member names are matched exactly. The
// returned message is never nil, so that its id can be used for the answer.
func parseMessage(b []byte) (*message, *rpcError) {
	m := &message{}
	var top map[string]json.RawMessage
	if !json.Valid(b) {
		return m, &rpcError{Code: -32700, Message: "the message is not JSON", Status: 400}
	}
	if err := json.Unmarshal(b, &top); err != nil || top == nil {
		return m, invalidRequest("the message is not an object")
	}
	if id, ok := top["id"]; ok {
		id = bytes.TrimSpace(id)
		if validID(id) {
			m.ID = id
		} else if _, isCall := top["method"]; isCall {
			return m, invalidRequest("id must be a string or an integer")
		}
	}
	if v := top["jsonrpc"]; string(bytes.TrimSpace(v)) != `"2.0"` {
		return m, invalidRequest(`jsonrpc must be "2.0"`)
	}
	if v, ok := top["method"]; ok {
		if json.Unmarshal(v, &m.Method) != nil || m.Method == "" {
			return m, invalidRequest("method must be a string")
		}
	} else if top["result"] == nil && top["error"] == nil {
		return m, invalidRequest("neither a request nor a response")
	}
	m.Result, m.Error = top["result"], top["error"]
	if p, ok := top["params"]; ok {
		if err := json.Unmarshal(p, &m.Params); err != nil || m.Params == nil {
			return m, &rpcError{Code: -32602, Message: "params must be an object", Status: 400}
		}
	}
	if raw, ok := m.Params["_meta"]; ok {
		if err := json.Unmarshal(raw, &m.Meta); err != nil {
			return m, badMeta("_meta must be an object")
		}
	}
	return m, nil
}

func parseBatch(b []byte) ([]json.RawMessage, *rpcError) {
	var list []json.RawMessage
	if !json.Valid(b) {
		return nil, &rpcError{Code: -32700, Message: "the message is not JSON", Status: 400}
	}
	if json.Unmarshal(b, &list) != nil || len(list) == 0 {
		return nil, invalidRequest("the batch is empty")
	}
	return list, nil
}

// idKey makes a map key that keeps 7 and "7" apart.
func idKey(raw json.RawMessage) string { return string(raw) }

func cancelKey(m *message) string { return string(bytes.TrimSpace(m.Params["requestId"])) }

func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte(`{"jsonrpc":"2.0","error":{"code":-32603,"message":"the answer could not be written"}}`)
	}
	return bytes.TrimRight(buf.Bytes(), "\n")
}

// decode reads JSON and keeps numbers as they were written.
func decode(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil {
		if _, e := d.Token(); e != io.EOF {
			err = e
		}
	}
	return v, err
}

func outID(id json.RawMessage) any {
	if defect("id-through-float") {
		var v any
		json.Unmarshal(id, &v)
		return v
	}
	return id
}

func resultReply(id json.RawMessage, res obj) obj {
	return obj{"jsonrpc": "2.0", "id": outID(id), "result": res}
}

// errorReply makes an error response. When the id could not be read it is
// left out, or null in the revisions whose schema wants the member.
func errorReply(id json.RawMessage, e *rpcError, version string) obj {
	body := obj{"code": e.Code, "message": e.Message}
	if e.Data != nil {
		body["data"] = e.Data
	}
	r := obj{"jsonrpc": "2.0", "error": body}
	if id != nil {
		r["id"] = outID(id)
	} else if version == v2024 || version == v2025a || version == v2025b {
		r["id"] = nil
	}
	return r
}

func notification(method string, params obj) obj {
	n := obj{"jsonrpc": "2.0", "method": method}
	if params != nil {
		n["params"] = params
	}
	return n
}
