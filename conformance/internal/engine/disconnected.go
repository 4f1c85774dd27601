package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

// A lost server answers nothing, as some rules demand. So nothing passes because of a loss:
// earlier outcomes count, later ones are inconclusive. One rule decides what fails because of
// it: the check during which the server closes the connection, if it does so again when the
// scenario runs once more, and if a conversation without the message is answered.

// loss is a check that fails because the server closed the connection of a session.
type loss struct {
	check   string
	session *wire.Session
	// step: a request that the check is not about has ended the server.
	step bool
}

// hasClosed reports whether the server, and not the suite, has closed the connection of a session.
func hasClosed(s *wire.Session) bool {
	return s != nil && !s.Closed && errors.Is(s.Doubt, wire.ErrClosed)
}

// blame fails the check that the scenario was about to decide when err stopped it, if err is the
// loss of a server that has answered before. The checks of a scenario are listed in the order of
// their decisions; where that is not so, none fails. Nor does one if a check of another scenario
// has failed because of the same request: a fault counts once.
func (t *Trial) blame(err error) {
	s := t.session
	if !errors.Is(err, wire.ErrClosed) || !hasClosed(s) || s.Opened == nil || t.blamed(s) || t.Rev.fatal[s.During()] {
		return
	}
	next := ""
	for _, c := range t.Scenario.Checks {
		i := slices.IndexFunc(t.results, func(r conformance.Result) bool { return r.ID == c.ID })
		switch {
		case i < 0 && next == "":
			next = c.ID
		case i >= 0 && next != "" && t.results[i].Status != conformance.Skip:
			return
		}
	}
	if next == "" {
		return
	}
	t.Fail(next, "an answer", "%s", wire.ErrClosed)
	if t.blamed(s) {
		t.losses[len(t.losses)-1].step = s.During() != " during "+s.LifeSign() // which shows the loss of any message
	}
}

// blamed reports whether a check has failed because of the loss of a session.
func (t *Trial) blamed(s *wire.Session) bool {
	return slices.ContainsFunc(t.losses, func(l loss) bool { return l.session == s })
}

// explain adds to the outcomes of lost checks how the programs exited.
func (t *Trial) explain() {
	for _, l := range t.losses {
		l.session.Close() // judges what it wrote before
		w, isProgram := l.session.Conn.(*wire.StdioConn)
		for i := range t.results {
			if r := &t.results[i]; r.ID == l.check && isProgram {
				r.Actual += how(w)
			}
		}
	}
}

// confirm runs a scenario in which the server was lost once more, on a new server. A check that
// fails because of the loss in one of the runs only is inconclusive.
func (l *RevisionRun) confirm(ctx context.Context, t *Trial, skipped []conformance.Result) error {
	t.explain()
	before := map[string]string{}
	for _, r := range t.results {
		if slices.ContainsFunc(t.losses, func(l loss) bool { return l.check == r.ID }) {
			before[r.ID] = r.Actual
		}
	}
	t.close()
	l.CloseShared()
	*t = Trial{Rev: l, Scenario: t.Scenario, Calls: t.Calls, lastTime: t.lastTime, results: skipped, alone: true}
	err := l.try(ctx, t)
	t.explain()
	l.CloseShared()
	for _, lost := range t.losses {
		if _, again := before[lost.check]; again && lost.step {
			l.fatal[lost.session.During()] = true
		}
	}
	for i := range t.results {
		r := &t.results[i]
		again := slices.ContainsFunc(t.losses, func(l loss) bool { return l.check == r.ID })
		if once, lost := before[r.ID]; lost != again {
			r.Status, r.Detail = conformance.Inconclusive, fmt.Sprintf("the server was lost once, and not when the same was sent again: %s", cmp.Or(once, r.Actual))
			r.Expected, r.Actual = "", ""
		}
	}
	return err
}

// lacksAnswer reports whether an outcome may be due to an answer that did not come in time.
func (t *Trial) lacksAnswer(status conformance.Status) bool {
	s := t.session
	return s != nil && !s.Closed && errors.Is(s.Doubt, wire.ErrNoAnswer) && !errors.Is(s.Doubt, wire.ErrClosed) && status != conformance.Pass && status != conformance.Skip
}

// unsure returns why an outcome is inconclusive: the server may have been lost. It returns
// "" if the outcome counts.
func (t *Trial) unsure(status conformance.Status) string {
	s := t.session
	if s != nil && s.Flooded && (status == conformance.Pass || status == conformance.Fail || status == conformance.Warn) {
		return "the server sent more than the suite keeps, and the message may be among the dropped ones"
	}
	if s != nil && sessionEnded(s) && status != conformance.Skip {
		return "the server ended the session with 404, as it may"
	}
	if s == nil || s.Closed || s.Doubt == nil {
		return ""
	}
	doubt := s.Doubt
	switch status {
	case conformance.Pass:
		if !t.answers(s) {
			t.Rev.noteGone(t)
			return "the server was lost: " + doubt.Error()
		}
	case conformance.Fail, conformance.Warn:
		// A server that exits or hangs because of a message is at fault, if it can be
		// reached again.
		if errors.Is(doubt, wire.ErrClosed) || errors.Is(doubt, wire.ErrNoAnswer) && s.Trace.Silent() {
			if t.blamed(s) || !t.Reachable() {
				t.Rev.noteGone(t)
				return "the server was lost: " + doubt.Error()
			}
			return t.exitAtStart(s)
		}
	case conformance.Skip, conformance.Inconclusive, conformance.Error:
	}
	return ""
}

// sessionEnded reports whether the server has ended a session over HTTP.
func sessionEnded(s *wire.Session) bool {
	w, ok := s.Conn.(*wire.HTTPConn)
	return ok && w.SessionEnded()
}

// endedSession reports whether the server has ended a session of the scenario.
func (t *Trial) endedSession() bool {
	return t.session != nil && sessionEnded(t.session) || slices.ContainsFunc(t.own, sessionEnded)
}

// exitAtStart describes how a program exited before it answered anything. It returns "" if
// the exit counts: another start exits, too, when it receives the same messages. Otherwise
// the program failed to start for another reason.
func (t *Trial) exitAtStart(s *wire.Session) string {
	w, ok := s.Conn.(*wire.StdioConn)
	if !ok || s.Answered || !errors.Is(s.Doubt, wire.ErrClosed) {
		return ""
	}
	if s.StartFailure == nil {
		text := ""
		if !t.endsAgain(s) {
			text = fmt.Sprintf("%v before it answered anything%s, but not when it received the same messages again", wire.ErrClosed, how(w))
		}
		s.StartFailure = &text
	}
	return *s.StartFailure
}

// endsAgain reports whether a new start of the program exits, too, when it receives the
// messages of the session.
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

// Exited returns a frame about the exit of the program under test, which has the end of its
// standard error; nothing if the program still serves, or the suite ended it.
func (t *Trial) Exited() []conformance.Frame {
	s := t.session
	if s == nil || s.Closed || !errors.Is(s.Doubt, wire.ErrClosed) {
		return nil
	}
	w, ok := s.Conn.(*wire.StdioConn)
	if !ok {
		return nil
	}
	note := how(w)
	if note == "" {
		return nil // a function, which has no status
	}
	return []conformance.Frame{{Dir: conformance.FromServer, Note: "the server exited" + note}}
}

// how describes how a program exited.
func how(w *wire.StdioConn) string {
	end := w.Close()
	if end.Exit < 0 {
		return ""
	}
	text := fmt.Sprintf("status %d", end.Exit)
	if said := strings.TrimSpace(w.Stderr()); said != "" {
		text += ": " + reason(said)
	}
	return " (" + text + ")"
}

// panics begin the first line of what a program writes when it ends; most end with the reason.
var panics = lazyregexp.New(`(?m)^(?:panic: |fatal error: |thread '.*' panicked )`)

// reason returns the part of a standard error that has the reason of an exit: the beginning of a
// panic's stack, or the end.
func reason(said string) string {
	const most = 800
	if all := panics.FindAllStringSubmatchIndex(said, -1); len(all) > 0 {
		if last := said[all[len(all)-1][0]:]; len(last) > most {
			return strings.ToValidUTF8(last[:most], "") + " …"
		}
	}
	said = strings.TrimSpace(wire.LastLines(said))
	if len(said) <= most {
		return said
	}
	return "… " + strings.ToValidUTF8(said[len(said)-most:], "")
}

// answers reports whether the server of a session is still reachable: it answers a ping, or
// over HTTP any other conversation.
func (t *Trial) answers(s *wire.Session) bool {
	if a, err := s.Ping(t.Ctx); err == nil && (a.Status() < http.StatusInternalServerError) {
		return true
	}
	return s.Conn.Transport() != conformance.TransportStdio && t.Reachable()
}

// Reachable reports whether the server sends any answer in a new conversation.
func (t *Trial) Reachable() bool {
	s, err := t.Rev.open(t.Ctx, t.Rev.environ(t.Scenario.Needs.Fixture))
	if err != nil {
		return false
	}
	defer t.Rev.dismiss(s)
	_ = s.Handshake(t.Ctx, t.Rev.Asked) // an error is an answer
	return !s.Trace.Silent() && (s.Doubt == nil || !errors.Is(s.Doubt, wire.ErrClosed) && s.Opened != nil)
}
