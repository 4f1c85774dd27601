package suitetest

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// eventWriter changes what is written to an event stream, which is one event at
// a time, and the statuses of POST answers.
type eventWriter struct {
	http.ResponseWriter
	change func(event []byte) []byte
	status func(status int) int
	mu     *sync.Mutex // nil where nobody else writes here
}

// FlushError implements what [http.ResponseController] looks for.
func (w *eventWriter) FlushError() error {
	defer w.lock()()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *eventWriter) lock() (unlock func()) {
	if w.mu == nil {
		return func() {}
	}
	w.mu.Lock()
	return w.mu.Unlock
}

func (w *eventWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *eventWriter) WriteHeader(status int) {
	if w.status != nil {
		status = w.status(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *eventWriter) Write(data []byte) (int, error) {
	out := data
	if w.change != nil {
		out = w.change(data)
	}
	defer w.lock()()
	_, err := w.ResponseWriter.Write(out)
	return len(data), err
}

// oldStream is a reference server over HTTP+SSE whose events are changed.
func oldStream(change func(event []byte) []byte) rewritten {
	return oldTransport(rewritten{http: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				w = &eventWriter{ResponseWriter: w, change: change}
			}
			next.ServeHTTP(w, r)
		})
	}})
}

// oldTransport has the suite come over HTTP+SSE.
func oldTransport(r rewritten) rewritten {
	r.sse, r.options = true, onlyFixtures
	return r
}

// oldPost answers the messages want takes with a status, and nothing more.
func oldPost(status int, want func(r *http.Request, body []byte) bool) rewritten {
	return oldTransport(answered(status, func(r *http.Request, body []byte) bool { return r.Method == http.MethodPost && want(r, body) }))
}

// oldRequest changes a request before the server sees it.
func oldRequest(change func(r *http.Request)) rewritten {
	return oldTransport(rewritten{http: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			change(r)
			next.ServeHTTP(w, r)
		})
	}})
}

func sseRewrites() map[string]rewritten {
	holds := func(part string) func(*http.Request, []byte) bool {
		return func(_ *http.Request, body []byte) bool { return bytes.Contains(body, []byte(part)) }
	}
	replaced := func(old, by string) func([]byte) []byte {
		return func(event []byte) []byte { return bytes.Replace(event, []byte(old), []byte(by), 1) }
	}
	// lenient takes what is posted to a session that is not there.
	lenient := oldTransport(rewritten{http: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(&eventWriter{ResponseWriter: w, status: func(status int) int {
				if status == http.StatusNotFound {
					return http.StatusAccepted
				}
				return status
			}}, r)
		})
	}})
	unguarded := func(method string) rewritten {
		return oldRequest(func(r *http.Request) {
			if r.Method == method && strings.Contains(r.Header.Get("Origin"), "evil") {
				r.Header.Del("Origin")
			}
		})
	}
	return map[string]rewritten{
		"OLD-01/first":    oldStream(replaced("event: endpoint", "event: hello\ndata: 1\n\nevent: endpoint")),
		"OLD-01/uri":      oldStream(replaced("data: /sse", "data: /sse /")),
		"OLD-02/origin":   oldStream(replaced("data: /sse", "data: http://evil.example/sse")),
		"OLD-01/accepted": oldPost(http.StatusInternalServerError, holds(`"ping"`)),
		"OLD-01/answer": oldTransport(over(func(w http.ResponseWriter, r *http.Request, body []byte) bool {
			if r.Method != http.MethodPost || !bytes.Contains(body, []byte(`"ping"`)) {
				return false
			}
			w.Header().Set("Content-Type", wire.MediaJSON)
			_, _ = w.Write(rawjson.Encode(success(wire.Received(body, nil).Members["id"], reply{}))) // a client that has gone reads nothing
			return true
		})),
		"OLD-01/notification": oldPost(http.StatusInternalServerError, holds("notifications/cancelled")),
		"OLD-01/parameters": oldPost(http.StatusUnsupportedMediaType, func(r *http.Request, _ []byte) bool {
			return strings.Contains(r.Header.Get("Content-Type"), "charset")
		}),
		"OLD-01/malformed":  oldPost(http.StatusAccepted, holds(`"cut`)),
		"OLD-01/large":      oldPost(http.StatusRequestEntityTooLarge, func(_ *http.Request, body []byte) bool { return len(body) > 1<<20 }),
		"OLD-01/both":       oneStream(),
		"OLD-01/own":        crossing(),
		"OLD-01/parallel":   overrun(),
		"OLD-01/others":     oneEnd(),
		"OLD-01/message":    oldStream(replaced("event: message", "event: answer")),
		"OLD-05/gone":       lenient,
		"OLD-05/unknown":    lenient,
		"X-SEC-02/sse-get":  unguarded(http.MethodGet),
		"X-SEC-02/sse-post": unguarded(http.MethodPost),
		"X-SEC-02/sse-own": oldPost(http.StatusForbidden, func(r *http.Request, _ []byte) bool {
			return strings.HasPrefix(r.Header.Get("Origin"), "http://127.0.0.1")
		}),
		"X-SEC-02/sse-host": oldRequest(func(r *http.Request) { r.Host = "localhost" }),
	}
}

// oneStream opens no stream beside another.
func oneStream() rewritten {
	var open atomic.Int32
	return oldTransport(rewritten{http: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				defer open.Add(-1)
				if open.Add(1) > 2 { // one of another scenario may not be over yet
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	}})
}

// crossing sends one answer on another stream than that of its request.
func crossing() rewritten {
	var mu sync.Mutex
	var open []*eventWriter
	return oldTransport(rewritten{http: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				next.ServeHTTP(w, r)
				return
			}
			writing := &sync.Mutex{}
			own, plain := &eventWriter{ResponseWriter: w, mu: writing}, &eventWriter{ResponseWriter: w, mu: writing}
			own.change = func(event []byte) []byte {
				if !bytes.Contains(event, []byte(`"stream-1-5"`)) {
					return event
				}
				mu.Lock()
				defer mu.Unlock()
				other := open[slices.Index(open, plain)-1]
				if _, err := other.Write(event); err == nil {
					_ = other.FlushError() // a client that has gone reads nothing
				}
				return nil
			}
			mu.Lock()
			open = append(open, plain)
			mu.Unlock()
			defer func() {
				mu.Lock()
				defer mu.Unlock()
				open = slices.DeleteFunc(open, func(w *eventWriter) bool { return w == plain })
			}()
			next.ServeHTTP(own, r)
		})
	}})
}

// overrun refuses one of the requests that come at the same time.
func overrun() rewritten {
	var begun atomic.Bool
	var count atomic.Int32
	return oldPost(http.StatusServiceUnavailable, func(_ *http.Request, body []byte) bool {
		if bytes.Contains(body, []byte(`"stream-1-19"`)) {
			begun.Store(true)
			return false
		}
		return begun.Load() && count.Add(1) == 30
	})
}

// oneEnd ends all streams with the first that ends.
func oneEnd() rewritten {
	var mu sync.Mutex
	ends := map[*http.Request]context.CancelFunc{}
	return oldTransport(rewritten{http: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				ctx, cancel := context.WithCancel(r.Context())
				r = r.WithContext(ctx)
				mu.Lock()
				ends[r] = cancel
				mu.Unlock()
				defer func() {
					mu.Lock()
					defer mu.Unlock()
					for other, end := range ends {
						end()
						delete(ends, other)
					}
				}()
			}
			next.ServeHTTP(w, r)
		})
	}})
}
