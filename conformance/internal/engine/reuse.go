package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// Starting programs takes most of the time of a run. So scenarios hand on programs whose state
// is that of a new one, and the next program starts while a scenario runs. A scenario that does
// not pass on a used program runs again on new ones, so that no scenario fails because of
// another.

// leftMost bounds the programs that wait for another scenario, by stage.
var leftMost = map[wire.Stage]int{wire.StageGreeted: 2, wire.StageOpen: 2, wire.StageSpent: 2}

// leave keeps the program of a session for another scenario, if it is fit for one.
func (l *RevisionRun) leave(ctx context.Context, s *wire.Session) {
	s.Timeout = l.stretched(l.Opts.Answer)
	stage := s.Rest(ctx)
	if stage == wire.StageOpen && s.Opened.Revision != l.Revision {
		stage = wire.StageSpent
	}
	if len(l.left[stage]) >= leftMost[stage] {
		l.dismiss(s)
		return
	}
	l.left[stage] = append(l.left[stage], s)
}

// take returns a program that a scenario has left in one of the stages, in order of preference.
// It returns nil if there is none.
func (l *RevisionRun) take(environ []string, stages ...wire.Stage) *wire.Session {
	key := sharedKey(environ)
	for _, stage := range stages {
		for i, s := range l.left[stage] {
			if sharedKey(s.Environment) != key {
				continue
			}
			l.left[stage] = append(l.left[stage][:i:i], l.left[stage][i+1:]...)
			if s.Stage() == wire.StageLost { // it has exited since
				l.dismiss(s)
				return l.take(environ, stages...)
			}
			s.Used = true
			return s
		}
	}
	return nil
}

// closeLeft closes the programs that no scenario has taken over.
func (l *RevisionRun) closeLeft() {
	for stage, all := range l.left {
		for _, s := range all {
			l.dismiss(s)
		}
		delete(l.left, stage)
	}
}

// reuses reports whether the scenario may take over programs of others. The scenarios of
// other suites read the log of a program, too. A gentle run does not repeat what fails on a used
// program.
func (t *Trial) reuses() bool {
	return !t.alone && !t.Rev.Gentle() && t.Scenario.suite() == SuiteProtocol && t.Rev.IsProcess()
}

// takeOver returns a program of another scenario, or nil.
func (t *Trial) takeOver(stages ...wire.Stage) *wire.Session {
	if !t.reuses() {
		return nil
	}
	s := t.Rev.take(t.Rev.environ(t.Scenario.Needs.Fixture), stages...)
	if s != nil {
		t.own = append(t.own, s)
		t.Step(s)
	}
	return s
}

// New is Fresh for a check that is no verdict on a program of another scenario.
func (t *Trial) New() *wire.Session {
	s := t.Raw()
	t.NoError(t.Rev.handshake(t.Ctx, s))
	t.Step(s)
	return s
}

// Spent is Fresh for a scenario that judges how a program exits: any program that answers will
// do.
func (t *Trial) Spent() *wire.Session {
	if s := t.takeOver(wire.StageSpent, wire.StageOpen); s != nil {
		return s
	}
	return t.Fresh()
}

// Greeted returns a program to which nothing but initialize and ping was sent, of this scenario
// or another. It returns nil if there is none.
func (t *Trial) Greeted() *wire.Session {
	for _, s := range t.own {
		if t.reuses() && s.Stage() == wire.StageGreeted {
			return t.Again(s)
		}
	}
	return t.takeOver(wire.StageGreeted)
}

// Again returns the session for another part of the scenario, if its program can be asked
// further, else a new one as Raw does.
func (t *Trial) Again(s *wire.Session) *wire.Session {
	w, ok := s.Conn.(*wire.StdioConn)
	if !ok || !t.reuses() || s.Closed || s.Doubt != nil || w.Exited() {
		return t.Raw()
	}
	s.Used = true
	t.Step(s)
	return s
}

// AgainFresh is Again for a session that was initialized.
func (t *Trial) AgainFresh(s *wire.Session) *wire.Session {
	if next := t.Again(s); next == s {
		return s
	}
	return t.Fresh()
}

// Alone reports whether the scenario runs on programs that nothing else has used.
func (t *Trial) Alone() bool { return !t.reuses() }

// errAgain stops a scenario that runs again alone.
var errAgain = errors.New("a program that others have used did not pass")

// doubts notes that an outcome is no verdict yet: other uses of the program may be the reason.
func (t *Trial) doubts(s *wire.Session, status conformance.Status) {
	switch status {
	case conformance.Pass, conformance.Skip:
	case conformance.Fail, conformance.Warn, conformance.Inconclusive, conformance.Error:
		t.again = t.again || s != nil && (s.Used || s.Aged && s.Doubt != nil && !s.Closed)
		if t.again && t.running && !t.alone {
			t.Stop(errAgain)
		}
	}
}

// inDoubt reports whether the scenario has to run again on new programs.
func (t *Trial) inDoubt(err error) bool {
	if err != nil && !errors.Is(err, ErrUsedUp) {
		for _, s := range t.own {
			t.again = t.again || s.Used || s.Aged
		}
	}
	return t.again && !t.alone
}

// waited reports whether a program of the scenario may have exited because it waited.
func (t *Trial) waited() bool {
	return slices.ContainsFunc(t.own, func(s *wire.Session) bool { return s.Aged && s.Stage() == wire.StageLost })
}

// expect notes how many programs the scenarios start for themselves.
func (l *RevisionRun) expect(scenarios []Scenario) {
	l.due = 0
	if l.Gentle() { // a program that nobody uses is no gain
		return
	}
	for i := range scenarios {
		if l.runs(&scenarios[i]) {
			l.due += scenarios[i].Starts
		}
	}
}

// startsAbout returns about how often the scenarios start the program: some of them run again
// on a new one.
func (l *RevisionRun) startsAbout(scenarios []Scenario) int {
	const again = 8 // one scenario in so many
	l.expect(scenarios)
	run := 0
	for i := range scenarios {
		if scenarios[i].suite() == SuiteProtocol && l.runs(&scenarios[i]) {
			run++
		}
	}
	return 2 + l.due + run/again
}

// Startup returns twice the time from the first start of the program to its first answer, 0 for
// a server that is no program.
func (l *RevisionRun) Startup() time.Duration { return l.starts }

// runs reports whether a scenario is selected and applies.
func (l *RevisionRun) runs(sc *Scenario) bool {
	return l.gate(sc) == nil && slices.ContainsFunc(sc.Checks, func(c Check) bool { return selects(&l.Opts, sc, c.ID) })
}

// spare is a program that was started before a scenario asked for it.
type spare struct {
	key   string
	conn  wire.Conn
	trace *wire.Trace
}

// longWait is the time for which a spare program may wait without being doubted.
const longWait = 2 * time.Second

// nextSpare starts the next program if more are due. It ignores errors: the program is started
// again when it is needed.
func (r *runner) nextSpare(ctx context.Context, environ []string) {
	if _, ok := r.Subject.(*conformance.CommandSubject); !ok || r.due <= r.opened || r.spare != nil {
		return
	}
	tr := wire.NewTrace()
	if w, err := r.openSubject(ctx, tr, environ); err == nil {
		r.spare = &spare{sharedKey(environ), w, tr}
	}
}

// takeSpare returns the spare program if it is one of this environment and has not exited.
func (r *runner) takeSpare(environ []string) *spare {
	s := r.spare
	if s == nil || s.key != sharedKey(environ) {
		return nil
	}
	if w, ok := s.conn.(*wire.StdioConn); ok && w.Exited() {
		r.closeSpare()
		return nil
	}
	r.spare = nil
	return s
}

// closeSpare ends the spare program. Its end is not judged.
func (r *runner) closeSpare() {
	if r.spare == nil {
		return
	}
	if w, ok := r.spare.conn.(*wire.StdioConn); ok {
		w.Hurry()
	}
	r.spare.conn.Close()
	r.spare = nil
}
