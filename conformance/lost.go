package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// A server that has gone keeps silent, refuses and leaves out whatever it is
// meant to. So nothing is decided by the loss of a server: what came before
// it counts, what rests on it is unknown.

// doubts remembers that the server may have gone.
func (s *session) doubts(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		s.doubt = err
	}
}

// unanswered is the error of an HTTP answer that ended without a response. A
// status from 500 on is that of a server which may not work at all.
func (s *session) unanswered(in inbound) error {
	err := fmt.Errorf("%w: %w", errNoAnswer, in.err)
	if in.http != nil && in.http.Status >= http.StatusInternalServerError {
		s.doubts(err)
	}
	return err
}

// isLost reports whether err is the end or the silence of the server, and not an
// answer of HTTP with no response in it.
func isLost(err error) bool {
	return err != nil && (!errors.Is(err, errNoAnswer) || errors.Is(err, errLate))
}

// unsure says why a decision is none, "" when it is one: it was made while it is
// in doubt whether the server is there.
func (t *trial) unsure(status Status) string {
	s := t.session
	if s != nil && s.flooded && (status == Pass || status == Fail || status == Warn) {
		return "the server sent more than the suite keeps: it may be among what was lost"
	}
	if s == nil || s.ended || s.doubt == nil {
		return ""
	}
	doubt := s.doubt
	switch status {
	case Pass:
		if !t.answers(s) {
			return "the server was lost: " + doubt.Error()
		}
	case Fail, Warn:
		// What ends a server or silences it is a fault of that server, as long
		// as there is one to speak of.
		if errors.Is(doubt, errClosed) || errors.Is(doubt, errNoAnswer) && s.trace.silent() {
			if !t.reachable() {
				return "the server was lost: " + doubt.Error()
			}
			return t.stillborn(s)
		}
	case Skip, Unknown, Error:
	}
	return ""
}

// stillborn says how a program ended before it answered anything, "" when that may
// be a decision: it ends as well when another start of it is sent the same. One that
// does not ended for a reason of its own, as programs do while they start.
func (t *trial) stillborn(s *session) string {
	w, ok := s.wire.(*lineWire)
	if !ok || s.answered || !errors.Is(s.doubt, errClosed) {
		return ""
	}
	if s.start == nil {
		text := ""
		if !t.endsAgain(s) {
			text = fmt.Sprintf("%v before it answered anything%s, and not when it was sent the same once more", errClosed, how(w))
		}
		s.start = &text
	}
	return *s.start
}

// endsAgain reports whether a new start of the program ends, too, when it is sent
// what the session was sent.
func (t *trial) endsAgain(s *session) bool {
	again, err := t.leg.open(t.ctx, s.extra)
	if err != nil {
		return true
	}
	defer t.leg.dismiss(again)
	for _, f := range s.trace.since(0) {
		if f.Dir == ToServer && len(f.Data) == f.Size {
			if _, err = again.send(t.ctx, f.Data); err != nil {
				return errors.Is(err, errClosed)
			}
		}
	}
	_, err = again.next1(t.ctx, inbound.isResponse)
	return errors.Is(err, errClosed)
}

// how says how a program ended that has ended already.
func how(w *lineWire) string {
	end := w.close()
	if end.exit < 0 {
		return ""
	}
	text := fmt.Sprintf("status %d", end.exit)
	if said := strings.TrimSpace(lastLines(w.stderr())); said != "" {
		text += ": " + clip(said, 400)
	}
	return " (" + text + ")"
}

// answers reports whether the server of a session is there, after all: it answers
// a ping. Over HTTP any conversation tells.
func (t *trial) answers(s *session) bool {
	if a, err := s.ping(t.ctx); err == nil && (a.status() < http.StatusInternalServerError) {
		return true
	}
	return s.wire.transport() != TransportStdio && t.reachable()
}

// reachable reports whether a new conversation is answered at all, in whatever way.
func (t *trial) reachable() bool {
	s, err := t.leg.open(t.ctx, t.leg.profileEnv(t.profile()))
	if err != nil {
		return false
	}
	defer t.leg.dismiss(s)
	_ = s.handshake(t.ctx, t.leg.asked) // an error is an answer
	return !s.trace.silent() && (s.doubt == nil || !errors.Is(s.doubt, errClosed) && s.opened != nil)
}
