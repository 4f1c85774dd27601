package transport

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// maxStreamPause bounds the waits between the tries to open the server's own
// stream, where the server does not ask for longer ones.
const maxStreamPause = 30 * time.Second

// ownStream is the stream for messages that the server sends unasked (transports, "Listening
// for Messages from the Server").
type ownStream struct {
	x       *exchange
	session string
	said    chan struct{} // closed when the server has answered the first GET, or never will
	ended   chan struct{}
}

var errReplaced = errors.New("the stream belongs to a session that is over")

// OpenStream opens the stream for messages that belong to no request. There is one stream at a time: that of an
// earlier session ends first.
func (c *httpConn) OpenStream() <-chan struct{} {
	now := c.session.current()
	x, err := c.begin(context.Background(), Request{Wait: jsonrpc.Wait{Endless: true}}) //nolint:forbidigo // lives until Close
	if err != nil {
		return nothingToSay // closed
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

// nothingToSay is where no server is asked.
var nothingToSay = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// endStream ends the stream of a session that is over.
func (c *httpConn) endStream(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.own != nil && c.own.session == session {
		c.own.x.cancel(errReplaced)
	}
}

// hold keeps the stream open for as long as there is one to have. Trouble with
// it is no call's trouble.
func (s *ownStream) hold(before *ownStream) {
	defer s.release()
	if before != nil {
		before.x.cancel(errReplaced)
		<-before.ended
	}
	at := &place{most: maxStreamPause}
	for held, first := false, true; s.x.ctx.Err() == nil; first = false {
		said, wish := s.x.reopen(at)
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
			_, _ = s.x.read(events, at) // however it ends, it is opened again
			events.Free()
			at.broke(time.Since(began))
		case streamLater:
			at.short++
		case streamRefused:
			switch {
			case at.id != "":
				at.forget() // perhaps it only cannot go on from this place
			case !held || s.x.resp.StatusCode == http.StatusMethodNotAllowed:
				if held {
					s.gap()
				}
				return // not offered, or open already (405, 409)
			}
			// There was a stream. A server that has not noticed its end yet
			// refuses a second one, and a moment later it does not.
			at.short++
		case streamSession:
			if !held && s.x.c.streamDoubted() {
				return // 404 is what this server says to any GET
			}
			if s.x.c.dropSession(s.session) && s.x.c.handler.OnSessionLost != nil {
				s.x.c.handler.OnSessionLost()
			}
			return
		}
		if !s.x.sleep(max(at.pause(said == streamOpen), wish)) {
			return
		}
	}
}

// streamDoubted reports whether an earlier session was not known either when its
// stream was asked for. Without the doubt, a server that has no GET, and says
// so with 404, would be given one session after the other.
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
	default: // it ended before there was a word
		close(s.said)
	}
	close(s.ended)
}
