package transport

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// maxStreamPause limits the delays before the server's own stream is reopened, unless the server
// asks for longer ones.
const maxStreamPause = 30 * time.Second

// ownStream is the stream for messages that the server sends on its own (transports, "Listening
// for Messages from the Server").
type ownStream struct {
	x       *exchange
	session string
	said    chan struct{} // closed when the server has answered the first GET, or the stream has ended
	ended   chan struct{}
}

var errReplaced = errors.New("the stream belongs to a session that is over")

// OpenStream opens the stream for messages that belong to no request. There is one stream at a
// time: the stream of an earlier session is closed first.
func (c *httpConn) OpenStream() <-chan struct{} {
	now := c.session.current()
	x, err := c.begin(context.Background(), Request{Wait: jsonrpc.Wait{Endless: true}}) //nolint:forbidigo // lives until Close
	if err != nil {
		return nothingToSay // the connection is closed
	}
	x.header, x.session, x.background = now.header, now.id, true
	x.body.none()
	own := &ownStream{x: x, session: now.id, said: make(chan struct{}), ended: make(chan struct{})}
	c.mu.Lock()
	before := c.own
	open := before != nil && before.session == own.session && before.x.ctx.Err() == nil
	if now.lost || open {
		c.mu.Unlock()
		x.end()
		if open {
			return before.said
		}
		return nothingToSay
	}
	c.own = own
	c.mu.Unlock()
	go own.hold(before)
	return own.said
}

// nothingToSay is the result if no stream is opened.
var nothingToSay = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// endStream closes the stream of a session that has ended.
func (c *httpConn) endStream(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own != nil && c.own.session == session {
		c.own.x.cancel(errReplaced)
	}
}

// hold keeps the stream open as long as the server offers it. Its failures do not affect calls.
func (s *ownStream) hold(before *ownStream) {
	defer s.release()
	if before != nil {
		before.x.cancel(errReplaced)
		<-before.ended
	}
	at := &place{most: maxStreamPause}
	for held, first := false, true; s.x.ctx.Err() == nil; first = false {
		said, delay := s.x.reopen(at)
		if first {
			close(s.said)
		}
		switch said {
		case streamOpen:
			if held && at.id == "" {
				s.gap()
			}
			held = true
			began := time.Now()
			events := s.x.newEvents()
			events.SkipEndless()
			_, _ = s.x.read(events, at) // it is reopened for any error
			events.Free()
			at.broke(time.Since(began))
		case streamLater:
			at.short++
		case streamRefused:
			switch {
			case at.id != "":
				at.forget() // the server may only refuse to resume at this position
			case !held || s.x.resp.StatusCode == http.StatusMethodNotAllowed:
				if held {
					s.gap()
				}
				return // not offered, or already open (405, 409)
			}
			// There was a stream. A server that has not noticed its end refuses a second one for
			// a short time.
			at.short++
		case streamSession:
			if !held && s.x.c.streamDoubted() {
				return // this server answers any GET with 404
			}
			if s.x.c.dropSession(s.session) && s.x.c.handler.OnSessionLost != nil {
				s.x.c.handler.OnSessionLost()
			}
			return
		}
		if !s.x.sleep(max(at.pause(said == streamOpen), delay)) {
			return
		}
	}
}

// streamDoubted reports whether it was called before: in an earlier session, the server answered
// the GET with 404 as well. Otherwise a server without GET that answers 404 would get one new
// session after another.
func (c *httpConn) streamDoubted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	doubted := c.doubt
	c.doubt = true
	return doubted
}

func (s *ownStream) gap() {
	if s.x.c.handler.OnGap != nil {
		s.x.c.handler.OnGap()
	}
}

func (s *ownStream) release() {
	c := s.x.c
	c.mu.Lock()
	if c.own == s {
		c.own = nil
	}
	c.mu.Unlock()
	s.x.end()
	select {
	case <-s.said:
	default: // it ended before the first answer
		close(s.said)
	}
	close(s.ended)
}
