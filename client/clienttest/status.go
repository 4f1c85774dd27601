package clienttest

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// HTTPError replaces an answer by an HTTP response, such as one of a rate
// limit, a login, a gateway or a web page. Pass it to [Server.Fail], or return
// it from a [Handler]. It works only for clients that connect by [Server.URL]
// or [Server.HTTP]; over [Server.Transport] it fails the test. It also fails
// the test if the answer has begun, for example by [Call.Progress].
type HTTPError struct {
	// Status is the status code, from 200 to 999. A status of 200 with a
	// Content-Type other than those of MCP is also useful in tests.
	Status int
	// Header is sent unchanged, for example Retry-After and WWW-Authenticate. If
	// it has no Content-Type, the type is detected from Body, as in net/http.
	Header http.Header
	// Body is the body. If RPC is not nil, the body is a JSON-RPC error with the
	// id of the request instead.
	Body string
	RPC  *jsonrpc.Error
}

// Error implements error.
func (e *HTTPError) Error() string {
	return fmt.Sprintf("HTTP status %d %s", e.Status, http.StatusText(e.Status))
}

const sessionHeader = "Mcp-Session-Id"

// ForgetSessions makes the server forget its HTTP sessions, as after a restart.
// Requests of these sessions get 404 and their streams end, until the client
// initializes again. Calls in flight are still answered. It does nothing
// without HTTP and in the stateless era.
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

// session reports whether the server knows a session. over is closed when it ends. No
// session ("") is known and has a nil over.
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

// noSession answers a message of a session that the server does not know.
func noSession(w http.ResponseWriter) { http.Error(w, "Session not found", http.StatusNotFound) }
