package suitetest

import (
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

func httpGuardRewrites() map[string]rewritten {
	// from serves a request although it comes from there.
	from := func(method string, foreign func(origin string) bool) rewritten {
		return rewritten{options: onlyFixtures, http: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == method && foreign(r.Header.Get("Origin")) {
					r.Header.Del("Origin")
				}
				next.ServeHTTP(w, r)
			})
		}}
	}
	evil := func(origin string) bool { return origin == "http://evil.example" }
	part := func(text string) func(string) bool {
		return func(origin string) bool { return strings.Contains(origin, text) }
	}
	version := func(method string, status int, fits func(v string) bool) rewritten {
		return answered(status, func(r *http.Request, _ []byte) bool {
			return r.Method == method && fits(r.Header.Get(wire.HeaderRevision))
		})
	}
	unknown := func(v string) bool { return v == string(fixture.NoVersion) }
	initialize := from(http.MethodPost, evil)
	opens := initialize.http
	initialize.http = func(next http.Handler) http.Handler {
		open := opens(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get(wire.HeaderSession) == "" {
				open.ServeHTTP(w, r)
			} else {
				next.ServeHTTP(w, r)
			}
		})
	}
	own := answered(http.StatusForbidden, func(r *http.Request, _ []byte) bool {
		return strings.HasPrefix(r.Header.Get("Origin"), "http://127.0.0.1") && !strings.Contains(r.Header.Get("Origin"), "evil")
	})
	needs := answered(http.StatusBadRequest, func(r *http.Request, _ []byte) bool {
		return r.Method == http.MethodPost && r.Header.Get(wire.HeaderRevision) == "" && r.Header.Get(wire.HeaderSession) != ""
	})
	// A server that redirects from the start is not tested at all: this one begins after
	// the first contact.
	var met atomic.Bool
	return map[string]rewritten{
		"HTTP-07/redirect": over(func(w http.ResponseWriter, _ *http.Request, body []byte) bool {
			if !strings.Contains(string(body), `"initialize"`) || !met.Swap(true) {
				return false
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusFound)
			return true
		}),
		"X-SEC-02/prefix":     from(http.MethodPost, part(".evil.example")),
		"X-SEC-02/localhost":  from(http.MethodPost, part("localhost.evil")),
		"X-SEC-02/userinfo":   from(http.MethodPost, part("@evil.example")),
		"X-SEC-02/get":        from(http.MethodGet, evil),
		"X-SEC-02/delete":     from(http.MethodDelete, evil),
		"X-SEC-02/initialize": initialize,
		"X-SEC-02/null":       from(http.MethodPost, func(origin string) bool { return origin == "null" }),
		"X-SEC-02/own":        own,
		"X-SEC-02/host": {options: onlyFixtures, http: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.Host = "localhost"
				next.ServeHTTP(w, r)
			})
		}},
		"HTTP-15/garbage": version(http.MethodPost, http.StatusInternalServerError, func(v string) bool { return len(v) > 1000 }),
		"HTTP-15/get":     version(http.MethodGet, http.StatusOK, unknown),
		"HTTP-15/delete":  version(http.MethodDelete, http.StatusOK, unknown),
		"HTTP-15/other":   version(http.MethodPost, http.StatusInternalServerError, func(v string) bool { return v == "2025-06-18" }),
		"HTTP-14/none":    needs,
	}
}

func sessionIDRewrites() map[string]rewritten {
	// renamed gives sessions other names than the server does.
	renamed := func(name func(id string) string) rewritten {
		names := map[string]string{}
		return rewritten{options: onlyFixtures, http: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if id := names[r.Header.Get(wire.HeaderSession)]; id != "" {
					r.Header.Set(wire.HeaderSession, id)
				}
				next.ServeHTTP(&headed{ResponseWriter: w, change: func(h http.Header) {
					if id := h.Get(wire.HeaderSession); id != "" {
						names[name(id)] = id
						h.Set(wire.HeaderSession, name(id))
					}
				}}, r)
			})
		}}
	}
	status := func(method, session string, code int) rewritten {
		return answered(code, func(r *http.Request, _ []byte) bool {
			return r.Method == method && r.Header.Get(wire.HeaderSession) == session
		})
	}
	const never = "mainstay-no-such-session"
	var last atomic.Value
	return map[string]rewritten{
		"HTTP-12/unguessable": renamed(func(id string) string { return "session-of-the-server-" + id[:4] }),
		"HTTP-12/stable": with(func(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
			return &headed{ResponseWriter: w, change: func(h http.Header) {
				if r.Header.Get(wire.HeaderSession) != "" {
					h.Set(wire.HeaderSession, "another")
				}
			}}
		}),
		"HTTP-12/fixation": over(func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
			if r.Header.Get(wire.HeaderSession) != "mainstay-made-this-up" {
				return false
			}
			w.Header().Set(wire.HeaderSession, "mainstay-made-this-up")
			w.Header().Set("Content-Type", wire.MediaJSON)
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":"c-1","result":{}}`)) // a client that has gone reads nothing
			return true
		}),
		"HTTP-12/case": {options: onlyFixtures, http: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if id := r.Header.Get(wire.HeaderSession); id != "" {
					r.Header.Set(wire.HeaderSession, strings.ToUpper(id))
				}
				next.ServeHTTP(w, r)
			})
		}},
		"HTTP-12/notification": answered(http.StatusAccepted, func(r *http.Request, body []byte) bool {
			return r.Header.Get(wire.HeaderSession) == "" && strings.Contains(string(body), "notifications/")
		}),
		"HTTP-16/get":     status(http.MethodGet, never, http.StatusOK),
		"HTTP-18/unknown": status(http.MethodDelete, never, http.StatusNoContent),
		"HTTP-18/none":    status(http.MethodDelete, "", http.StatusNoContent),
		"HTTP-18/again": answered(http.StatusNoContent, func(r *http.Request, _ []byte) bool {
			id := r.Header.Get(wire.HeaderSession)
			if r.Method != http.MethodDelete || id == "" || id == never {
				return false
			}
			again := last.Load() == id
			last.Store(id)
			return again
		}),
		"HTTP-16/stream": {options: onlyFixtures, http: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet || r.Header.Get(wire.HeaderSession) == never {
					next.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Type", wire.MediaStream)
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush() // a client that has gone reads nothing
				<-r.Context().Done()
			})
		}},
	}
}
