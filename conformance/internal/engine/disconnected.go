package engine

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// A server that has gone keeps silent, refuses and leaves out whatever it is
// meant to. So nothing is decided by the loss of a server: what came before
// it counts, what rests on it is unknown.

// unsure says why a decision is none, "" when it is one: it was made while it is
// in doubt whether the server is there.
func (t *Trial) unsure(status conformance.Status) string {
	s := t.session
	if s != nil && s.Flooded && (status == conformance.Pass || status == conformance.Fail || status == conformance.Warn) {
		return "the server sent more than the suite keeps: it may be among what was lost"
	}
	if s == nil || s.Closed || s.Doubt == nil {
		return ""
	}
	doubt := s.Doubt
	switch status {
	case conformance.Pass:
		if !t.answers(s) {
			return "the server was lost: " + doubt.Error()
		}
	case conformance.Fail, conformance.Warn:
		// What ends a server or silences it is a fault of that server, as long
		// as there is one to speak of.
		if errors.Is(doubt, wire.ErrClosed) || errors.Is(doubt, wire.ErrNoAnswer) && s.Trace.Silent() {
			if !t.Reachable() {
				return "the server was lost: " + doubt.Error()
			}
			return t.stillborn(s)
		}
	case conformance.Skip, conformance.Inconclusive, conformance.Error:
	}
	return ""
}

// stillborn says how a program ended before it answered anything, "" when that may
// be a decision: it ends as well when another start of it is sent the same. One that
// does not ended for a reason of its own, as programs do while they start.
func (t *Trial) stillborn(s *wire.Session) string {
	w, ok := s.Conn.(*wire.StdioConn)
	if !ok || s.Answered || !errors.Is(s.Doubt, wire.ErrClosed) {
		return ""
	}
	if s.StartFailure == nil {
		text := ""
		if !t.endsAgain(s) {
			text = fmt.Sprintf("%v before it answered anything%s, and not when it was sent the same once more", wire.ErrClosed, how(w))
		}
		s.StartFailure = &text
	}
	return *s.StartFailure
}

// endsAgain reports whether a new start of the program ends, too, when it is sent
// what the session was sent.
func (t *Trial) endsAgain(s *wire.Session) bool {
	again, err := t.Rev.open(t.Ctx, s.Environment)
	if err != nil {
		return true
	}
	defer t.Rev.dismiss(again)
	for _, f := range s.Trace.Since(0) {
		if f.Dir == conformance.ToServer && len(f.Data) == f.Size {
			if _, err = again.Send(t.Ctx, f.Data); err != nil {
				return errors.Is(err, wire.ErrClosed)
			}
		}
	}
	_, err = again.Next(t.Ctx, wire.Inbound.IsResponse)
	return errors.Is(err, wire.ErrClosed)
}

// how says how a program ended that has ended already.
func how(w *wire.StdioConn) string {
	end := w.Close()
	if end.Exit < 0 {
		return ""
	}
	text := fmt.Sprintf("status %d", end.Exit)
	if said := strings.TrimSpace(wire.LastLines(w.Stderr())); said != "" {
		text += ": " + rawjson.Clip(said, 400)
	}
	return " (" + text + ")"
}

// answers reports whether the server of a session is there, after all: it answers
// a ping. Over HTTP any conversation tells.
func (t *Trial) answers(s *wire.Session) bool {
	if a, err := s.Ping(t.Ctx); err == nil && (a.Status() < http.StatusInternalServerError) {
		return true
	}
	return s.Conn.Transport() != conformance.TransportStdio && t.Reachable()
}

// Reachable reports whether a new conversation is answered at all, in whatever way.
func (t *Trial) Reachable() bool {
	s, err := t.Rev.open(t.Ctx, t.Rev.environ(t.Scenario.Needs.Fixture))
	if err != nil {
		return false
	}
	defer t.Rev.dismiss(s)
	_ = s.Handshake(t.Ctx, t.Rev.Asked) // an error is an answer
	return !s.Trace.Silent() && (s.Doubt == nil || !errors.Is(s.Doubt, wire.ErrClosed) && s.Opened != nil)
}
