package transport

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Headers of the protocol, in canonical form.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
)

// session is the session state of a connection: an id the server may have
// given (HTTP-12) and the negotiated revision (HTTP-14).
type session struct {
	mu      sync.Mutex
	id      string
	version string
	// header is what every request is sent with: built once, never changed,
	// shared by all requests.
	header atomic.Pointer[http.Header]
}

// UseVersion implements [Conn].
func (c *httpConn) UseVersion(version string) {
	c.session.mu.Lock()
	c.session.version = version
	c.session.mu.Unlock()
	c.renewHeader()
}

// renewHeader rebuilds the shared header.
func (c *httpConn) renewHeader() {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	h := c.static.Clone()
	if h == nil {
		h = make(http.Header)
	}
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Content-Type", "application/json")
	if c.session.id != "" {
		h.Set(headerSession, c.session.id)
	}
	if c.session.version != "" {
		h.Set(headerVersion, c.session.version)
	}
	c.session.header.Store(&h)
}

func (c *httpConn) sessionID() string {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	return c.session.id
}

var (
	errSessionID      = errors.New("the server's session id has characters that are not allowed")
	errSessionChanged = errors.New("the server changed the session id in the middle of the session")
)

// noteSession adopts the session id of an answer to initialize, and refuses
// one that appears or changes later (HTTP-12, HTTP-13). The id is a secret: it
// is in no error and no log.
func (c *httpConn) noteSession(method string, header http.Header) error {
	id := header.Get(headerSession)
	if id == "" {
		return nil
	}
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7e {
			return errSessionID
		}
	}
	c.session.mu.Lock()
	known := c.session.id
	if method == mcp.MethodInitialize {
		c.session.id = id
	}
	c.session.mu.Unlock()
	if method == mcp.MethodInitialize {
		c.renewHeader()
		return nil
	}
	if id != known {
		return errSessionChanged
	}
	return nil
}

// dropSession forgets a session that the server does not know any more.
func (c *httpConn) dropSession() {
	c.session.mu.Lock()
	c.session.id = ""
	c.session.mu.Unlock()
	c.renewHeader()
}

// endSession tells the server that the session is over (HTTP-18). Whatever the
// server answers, or not, the session is over.
func (c *httpConn) endSession() {
	if c.sessionID() == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.closeTimeout)
	defer cancel()
	req := (&http.Request{Method: http.MethodDelete, URL: c.url, Header: *c.session.header.Load()}).WithContext(ctx)
	resp, err := c.rt.RoundTrip(req)
	if err != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, resp.Body, drainBytes)
	_ = resp.Body.Close()
}
