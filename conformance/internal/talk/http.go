package talk

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// HTTPOf returns the part of a session's wire that makes HTTP requests.
func HTTPOf(s *wire.Session) (*wire.HTTPConn, error) {
	switch w := s.Conn.(type) {
	case *wire.HTTPConn:
		return w, nil
	case *wire.SSEConn:
		return w.HTTPConn, nil
	}
	return nil, engine.SuiteError(fmt.Errorf("transport %s has no headers", s.Conn.Transport()))
}

// ExchangeHTTP makes one HTTP request within the wait of an answer.
func ExchangeHTTP(t *engine.Trial, s *wire.Session, method string, body []byte, with http.Header) (*wire.HTTPAnswer, error) {
	w, err := HTTPOf(s)
	if err != nil {
		return nil, err
	}
	t.Step(s)
	s.AwaitTurn(t.Ctx)
	ctx, cancel := context.WithTimeout(t.Ctx, s.Timeout)
	defer cancel()
	return w.Do(ctx, method, body, with)
}

// PingMessage is a ping with an id of its own, for answers that are read as HTTP.
func PingMessage(s *wire.Session) []byte { return wire.Message(s.NewID(), mcp.MethodPing, nil) }

// OnThisMachine reports whether a URL is of the loopback interface.
func OnThisMachine(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// HeaderOf returns a header of an answer, "" where there is none.
func HeaderOf(a *wire.HTTPAnswer, name string) string {
	if a == nil {
		return ""
	}
	return a.Header.Get(name)
}
