package guard

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
)

// refusal is why a request is turned away.
type refusal struct {
	status int
	code   string // of RFC 6750 §3.1 or RFC 9449 §7.1; "" where no token came
	reason string // plain words, without anything that the request brought
	scopes []string
	dpop   bool // the request came with the scheme DPoP
}

func malformed(reason string) *refusal {
	return &refusal{status: http.StatusBadRequest, code: "invalid_request", reason: reason}
}

func invalid(dpop bool, reason string) *refusal {
	return &refusal{status: http.StatusUnauthorized, code: "invalid_token", reason: reason, dpop: dpop}
}

func insufficient(scopes []string) *refusal {
	return &refusal{status: http.StatusForbidden, code: "insufficient_scope", reason: "the access token lacks a scope", scopes: scopes}
}

func unavailable(reason string) *refusal {
	return &refusal{status: http.StatusServiceUnavailable, reason: reason}
}

// refuse answers r. The body is an error without the id of the request, which has
// not been looked at.
func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, resource *url.URL, no *refusal) {
	g.opts.Logger.LogAttrs(r.Context(), slog.LevelInfo, "request_refused", slog.Int("status", no.status),
		slog.String("error", no.code), slog.String("reason", no.reason))
	switch no.status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
	default:
		g.challenge(w.Header(), resource, no)
	}
	body, _ := json.Marshal(map[string]any{ // texts and numbers: cannot fail
		"jsonrpc": "2.0", "id": nil,
		"error": map[string]any{"code": -32000, "message": http.StatusText(no.status) + ": " + no.reason},
	})
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(no.status)
	_, _ = w.Write(body) // the client is gone: nobody is left to tell
}

// challenge describes the required token. It offers both schemes, with the error of the one
// that was used.
func (g *Guard) challenge(h http.Header, resource *url.URL, no *refusal) {
	scopes := no.scopes
	if scopes == nil {
		scopes = g.opts.Scopes
	}
	about := []string{parameter("resource_metadata", metadataURL(resource))} // RFC 9728 §5.1
	if len(scopes) > 0 {
		about = append(about, parameter("scope", strings.Join(scopes, " ")))
	}
	wrong := about
	if no.code != "" {
		wrong = append([]string{parameter("error", no.code), parameter("error_description", no.reason)}, about...)
	}
	algorithms := parameter("algs", strings.Join(algorithmNames(), " ")) // RFC 9449 §7.1
	bearer, dpop := wrong, about
	if no.dpop {
		bearer, dpop = about, wrong
	}
	h.Add("WWW-Authenticate", "Bearer "+strings.Join(bearer, ", "))
	h.Add("WWW-Authenticate", "DPoP "+strings.Join(append([]string{algorithms}, dpop...), ", "))
}

// parameter writes a parameter of a challenge. No value has a quote or a
// backslash: URLs are encoded, scopes are checked, reasons are ours.
func parameter(name, value string) string { return name + `="` + value + `"` }
