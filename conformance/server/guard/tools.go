package guard

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
)

// Tools returns next behind the scopes of single tools. It belongs behind
// [Guard.Authenticate]. A message that calls a tool without its scope is refused
// whole, with 403: clients learn from the challenge which scope they need.
func (g *Guard) Tools(next http.Handler) http.Handler {
	if len(g.opts.ToolScopes) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, ok := r.Context().Value(callerKey{}).(*caller)
		if r.Method != http.MethodPost || !ok {
			next.ServeHTTP(w, r)
			return
		}
		// Of a body that is too long the rest stays where it is: it is refused.
		here, err := io.ReadAll(io.LimitReader(r.Body, int64(g.opts.MaxBytes)+1))
		if err == nil {
			if needed := g.needed(here); !c.has(needed) {
				resource, _ := url.Parse(g.opts.Resource()) // Authenticate has read it
				g.refuse(w, r, resource, insufficient(union(g.opts.Scopes, needed)))
				return
			}
		}
		r.Body = body{io.MultiReader(bytes.NewReader(here), r.Body), r.Body}
		next.ServeHTTP(w, r)
	})
}

type body struct {
	io.Reader
	io.Closer
}

// needed returns the scopes of the tools that a body calls. What is no message
// calls none.
func (g *Guard) needed(body []byte) (scopes []string) {
	var batch []json.RawMessage
	if json.Unmarshal(body, &batch) != nil {
		batch = []json.RawMessage{body}
	}
	for _, raw := range batch {
		scopes = union(scopes, g.opts.ToolScopes[tool(raw)])
	}
	return scopes
}

// tool returns the name of the tool that a message calls: with tools/call, or as a
// method of its own. Names of members are compared exactly and the last of two
// counts, as where the message is served.
func tool(message []byte) string {
	var envelope, params map[string]json.RawMessage
	var name string
	if json.Unmarshal(message, &envelope) != nil || json.Unmarshal(envelope["method"], &name) != nil || name != "tools/call" {
		return name
	}
	if json.Unmarshal(envelope["params"], &params) != nil || json.Unmarshal(params["name"], &name) != nil {
		return ""
	}
	return name
}

func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
