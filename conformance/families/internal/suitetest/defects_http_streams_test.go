package suitetest

import (
	"bytes"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// piped changes what a server writes, piece by piece.
type piped struct {
	http.ResponseWriter
	change func(data []byte) []byte
}

func (p *piped) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p *piped) Write(data []byte) (int, error) {
	_, err := p.ResponseWriter.Write(p.change(data))
	return len(data), err
}

// streamed is a reference server whose streams are changed.
func streamed(change func(r *http.Request, data []byte) []byte) rewritten {
	return with(func(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
		return &piped{w, func(data []byte) []byte { return change(r, data) }}
	})
}

// resumes: the request takes up a stream again.
func resumes(r *http.Request) bool { return r.Header.Get("Last-Event-ID") != "" }

func httpStreamRewrites() map[string]rewritten {
	var gets atomic.Int32
	changedList := func(more func(n reply) []any) rewritten {
		return rewritten{options: onlyFixtures, overHTTP: true, note: func(n reply) []any {
			if n["method"] != mcp.MethodToolsListChanged {
				return []any{n}
			}
			return more(n)
		}}
	}
	broken := streamed(func(_ *http.Request, data []byte) []byte {
		if bytes.Contains(data, []byte(`"protocolVersion"`)) {
			return data // the answer to initialize: without it no check runs
		}
		return bytes.ReplaceAll(data, []byte(`data: {`), []byte(`data: message {`))
	})
	broken.also, broken.revision = []string{"HTTP-23"}, mcp.LatestSession
	text := over(func(w http.ResponseWriter, _ *http.Request, body []byte) bool {
		if !bytes.Contains(body, []byte(fixture.NoMethod)) {
			return false
		}
		w.Header().Set("Content-Type", wire.MediaJSON)
		_, _ = w.Write([]byte("no message")) // a client that has gone reads nothing
		return true
	})
	text.also, text.revision = []string{"X-WIRE-03/method"}, mcp.LatestSession
	ids, waits := regexp.MustCompile(`(?m)^id: .*$`), regexp.MustCompile(`(?m)^retry: .*$`)
	return map[string]rewritten{
		observe.SeenEvent: broken,
		observe.SeenOne:   text,
		"HTTP-19/second": answered(http.StatusInternalServerError, func(r *http.Request, _ []byte) bool {
			return r.Method == http.MethodGet && gets.Add(1) > 1
		}),
		"HTTP-21/once": changedList(func(n reply) []any { return []any{n, n} }),
		"HTTP-21/no-response": changedList(func(n reply) []any {
			return []any{n, success([]byte(`"stray"`), reply{})}
		}),
		"HTTP-03/ends": {options: onlyFixtures, http: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(w, r)
				if w.Header().Get("Content-Type") == wire.MediaStream {
					<-r.Context().Done()
				}
			})
		}},
		"HTTP-26/priming": streamed(func(_ *http.Request, data []byte) []byte {
			if ids.Match(data) && !bytes.Contains(data, []byte("data: {")) {
				return nil
			}
			return data
		}),
		"HTTP-23/unique": streamed(func(_ *http.Request, data []byte) []byte {
			return ids.ReplaceAll(data, []byte("id: same"))
		}),
		"HTTP-23/rest": answered(http.StatusNotFound, func(r *http.Request, _ []byte) bool { return resumes(r) }),
		"HTTP-23/again": {options: onlyFixtures, http: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if stream, _, ok := strings.Cut(r.Header.Get("Last-Event-ID"), "_"); ok {
					r.Header.Set("Last-Event-ID", stream+"_0")
				}
				next.ServeHTTP(w, r)
			})
		}},
		"HTTP-23/only": streamed(func(r *http.Request, data []byte) []byte {
			if !resumes(r) || !bytes.Contains(data, []byte(`"left"`)) {
				return data
			}
			return append(bytes.ReplaceAll(data, []byte(`"left"`), []byte(`"beside"`)), data...)
		}),
		"HTTP-23/unknown": answered(http.StatusInternalServerError, func(r *http.Request, _ []byte) bool {
			return r.Header.Get("Last-Event-ID") == "mainstay-no-such-event"
		}),
		"HTTP-24/event":  streamed(func(_ *http.Request, data []byte) []byte { return ids.ReplaceAll(data, []byte(": no id")) }),
		"HTTP-24/retry":  streamed(func(_ *http.Request, data []byte) []byte { return waits.ReplaceAll(data, []byte(": no time")) }),
		"HTTP-24/answer": answered(http.StatusNotFound, func(r *http.Request, _ []byte) bool { return resumes(r) }),
	}
}
