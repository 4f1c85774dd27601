package mutants

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// httpMutants break the transport's own rules: statuses, headers, sessions.
func httpMutants() []Mutant {
	return []Mutant{
		{ID: "notification-200", Says: "a notification is answered with 200", Breaks: "HTTP-04", plant: heads(swapStatus(202, 200))},
		{ID: "notification-204", Says: "a notification is answered with 204", Breaks: "HTTP-04", plant: heads(swapStatus(202, 204))},
		{ID: "notification-body", Says: "the answer to a notification has a body", Breaks: "HTTP-04", plant: before(notificationBody)},
		{ID: "accept-ignored", Says: "a request that takes neither form of answer is served", Breaks: "HTTP-02", plant: before(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodPost {
				r.Header.Set("Accept", mediaJSON+", "+mediaStream)
			}
			next.ServeHTTP(w, r)
		})},
		{ID: "content-type-ignored", Says: "a body of text/plain is served", Breaks: "HTTP-02", plant: before(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodPost {
				r.Header.Set("Content-Type", mediaJSON)
			}
			next.ServeHTTP(w, r)
		})},
		{ID: "answer-as-text", Says: "JSON is sent as text/plain", Breaks: "HTTP-03", plant: textAnswers},
		{ID: "revision-header-ignored", Says: "a revision in the header that nobody knows is served", Breaks: "HTTP-15", plant: before(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Header.Get(headerRevision) != "" && !mcp.Version(r.Header.Get(headerRevision)).Known() {
				r.Header.Del(headerRevision)
			}
			next.ServeHTTP(w, r)
		})},
		{ID: "revision-header-404", Says: "a revision in the header that nobody knows is answered with 404", Breaks: "HTTP-15", plant: heads(func(x *exchange, status int, _ http.Header) int {
			if status == http.StatusBadRequest && !mcp.Version(x.http.Header.Get(headerRevision)).Known() {
				return http.StatusNotFound
			}
			return status
		})},
		{ID: "origin-ignored", Says: "a foreign Origin is served", Breaks: "HTTP-05", plant: before(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			r.Header.Del("Origin")
			r.Header.Del("Sec-Fetch-Site")
			next.ServeHTTP(w, r)
		})},
		{ID: "origin-400", Says: "a foreign Origin is answered with 400", Breaks: "HTTP-05", plant: heads(swapStatus(403, 400))},
		{ID: "get-404", Says: "GET is answered with 404", Breaks: "HTTP-19", plant: refuseMethod(http.MethodGet, http.StatusNotFound)},
		{ID: "get-500", Says: "GET is answered with 500", Breaks: "HTTP-19", plant: refuseMethod(http.MethodGet, http.StatusInternalServerError)},
		{ID: "get-json", Says: "GET is answered with JSON", Breaks: "HTTP-19", plant: before(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodGet {
				w.Header().Set("Content-Type", mediaJSON)
				_, _ = w.Write([]byte(`{"status":"ok"}`)) // a client that has gone reads nothing
				return
			}
			next.ServeHTTP(w, r)
		})},
		{ID: "delete-ignored", Says: "DELETE is accepted and the session goes on", Breaks: "HTTP-16", plant: refuseMethod(http.MethodDelete, http.StatusNoContent)},
		{ID: "session-unknown-served", Says: "a session nobody opened is served", Breaks: "HTTP-16", plant: unknownSession(true)},
		{ID: "session-missing-served", Says: "a request without a session id is served", Breaks: "HTTP-12", plant: unknownSession(false)},
		{ID: "session-unknown-400", Says: "a session that has ended is answered with 400", Breaks: "HTTP-16", plant: heads(func(x *exchange, status int, _ http.Header) int {
			if status == http.StatusNotFound && x.session != "" && !x.stateless {
				return http.StatusBadRequest
			}
			return status
		})},
		{ID: "session-id-spaces", Says: "session ids have characters that are no visible ASCII", Breaks: "HTTP-12", plant: renamedSessions(func(_ int, id string) string { return "session " + id + " é" })},
		{ID: "session-id-counted", Says: "session ids are counted up", Breaks: "SEC-13", plant: renamedSessions(func(n int, _ string) string { return strconv.Itoa(n) })},
		{ID: "session-shared", Says: "all clients get the same session", Breaks: "HTTP-12", plant: sharedSession},
		{ID: "event-ids-repeated", Says: "every event of a stream has the same id", Breaks: "HTTP-23", plant: func() *defect {
			return &defect{event: func(_ *exchange, e *event) {
				if e.id != "" {
					e.id = "event"
				}
			}}
		}},
		{ID: "replay-ignored", Says: "Last-Event-ID is ignored", Breaks: "HTTP-23", plant: before(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			r.Header.Del("Last-Event-ID")
			next.ServeHTTP(w, r)
		})},
		{ID: "stream-stays-open", Says: "the stream of an answer stays open after it", Breaks: "HTTP-36", plant: before(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			next.ServeHTTP(w, r)
			if r.Method == http.MethodPost && strings.HasPrefix(w.Header().Get("Content-Type"), mediaStream) {
				if f, ok := w.(http.Flusher); ok {
					f.Flush()
				}
				select {
				case <-r.Context().Done():
				case <-time.After(5 * time.Second):
				}
			}
		})},
		{ID: "put-served", Says: "PUT is served like POST", Breaks: "HTTP-01", plant: before(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodPut || r.Method == http.MethodPatch {
				r.Method = http.MethodPost
			}
			next.ServeHTTP(w, r)
		})},
	}
}

// peek reads the body of a request and puts it back.
func peek(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, err
}

func swapStatus(from, to int) func(*exchange, int, http.Header) int {
	return func(_ *exchange, status int, _ http.Header) int {
		if status == from {
			return to
		}
		return status
	}
}

func refuseMethod(method string, status int) func() *defect {
	return before(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == method {
			w.WriteHeader(status)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// notificationBody passes a notification on and answers it with 202 and a body.
func notificationBody(w http.ResponseWriter, r *http.Request, next http.Handler) {
	body, err := peek(r)
	if x := read(body); err != nil || x.method == "" || x.id != nil {
		next.ServeHTTP(w, r)
		return
	}
	hw := &heldWriter{header: w.Header()}
	next.ServeHTTP(hw, r)
	if hw.status == http.StatusAccepted {
		hw.body.Reset()
		hw.body.WriteString(`{"jsonrpc":"2.0","result":{}}`)
		w.Header().Set("Content-Type", mediaJSON)
		w.Header().Del("Content-Length")
	}
	w.WriteHeader(hw.status)
	_, _ = w.Write(hw.body.Bytes()) // a client that has gone reads nothing
}

// heldWriter keeps an answer.
type heldWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *heldWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter: the status is held back.
func (w *heldWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *heldWriter) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(data)
}

// textAnswers sends answers to single requests as JSON with the wrong type.
func textAnswers() *defect {
	return &defect{serve: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := peek(r)
			x := read(body)
			if err != nil || x.method != mcp.MethodToolsList {
				next.ServeHTTP(w, r)
				return
			}
			answer := ask(next, r, x.message)
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write(encode(answer)) // a client that has gone reads nothing
		})
	}}
}

// sessions remembers the sessions a server opened, behind other names.
type sessions struct {
	mu    sync.Mutex
	opens []string // in their order
	real  map[string]string
}

// unknownSession serves what names no session, or one that is unknown, in the
// session opened last.
func unknownSession(named bool) func() *defect {
	return func() *defect {
		s := &sessions{real: map[string]string{}}
		return &defect{
			head: func(x *exchange, status int, h http.Header) int {
				if id := h.Get(headerSession); id != "" && x.method == mcp.MethodInitialize {
					s.mu.Lock()
					defer s.mu.Unlock()
					s.real[id] = id
					s.opens = append(s.opens, id)
				}
				return status
			},
			serve: func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, err := peek(r)
					x := read(body)
					if err != nil || r.Method != http.MethodPost || x.stateless || x.method == mcp.MethodInitialize || x.method == mcp.MethodDiscover || r.Header.Get(headerRevision) == string(mcp.Latest) {
						next.ServeHTTP(w, r)
						return
					}
					id := r.Header.Get(headerSession)
					s.mu.Lock()
					if id == "" && !named || id != "" && named && s.real[id] == "" {
						if n := len(s.opens); n > 0 {
							r.Header.Set(headerSession, s.opens[n-1])
						}
					}
					s.mu.Unlock()
					next.ServeHTTP(w, r)
				})
			},
		}
	}
}

// renamedSessions gives sessions other ids.
func renamedSessions(name func(n int, id string) string) func() *defect {
	return func() *defect {
		s := &sessions{real: map[string]string{}}
		return &defect{
			head: func(_ *exchange, status int, h http.Header) int {
				if id := h.Get(headerSession); id != "" {
					s.mu.Lock()
					defer s.mu.Unlock()
					for other, known := range s.real {
						if known == id {
							h.Set(headerSession, other)
							return status
						}
					}
					s.opens = append(s.opens, id)
					other := name(len(s.opens), id)
					s.real[other] = id
					h.Set(headerSession, other)
				}
				return status
			},
			serve: s.translate,
		}
	}
}

func (s *sessions) translate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		id, known := s.real[r.Header.Get(headerSession)]
		s.mu.Unlock()
		if known {
			r.Header.Set(headerSession, id)
		}
		next.ServeHTTP(w, r)
	})
}

// sharedSession gives every client the id of the first session; the server
// serves each in the session opened last.
func sharedSession() *defect {
	s := &sessions{real: map[string]string{}}
	const name = "the-session"
	return &defect{
		head: func(_ *exchange, status int, h http.Header) int {
			if id := h.Get(headerSession); id != "" {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.real[name] = id
				h.Set(headerSession, name)
			}
			return status
		},
		serve: s.translate,
	}
}
