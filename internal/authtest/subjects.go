package authtest

import (
	"encoding/json"
	"net/http"
	"slices"
)

// Request is a request for tools that the MCP server answered.
type Request struct {
	Subject   string // the owner of its token, "" for a login without a name
	Method    string
	Arguments json.RawMessage // of a call
}

// Requests returns the requests that the MCP server answered, in order.
func (w *World) Requests() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// person returns who logs in with a browser: the user of HTTP Basic authentication, "" without
// one. A person with a name has their own tools and results.
func person(r *http.Request) string {
	name, _, _ := r.BasicAuth()
	return name
}

// tools returns the tools of a subject.
func tools(subject string) []any {
	schema := map[string]any{"type": "object"}
	list := []any{map[string]any{"name": "echo", "inputSchema": schema}}
	if subject != "" {
		list = append(list, map[string]any{"name": "only-" + subject, "inputSchema": schema})
	}
	return list
}

// note records a request that is answered. Requires w.mu.
func (w *World) note(subject, method string, body []byte) {
	var m struct {
		Params struct {
			Arguments json.RawMessage `json:"arguments"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &m)
	w.requests = append(w.requests, Request{subject, method, m.Params.Arguments})
}
