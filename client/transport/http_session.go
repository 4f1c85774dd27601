package transport

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Headers of the protocol, in canonical form.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
)

// session is the session state of a connection: the id, if the server has set one (transports,
// "Session Management"), and the negotiated revision.
type session struct {
	mu      sync.Mutex
	id      string
	before  *[]string // ids of lost sessions, the last few: they remain secret
	version string
	lost    bool // the server does not know the session any more
	plain   bool // first is the same for every connection
	// http2 is set if the last answer came over HTTP/2. It is here to fill padding: an idle
	// client is to be small.
	http2 atomic.Bool
	// first are the headers of initialize, without the id and revision of an earlier session
	// (transports, "Session Management"). They are never changed.
	first http.Header
	// now caches the headers of all other messages. It is weak, because it would be a fifth of
	// the size of an idle connection.
	now weak.Pointer[sessionHeader]
}

// sessionHeader has the headers for messages of one session. It is one value, so that a message
// never mixes two sessions. It is immutable, and all requests share it.
type sessionHeader struct {
	header http.Header
	id     string
	// lost: only initialize may be sent (transports, "Session Management").
	lost bool
}

// plainHeaders are the headers outside a session if the caller has set none, by revision; "" is
// for initialize. All connections share them, and they are never changed.
var plainHeaders = func() map[string]http.Header {
	accept, content := []string{typeJSON + ", " + typeEvents}, []string{typeJSON}
	all := map[string]http.Header{"": {"Accept": accept, "Content-Type": content}}
	for _, v := range mcp.Versions() {
		all[v.String()] = http.Header{"Accept": accept, "Content-Type": content, headerVersion: {v.String()}}
	}
	return all
}()

// start sets the headers of initialize.
func (s *session) start(static http.Header, user *url.Userinfo) {
	s.plain = len(static) == 0 && user == nil
	s.first = firstHeader(static, user)
}

func firstHeader(static http.Header, user *url.Userinfo) http.Header {
	if len(static) == 0 && user == nil {
		return plainHeaders[""]
	}
	h := static.Clone()
	if h == nil {
		h = make(http.Header)
	}
	if user != nil && h.Get("Authorization") == "" {
		// [http.Client] does this, but a RoundTripper does not.
		password, _ := user.Password()
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	maps.Copy(h, plainHeaders[""])
	return h
}

// UseVersion implements [Conn].
func (c *httpConn) UseVersion(version string) {
	c.batches.Store(hasBatches(version))
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	c.session.version = version
	c.session.renew()
}

// current returns the headers for messages of the session.
func (s *session) current() *sessionHeader {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.now.Value()
	if h == nil {
		h = &sessionHeader{header: s.header(), id: s.id, lost: s.lost}
		s.now = weak.Make(h)
	}
	return h
}

// renew drops the cached headers. Requires s.mu.
func (s *session) renew() { s.now = weak.Pointer[sessionHeader]{} }

// header returns the headers for messages of the session. Requires s.mu.
func (s *session) header() http.Header {
	if s.version == "" && s.id == "" {
		return s.first
	}
	plain := plainHeaders[s.version]
	if plain != nil && s.id == "" && s.plain {
		return plain
	}
	h := maps.Clone(s.first) // values are never changed in place
	if s.id != "" {
		h[headerSession] = []string{s.id}
	}
	if plain != nil {
		maps.Copy(h, plain)
	} else {
		h[headerVersion] = []string{s.version}
	}
	return h
}

var (
	errSessionID      = errors.New("the server's session id has characters that are not allowed")
	errSessionChanged = errors.New("the server changed the session id in the middle of the session")
)

// noteSession adopts the session id in the answer to initialize. For later requests, it rejects
// an id that differs from theirs (transports, "Session Management"). The id is a secret: no error
// and no log has it.
func (x *exchange) noteSession(header http.Header) error {
	if x.stateless {
		return nil // ignored, never stored
	}
	id := header.Get(headerSession)
	for i := range len(id) {
		if id[i] < 0x21 || id[i] > 0x7e {
			return errSessionID
		}
	}
	if x.opens {
		x.session = id
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
	defer c.session.mu.Unlock()
	c.session.remember()
	c.session.id, c.session.lost = id, false
	c.session.renew()
}

// remember keeps the id of a session that ends. Requires s.mu.
func (s *session) remember() {
	if s.id == "" {
		return
	}
	ids := []string{s.id}
	if s.before != nil {
		ids = append(ids, (*s.before)[:min(len(*s.before), 3)]...)
	}
	s.before = &ids
}

// dropSession drops a session that the server does not know any more, and reports whether it was
// still the current one.
func (c *httpConn) dropSession(id string) bool {
	c.endStream(id)
	c.session.mu.Lock()
	defer c.session.mu.Unlock()
	if c.session.id != id {
		return false
	}
	c.session.remember()
	c.session.id, c.session.lost = "", true
	c.session.renew()
	return true
}

// DropSession abandons the last opened session.
func (c *httpConn) DropSession() {
	now := c.session.current()
	if !c.dropSession(now.id) || now.id == "" {
		return
	}
	x, err := c.begin(context.Background(), Request{Wait: jsonrpc.Wait{Max: c.closeTimeout}}) //nolint:forbidigo // no caller waits for it
	if err != nil {
		return // the connection is closed
	}
	go func() {
		defer x.end()
		x.header, x.background = now.header, true
		_, _ = x.send(x.ctx, http.MethodDelete) //nolint:bodyclose // end closes it
	}()
}

// endSession ends the session at the server (transports, "Session Management"). It ignores the
// server's answer.
func (c *httpConn) endSession() {
	session := c.session.current()
	if session.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.closeTimeout) //nolint:forbidigo // comes after every caller
	defer cancel()
	req := (&http.Request{Method: http.MethodDelete, URL: copyURL(c.url), Header: session.header.Clone()}).WithContext(ctx)
	if a := c.asking; a != nil {
		who := make(chan *Caller, 1)
		go func() {
			who <- a.ask(ctx, AuthorizedRequest{Method: req.Method, Endpoint: a.at, URL: req.URL, Background: true})
		}()
		select {
		case who := <-who:
			if a.use(ctx, who) != nil {
				return
			}
			who.add(req.Header)
		case <-ctx.Done(): // the application may ignore ctx
			return
		}
	}
	resp, err := c.roundTrip(req)
	if err != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, resp.Body, drainBytes)
	_ = resp.Body.Close()
}
