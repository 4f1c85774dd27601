package suitetest

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"

	httpchecks "github.com/mainstay-mcp/mainstay/conformance/checks/http"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// over is a reference server over HTTP, behind a handler that sees each request
// first and says whether it has answered it.
func over(handle func(w http.ResponseWriter, r *http.Request, body []byte) bool) rewritten {
	return rewritten{options: onlyFixtures, http: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return
			}
			if !handle(w, r, body) {
				r.Body = io.NopCloser(bytes.NewReader(body))
				next.ServeHTTP(w, r)
			}
		})
	}}
}

// answered is one that answers the requests want takes with a status.
func answered(status int, want func(r *http.Request, body []byte) bool) rewritten {
	return over(func(w http.ResponseWriter, r *http.Request, body []byte) bool {
		if !want(r, body) {
			return false
		}
		w.WriteHeader(status)
		return true
	})
}

// with is one that passes what comes through a writer of its own.
func with(wrap func(w http.ResponseWriter, r *http.Request) http.ResponseWriter) rewritten {
	return rewritten{options: onlyFixtures, http: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { next.ServeHTTP(wrap(w, r), r) })
	}}
}

// headed changes the headers of an answer before they are written.
type headed struct {
	http.ResponseWriter
	change func(h http.Header)
	done   bool
}

func (h *headed) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func (h *headed) WriteHeader(status int) {
	if !h.done {
		h.done = true
		h.change(h.Header())
	}
	h.ResponseWriter.WriteHeader(status)
}

func (h *headed) Write(data []byte) (int, error) {
	if !h.done {
		h.WriteHeader(http.StatusOK)
	}
	return h.ResponseWriter.Write(data)
}

// fits reports whether a request is that of the probe.
func fits(p *httpchecks.Probe, r *http.Request, body []byte) bool {
	fits := r.Method == p.Method && (p.Body == nil || bytes.Equal(p.Body, body)) && (!p.Empty || len(body) == 0)
	for name, values := range p.Header {
		fits = fits && slices.Equal(r.Header[name], values)
	}
	return fits
}

func httpRequestRewrites() map[string]rewritten {
	changedHeader := func(name, value string) rewritten {
		return with(func(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
			return &headed{ResponseWriter: w, change: func(h http.Header) {
				if r.Header.Get("Accept-Encoding") == "identity" {
					h.Set(name, value)
				}
			}}
		})
	}
	seen := 0
	all := map[string]rewritten{
		"HTTP-01/chunked":  answered(http.StatusBadRequest, func(r *http.Request, _ []byte) bool { return r.ContentLength < 0 }),
		"HTTP-01/identity": changedHeader("Content-Encoding", "br"),
		"HTTP-01/charset":  changedHeader("Content-Type", wire.MediaJSON+"; charset=iso-8859-1"),
		"HTTP-01/slow": answered(http.StatusBadRequest, func(r *http.Request, _ []byte) bool {
			if r.ContentLength < 0 {
				seen++
			}
			return seen == 2
		}),
		"HTTP-01/concurrent": over(func(w http.ResponseWriter, r *http.Request, body []byte) bool {
			if !strings.Contains(string(body), `"ping"`) || r.ContentLength < 0 || r.Header.Get("Accept-Encoding") == "identity" {
				return false
			}
			w.Header().Set("Content-Type", wire.MediaJSON)
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":"c-1","result":{}}`)) // a client that has gone reads nothing
			return true
		}),
	}
	for _, list := range httpchecks.Probes() {
		for i := range list {
			p := &list[i]
			status := http.StatusInternalServerError
			if p.OK(&wire.HTTPAnswer{Status: status, Header: http.Header{}}, nil) {
				status = http.StatusMethodNotAllowed // without Allow
			}
			all[p.ID] = answered(status, func(r *http.Request, body []byte) bool { return fits(p, r, body) })
		}
	}
	return all
}
