package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// Trial is one scenario being run: it opens the scenario's sessions and decides its
// checks. It belongs to one goroutine.
type Trial struct {
	// Ctx ends with the time of the scenario, or with the run.
	Ctx context.Context
	// Rev is the revision that is being judged, and what the server says in it.
	Rev      *RevisionRun
	Scenario *Scenario
	// Calls is how many tools this scenario called.
	Calls int

	results []conformance.Result
	own     []*wire.Session // opened for this scenario, closed at its end
	ends    []func()        // run at its end
	// session is the one that is being judged, and the evidence is its traffic since
	// the last send after the last decision.
	session *wire.Session
	// Trace is the traffic of that session. FirstFrame is the index of the scenario's
	// first frame in it, EvidenceFrom that of the first frame of the next evidence.
	Trace                    *wire.Trace
	FirstFrame, EvidenceFrom int

	// alone: the scenario runs on new programs only. again: it has to run alone, since a program
	// of another did not pass.
	alone, again bool
	running      bool

	lastTime time.Time
	// late are the checks whose outcome may be due to an answer that did not come in time.
	late []string
	// losses are the checks that fail because the server was lost.
	losses []loss
}

// Check decides a check: ok passes it, else it fails or warns by its level.
func (t *Trial) Check(id string, ok bool, expected, actual string, args ...any) bool {
	if ok {
		t.Decide(id, conformance.Pass, conformance.Result{})
		return true
	}
	if len(args) > 0 {
		actual = fmt.Sprintf(actual, args...)
	}
	t.FailBy(id, nil, expected, actual)
	return false
}

// FailBy is Fail with other evidence than what was sent and came since the last step, unless
// that is nil.
func (t *Trial) FailBy(id string, evidence []conformance.Frame, expected, actual string) {
	status := conformance.Warn
	if t.Level(t.Find(id)) == conformance.Must {
		status = conformance.Fail
	}
	t.Decide(id, status, conformance.Result{Expected: expected, Actual: actual, Evidence: evidence})
}

// Pass decides that a check holds.
func (t *Trial) Pass(id string) { t.Decide(id, conformance.Pass, conformance.Result{}) }

// Fail decides that a check does not hold, by its level a failure or a warning.
func (t *Trial) Fail(id, expected, actual string, args ...any) {
	t.Check(id, false, expected, actual, args...)
}

// Inconclusive decides that a check applies and could not be decided.
func (t *Trial) Inconclusive(id, detail string) {
	t.Decide(id, conformance.Inconclusive, conformance.Result{Detail: detail})
}

// Skip decides that a check does not apply.
func (t *Trial) Skip(id string, reason conformance.SkipReason, detail string) {
	t.Decide(id, conformance.Skip, conformance.Result{Reason: reason, Detail: detail})
}

// SkipRest decides that the remaining checks do not apply.
func (t *Trial) SkipRest(reason conformance.SkipReason, detail string) {
	for _, c := range t.Scenario.Checks {
		t.Skip(c.ID, reason, detail)
	}
}

// NeedsProfile skips the named checks when the server does not announce the error
// profiles of this project, and reports whether it does.
func (t *Trial) NeedsProfile(ids ...string) bool {
	if t.Rev.Profiled {
		return true
	}
	for _, id := range ids {
		t.Skip(id, conformance.SkipNotDeclared, "capabilities.experimental.errorProfiles absent")
	}
	return false
}

// Find returns a check of the scenario. It panics when there is none.
func (t *Trial) Find(id string) *Check {
	for i := range t.Scenario.Checks {
		if t.Scenario.Checks[i].ID == id {
			return &t.Scenario.Checks[i]
		}
	}
	panic("conformance: scenario " + t.Scenario.ID + " has no check " + id) //nolint:forbidigo // a bug in a scenario, which its own test meets
}

// Level returns the level of a check for this server.
func (t *Trial) Level(c *Check) conformance.Level {
	if t.Rev.Profiled && c.ProfileLevel != "" {
		return c.ProfileLevel
	}
	return c.Level
}

// Decided reports whether a check was decided.
func (t *Trial) Decided(id string) bool {
	return slices.ContainsFunc(t.results, func(r conformance.Result) bool { return r.ID == id })
}

// Decide records an outcome. Only the first outcome of a check counts.
func (t *Trial) Decide(id string, status conformance.Status, r conformance.Result) {
	c := t.Find(id)
	if t.Decided(id) {
		return
	}
	if refused := t.Rev.gentle.refusal(); refused != "" && status != conformance.Skip {
		status, r = conformance.Skip, conformance.Result{Reason: conformance.SkipGentle, Detail: refused}
		defer func() {
			if t.running {
				t.Stop(errGentle)
			}
		}()
	}
	t.doubts(t.session, status)
	if t.lacksAnswer(status) {
		t.late = append(t.late, id)
	}
	if reason := t.unsure(status); reason != "" {
		status, r = conformance.Inconclusive, conformance.Result{Detail: reason}
	} else if (status == conformance.Fail || status == conformance.Warn) && hasClosed(t.session) {
		t.losses = append(t.losses, loss{check: id, session: t.session})
		if r.Evidence == nil {
			r.Evidence = t.Trace.Since(t.FirstFrame) // an earlier message may have ended it
		}
	}
	r.Check, r.Scenario, r.Area, r.Revision = c.Check, t.Scenario.ID, t.Scenario.Area, t.Rev.Revision
	r.Level, r.Status = t.Level(c), status
	if status != conformance.Skip {
		r.Attempts = 1
	}
	now := time.Now()
	r.Duration, t.lastTime = now.Sub(t.lastTime), now
	if t.Trace != nil && (status == conformance.Fail || status == conformance.Warn || status == conformance.Inconclusive) && r.Evidence == nil {
		r.Evidence = append(t.Trace.Since(t.EvidenceFrom), t.Exited()...)
	}
	t.results = append(t.results, r)
}

// Step begins a new piece of evidence.
func (t *Trial) Step(s *wire.Session) {
	if t.session != s {
		t.FirstFrame = s.Trace.Mark()
	}
	t.session, t.Trace, t.EvidenceFrom = s, s.Trace, s.Trace.Mark()
}

// NoError ends the scenario if err is set: checks that are not decided yet are inconclusive
// because of it. Like the FailNow of a test, it must be called on the scenario's goroutine.
// doing, if given, precedes the text of the error.
func (t *Trial) NoError(err error, doing ...string) {
	switch {
	case err == nil:
	case len(doing) > 0:
		t.Stop(fmt.Errorf("%s: %w", doing[0], err))
	default:
		t.Stop(err)
	}
}

// Stop ends the scenario with an error, as NoError does.
func (t *Trial) Stop(err error) {
	panic(stopped{err}) //nolint:forbidigo // recovered by attempt, as a test recovers from FailNow
}

// stopped carries the error of Stop to attempt.
type stopped struct{ err error }

// Shared returns the session that scenarios share, initialized. If the scenario ends with
// an error, the session is not used again. Like all that opens a session, it ends the
// scenario if it fails.
func (t *Trial) Shared() *wire.Session {
	s, err := t.Rev.sharedSession(t.Ctx, t.Scenario.Needs.Fixture)
	t.NoError(err)
	t.Step(s)
	return s
}

// Fresh returns a session of the scenario's own, initialized.
func (t *Trial) Fresh() *wire.Session {
	s, err := t.TryFresh()
	t.NoError(err)
	return s
}

// TryFresh is Fresh for scenarios that judge a failure.
func (t *Trial) TryFresh() (*wire.Session, error) {
	if s := t.takeOver(wire.StageOpen); s != nil {
		return s, nil
	}
	if err := t.Rev.givenUp(); err != nil {
		return nil, err
	}
	s, err := t.TryOpen()
	if err != nil {
		return nil, err
	}
	if err := t.Rev.handshake(t.Ctx, s); err != nil {
		return nil, err
	}
	t.Step(s)
	return s, nil
}

// Raw returns a connection of the scenario's own on which nothing was sent.
func (t *Trial) Raw() *wire.Session { return t.Open() }

// Open is Raw with more variables in the environment of the program.
func (t *Trial) Open(extra ...string) *wire.Session {
	s, err := t.TryOpen(extra...)
	t.NoError(err)
	return s
}

// TryOpen is Open for scenarios that judge a failure.
func (t *Trial) TryOpen(extra ...string) (*wire.Session, error) {
	s, err := t.Rev.open(t.Ctx, append(t.Rev.environ(t.Scenario.Needs.Fixture), extra...))
	if err != nil {
		return nil, err
	}
	t.own = append(t.own, s)
	t.Step(s)
	return s, nil
}

// OnFinish calls end when the scenario is over.
func (t *Trial) OnFinish(end func()) { t.ends = append(t.ends, end) }

// finish decides the remaining checks and closes the sessions of the scenario, or leaves them
// to others. err is the error of the scenario.
func (t *Trial) finish(err error) {
	exit := t.Exited()
	if err == nil && t.Rev.left != nil && !t.Rev.Gentle() && t.Scenario.suite() == SuiteProtocol && t.Ctx != nil && t.Ctx.Err() == nil {
		for _, s := range t.own {
			t.Rev.leave(t.Ctx, s)
		}
		t.own = nil
	}
	t.close()
	for _, c := range t.Scenario.Checks {
		if t.Decided(c.ID) {
			continue
		}
		detail := "not reached"
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			detail = "the time for this scenario was over"
		case err != nil:
			detail = err.Error()
		}
		if errors.Is(err, ErrUsedUp) {
			t.Skip(c.ID, conformance.SkipControl, detail)
			continue
		}
		status := conformance.Inconclusive
		var own *suiteError
		if errors.As(err, &own) {
			status = conformance.Error
		}
		r := conformance.Result{Detail: detail}
		if exit != nil {
			r.Evidence = append(t.Trace.Since(t.EvidenceFrom), exit...)
		}
		t.Decide(c.ID, status, r)
	}
}

// errCut is the reason of checks that were not judged before the run was canceled.
var errCut = errors.New("the run ended before this was judged")

// close ends what belongs to the scenario.
func (t *Trial) close() {
	for _, s := range t.own {
		t.Rev.dismiss(s)
	}
	for _, end := range t.ends {
		end()
	}
	t.own, t.ends = nil, nil
}

// cut discards the outcomes of a scenario during which the run was canceled: the
// cancellation may have caused them.
func (t *Trial) cut() {
	t.results = slices.DeleteFunc(t.results, func(r conformance.Result) bool { return r.Status != conformance.Skip })
	t.finish(errCut)
}

// attempt runs the scenario and returns the error that stopped it. Any other panic is an
// error of the suite and ends only this scenario.
func (t *Trial) attempt() (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case stopped:
			err = p.err
		default:
			err = SuiteError(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	t.running = true
	defer func() { t.running = false }()
	t.Scenario.Run(t)
	return nil
}

// suiteError is an error of the suite or its machine, such as a full disk.
type suiteError struct{ err error }

func (e *suiteError) Error() string { return e.err.Error() }
func (e *suiteError) Unwrap() error { return e.err }

// SuiteError marks err as an error of the suite.
func SuiteError(err error) error {
	if err == nil {
		return nil
	}
	return &suiteError{err}
}
