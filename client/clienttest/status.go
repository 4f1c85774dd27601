package clienttest

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// HTTPError is an HTTP response in the place of an answer, from the server or from
// something before it: a rate limit, a login, a gateway, a web page. Give it to
// [Server.Fail] or return it from a [Handler]. It needs a client that is connected
// by [Server.URL] or [Server.HTTP]; over [Server.Transport] it fails the test. So it
// does once the answer has begun, as [Call.Progress] begins it.
type HTTPError struct {
	// Status is the status, from 200 to 999. 200 with a Content-Type that is not
	// MCP's is one of the things to test.
	Status int
	// Header is sent as it is, Retry-After and WWW-Authenticate for instance. The
	// Content-Type that it lacks is detected from Body, as package net/http does.
	Header http.Header
	// Body is the body. RPC, when not nil, takes its place: a JSON-RPC error with
	// the id of the request.
	Body string
	RPC  *jsonrpc.Error
}

// Error implements error.
func (e *HTTPError) Error() string {
	return fmt.Sprintf("HTTP status %d %s", e.Status, http.StatusText(e.Status))
}

const sessionHeader = "Mcp-Session-Id"

// ForgetSessions makes the server forget all its HTTP sessions, as one that was
// restarted does: requests of theirs get 404 from now on, and their streams end,
// until a client initializes again. Calls in flight are answered. Without HTTP, and
// in the stateless era, there are no sessions, and it does nothing.
func (s *Server) ForgetSessions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, over := range s.sessions {
		close(over)
	}
	clear(s.sessions)
}

// newSession opens a session and returns its id.
func (s *Server) newSession() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened++
	id := "clienttest-" + strconv.Itoa(s.opened)
	s.sessions[id] = make(chan struct{})
	return id
}

// session reports whether the server knows a session. over is closed at its end;
// nil for no session, which is known.
func (s *Server) session(id string) (over <-chan struct{}, known bool) {
	if id == "" {
		return nil, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	over, known = s.sessions[id]
	return over, known
}

func (s *Server) endSession(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if over := s.sessions[id]; over != nil {
		close(over)
		delete(s.sessions, id)
	}
}

// noSession answers a message of a session that the server does not know (HTTP-16).
func noSession(w http.ResponseWriter) { http.Error(w, "Session not found", http.StatusNotFound) }
