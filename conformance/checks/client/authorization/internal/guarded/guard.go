package guarded

import (
	"net/http"
	"slices"
	"strings"
)

// serveResource is the host of the MCP server.
func (w *World) serveResource(out http.ResponseWriter, in *http.Request) {
	switch {
	case in.URL.Path == Endpoint && w.MCP != nil:
		w.MCP.ServeHTTP(out, in) // which comes back to Guard
	case w.Handlers[Resource+in.URL.Path] != nil:
		w.received(Resource, in)
		w.Handlers[Resource+in.URL.Path](out, in)
	case slices.Contains(w.MetadataPaths, in.URL.Path):
		w.received(Resource, in)
		w.changing.RLock()
		defer w.changing.RUnlock()
		Document(out, http.StatusOK, w.Metadata)
	default:
		w.received(Resource, in)
		http.NotFound(out, in)
	}
}

// Guard lets requests with a valid token through to next.
func (w *World) Guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		r := w.received(Resource, in)
		w.mu.Lock()
		before := w.Before[r.Tool]
		delete(w.Before, r.Tool)
		w.mu.Unlock()
		if before != nil {
			w.changing.Lock()
			before()
			w.changing.Unlock()
		}
		if h := w.Handlers[Resource+Endpoint+" "+r.Tool]; h != nil && r.Tool != "" {
			h(out, in)
			return
		}
		w.changing.RLock()
		status, challenge := w.judge(r)
		w.changing.RUnlock()
		if status != 0 {
			w.mu.Lock()
			w.requests[r.Seq-1].Status = status
			w.mu.Unlock()
			out.Header()["Www-Authenticate"] = challenge
			if w.Nonce != "" {
				out.Header().Set("DPoP-Nonce", w.Nonce)
			}
			out.WriteHeader(status)
			return
		}
		next.ServeHTTP(out, in)
	})
}

// judge returns the status and the challenges that refuse a request, 0 if it may pass.
func (w *World) judge(r *Request) (int, []string) {
	if w.Free != nil && w.Free(r) {
		return 0, nil
	}
	scheme, value := r.Bearer()
	if value == "" {
		return http.StatusUnauthorized, w.Challenge
	}
	t := w.Issued(value)
	if w.Partner != nil {
		if t = w.Partner.Issued(value); t != nil && t.Resource != w.Base+Endpoint {
			t = nil
		}
	}
	switch {
	case t == nil || t.Dead || w.Trust != nil && !w.Trust(t) || (t.Key != "") != (scheme == "dpop"):
		return http.StatusUnauthorized, w.with(`error="invalid_token"`)
	case t.Key != "":
		proof, problem := w.proof(r, w.Base+Endpoint, value)
		if problem == "" && proof.key != t.Key {
			problem = "the proof has another key than the token"
		}
		if problem == "" && w.Nonce != "" && proof.nonce != w.Nonce {
			return http.StatusUnauthorized, []string{`DPoP error="use_dpop_nonce"`}
		}
		if problem != "" {
			w.problem(problem)
			return http.StatusUnauthorized, []string{`DPoP error="invalid_dpop_proof"`}
		}
	}
	if w.Needs == nil {
		return 0, nil
	}
	needed := w.Needs(r)
	for _, scope := range needed {
		if !slices.Contains(t.Scopes, scope) {
			return http.StatusForbidden, []string{`Bearer error="insufficient_scope", scope="` + strings.Join(needed, " ") + `", resource_metadata="` + w.Base + MetadataPath + Endpoint + `"`}
		}
	}
	return 0, nil
}

// with adds a parameter to the last challenge.
func (w *World) with(parameter string) []string {
	out := slices.Clone(w.Challenge)
	if n := len(out); n > 0 {
		if !strings.Contains(out[n-1], " ") {
			out[n-1] += " " + parameter
		} else {
			out[n-1] += ", " + parameter
		}
	}
	return out
}
