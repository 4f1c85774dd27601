package suitetest

import (
	"net/http"
	"strings"

	httpchecks "github.com/mainstay-mcp/mainstay/conformance/checks/http"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// credential is the one that the guard of the fakes takes.
const credential = "Bearer of-the-test"

// guarded lets through who has the credential, and tells others what to get.
func guarded(change func(h http.Header, metadata reply)) func(next http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == credential {
				next.ServeHTTP(w, r)
				return
			}
			at := "http://" + r.Host
			metadata := reply{"resource": at + "/mcp", "authorization_servers": []any{"https://login.example"}}
			h := http.Header{"Www-Authenticate": {`Bearer realm="mcp", resource_metadata="` + at + httpchecks.WellKnownResource + `/mcp"`}}
			change(h, metadata)
			if strings.HasPrefix(r.URL.Path, httpchecks.WellKnownResource) && len(metadata) > 0 {
				w.Header().Set("Content-Type", wire.MediaJSON)
				_, _ = w.Write(rawjson.Encode(metadata)) // a client that has gone reads nothing
				return
			}
			w.Header()["Www-Authenticate"] = h["Www-Authenticate"]
			w.WriteHeader(http.StatusUnauthorized)
		})
	}
}

func authorizationRewrites() map[string]rewritten {
	wrong := func(change func(h http.Header, metadata reply)) rewritten {
		return rewritten{http: guarded(change), base: guarded(func(http.Header, reply) {}), header: http.Header{"Authorization": {credential}}}
	}
	set := func(member string, value any) rewritten {
		return wrong(func(_ http.Header, metadata reply) { metadata[member] = value })
	}
	challenge := wrong(func(h http.Header, _ reply) { h["Www-Authenticate"] = []string{"Bearer"} })
	challenge.revision = mcp.Version2025_06_18
	lenient := wrong(func(http.Header, reply) {})
	strict := lenient.http
	lenient.http = func(next http.Handler) http.Handler {
		guard := strict(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if given := r.Header.Get("Authorization"); given != credential && strings.HasPrefix(given, "Bearer ") {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			guard.ServeHTTP(w, r)
		})
	}
	return map[string]rewritten{
		"AUTH-04/metadata":  wrong(func(_ http.Header, metadata reply) { clear(metadata) }),
		"AUTH-03/challenge": challenge,
		"AUTH-06/servers":   set("authorization_servers", []any{}),
		"AUTH-05/resource":  set("resource", "mcp"),
		"AUTH-05/own":       set("resource", "https://elsewhere.example/mcp"),
		"AUTH-02/invalid":   lenient,
	}
}
