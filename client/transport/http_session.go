package transport

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
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
	lost    bool // the server does not know the session that was
	// first is what initialize is sent with: a session begins without the id
	// and the version of another (HTTP-14, HTTP-16). header is what everything
	// else is sent with. Both are never changed, and shared by all requests.
	first  http.Header
	header atomic.Pointer[http.Header]
}

// firstHeader makes the header of initialize from what the caller has set.
func firstHeader(static http.Header, user *url.Userinfo) http.Header {
	h := static.Clone()
	if h == nil {
		h = make(http.Header)
	}
	if user != nil && h.Get("Authorization") == "" {
		// [http.Client] does this, a round tripper does not.
		password, _ := user.Password()
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	h.Set("Accept", "application/json, text/event-stream")
	h.Set("Content-Type", "application/json")
	return h
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
	h := c.session.first.Clone()
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

// sessionLost reports whether there is no session where there was one: nothing
// but initialize may be sent then (HTTP-16).
func (c *httpConn) sessionLost() bool {
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	return c.session.lost
}

var (
	errSessionID      = errors.New("the server's session id has characters that are not allowed")
	errSessionChanged = errors.New("the server changed the session id in the middle of the session")
)

// noteSession adopts the session id of an answer to initialize, and refuses
// another one than the request was sent with later (HTTP-12, HTTP-13). The id
// is a secret: it is in no error and no log.
func (x *exchange) noteSession(header http.Header) error {
	if x.stateless {
		return nil // ignored, never stored (HTTP-28)
	}
	id := header.Get(headerSession)
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7e {
			return errSessionID
		}
	}
	if x.opens {
		x.c.setSession(id)
		return nil
	}
	if id != "" && id != x.session {
		return errSessionChanged
	}
	return nil
}

func (c *httpConn) setSession(id string) {
	c.session.mu.Lock()
	c.session.id, c.session.lost = id, false
	c.session.mu.Unlock()
	c.renewHeader()
}

// dropSession forgets a session that the server does not know any more, unless
// there is another one already.
func (c *httpConn) dropSession(id string) {
	c.session.mu.Lock()
	if c.session.id == id {
		c.session.id, c.session.lost = "", true
	}
	c.session.mu.Unlock()
	c.renewHeader()
}

// endSession tells the server that the session is over (HTTP-18). Whatever the
// server answers, or not, the session is over.
func (c *httpConn) endSession() {
	if c.sessionID() == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.closeTimeout) //nolint:forbidigo // comes after every caller
	defer cancel()
	req := (&http.Request{Method: http.MethodDelete, URL: copyURL(c.url), Header: c.session.header.Load().Clone()}).WithContext(ctx)
	resp, err := c.rt.RoundTrip(req)
	if err != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, resp.Body, drainBytes)
	_ = resp.Body.Close()
}
