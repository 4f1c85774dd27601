package guarded

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Request is one HTTP request of the client.
type Request struct {
	Seq          int
	Host         string // one of the hosts
	Method, Path string
	Query, Form  url.Values
	Header       http.Header
	Body         []byte
	// RPC, ID and Tool are of the message in the body: its method, its id as JSON, and
	// the tool that it calls.
	RPC, ID, Tool string
	// Status is what the guard of the MCP endpoint answered: 401, 403, or 0 if it let
	// the request pass.
	Status int
}

const maxBody = 32 << 20

// received writes a request down.
func (w *World) received(host string, in *http.Request) *Request {
	r := &Request{Host: host, Method: in.Method, Path: in.URL.Path, Query: in.URL.Query(), Header: in.Header.Clone()}
	r.Body, _ = io.ReadAll(io.LimitReader(in.Body, maxBody)) // what came is what is judged
	in.Body = io.NopCloser(bytes.NewReader(r.Body))
	if kind, _, _ := mime.ParseMediaType(in.Header.Get("Content-Type")); kind == "application/x-www-form-urlencoded" {
		r.Form, _ = url.ParseQuery(string(r.Body)) // as above
		w.Keep("code verifier", r.Form.Get("code_verifier"))
	}
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct{ Name string }
	}
	if json.Unmarshal(r.Body, &m) == nil {
		r.RPC, r.ID = m.Method, string(m.ID)
		if m.Method == "tools/call" {
			r.Tool = m.Params.Name
		}
	}
	w.mu.Lock()
	r.Seq = len(w.requests) + 1
	w.requests = append(w.requests, r)
	log := w.Log
	w.mu.Unlock()
	if log != nil && (host != Resource || r.Path != Endpoint) {
		log(r)
	}
	return r
}

// Bearer is the token in the Authorization header, and its scheme in lower case.
func (r *Request) Bearer() (scheme, token string) {
	scheme, token, _ = strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.ToLower(scheme), strings.TrimSpace(token)
}

// Refused reports whether the guard refused the request.
func (r *Request) Refused() bool { return r.Status != 0 }

// Where is the host and path.
func (r *Request) Where() string { return r.Method + " " + r.Host + r.Path }

// All returns copies of the requests that pass the filter, in their order; nil is all.
func (w *World) All(filter func(*Request) bool) []*Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*Request
	for _, r := range w.requests {
		c := *r
		if filter == nil || filter(&c) {
			out = append(out, &c)
		}
	}
	return out
}

// At returns the requests to a path of a host.
func (w *World) At(host, path string) []*Request {
	return w.All(func(r *Request) bool { return r.Host == host && r.Path == path })
}

// Calls returns the tools/call requests of a tool.
func (w *World) Calls(tool string) []*Request {
	return w.All(func(r *Request) bool { return r.Host == Resource && r.Path == Endpoint && r.Tool == tool })
}

// Paths are the paths of the well-known documents that a host was asked for, each once.
func (w *World) Paths(host string) []string {
	var out []string
	for _, r := range w.All(nil) {
		if r.Host == host && r.Method == http.MethodGet && strings.Contains(r.Path, "/.well-known/") && !slices.Contains(out, r.Path) {
			out = append(out, r.Path)
		}
	}
	return out
}
