package conformance

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/wire"
)

// trial is one scenario being run. It belongs to one goroutine.
type trial struct {
	ctx      context.Context
	leg      *leg
	scenario *Scenario
	calls    int // of tools, in this scenario

	results []Result
	own     []*wire.Session // opened for this scenario, closed at its end
	ends    []func()        // run at its end
	// session is the one that is being judged, and the evidence is its traffic since
	// the last send after the last decision.
	session  *wire.Session
	trace    *wire.Trace
	mark     int
	began    int // where the scenario began to speak on that session
	lastTime time.Time
}

// check decides a check: ok passes it, else it fails or warns by its level.
func (t *trial) check(id string, ok bool, expected, actual string, args ...any) bool {
	if ok {
		t.decide(id, Pass, Result{})
		return true
	}
	if len(args) > 0 {
		actual = fmt.Sprintf(actual, args...)
	}
	status := Warn
	if t.level(t.find(id)) == Must {
		status = Fail
	}
	t.decide(id, status, Result{Expected: expected, Actual: actual})
	return false
}

func (t *trial) pass(id string) { t.decide(id, Pass, Result{}) }

func (t *trial) fail(id, expected, actual string, args ...any) {
	t.check(id, false, expected, actual, args...)
}

// unknown decides that a check applies and could not be established.
func (t *trial) unknown(id, detail string) { t.decide(id, Unknown, Result{Detail: detail}) }

func (t *trial) skip(id string, reason SkipReason, detail string) {
	t.decide(id, Skip, Result{Reason: reason, Detail: detail})
}

// forHouse skips the named checks when the server does not announce the error
// profiles of this project, and reports whether it does.
func (t *trial) forHouse(ids ...string) bool {
	if t.leg.house {
		return true
	}
	for _, id := range ids {
		t.skip(id, SkipNotDeclared, "capabilities.experimental.errorProfiles absent")
	}
	return false
}

func (t *trial) find(id string) *Check {
	for i := range t.scenario.Checks {
		if t.scenario.Checks[i].ID == id {
			return &t.scenario.Checks[i]
		}
	}
	panic("conformance: scenario " + t.scenario.ID + " has no check " + id) //nolint:forbidigo // a bug in a scenario, which its own test meets
}

func (t *trial) level(c *Check) Level {
	if t.leg.house && c.House != "" {
		return c.House
	}
	return c.Level
}

func (t *trial) decided(id string) bool {
	return slices.ContainsFunc(t.results, func(r Result) bool { return r.ID == id })
}

// decide records an outcome. The first decision of a check stands.
func (t *trial) decide(id string, status Status, r Result) {
	c := t.find(id)
	if t.decided(id) {
		return
	}
	if reason := t.unsure(status); reason != "" {
		status, r = Unknown, Result{Detail: reason}
	}
	r.Check, r.Scenario, r.Area, r.Revision = *c, t.scenario.ID, t.scenario.Area, t.leg.revision
	r.Level, r.Status = t.level(c), status
	if status != Skip {
		r.Attempts = 1
	}
	now := time.Now()
	r.Duration, t.lastTime = now.Sub(t.lastTime), now
	if t.trace != nil && (status == Fail || status == Warn || status == Unknown) && r.Evidence == nil {
		r.Evidence = t.trace.Since(t.mark)
	}
	t.results = append(t.results, r)
	t.leg.emit(r)
}

// step begins a new piece of evidence.
func (t *trial) step(s *wire.Session) {
	if t.session != s {
		t.began = s.Trace.Mark()
	}
	t.session, t.trace, t.mark = s, s.Trace, s.Trace.Mark()
}

// shared returns the session that scenarios share, initialized. What it needs
// of it is undone when the scenario calls spoil.
func (t *trial) shared() (*wire.Session, error) {
	s, err := t.leg.sharedSession(t.ctx, t.profile())
	if err != nil {
		return nil, err
	}
	t.step(s)
	return s, nil
}

// fresh returns a session of the scenario's own, initialized.
func (t *trial) fresh() (*wire.Session, error) {
	if err := t.leg.givenUp(); err != nil {
		return nil, err
	}
	s, err := t.raw()
	if err != nil {
		return nil, err
	}
	if err := t.leg.handshake(t.ctx, s); err != nil {
		return nil, err
	}
	t.step(s)
	return s, nil
}

// raw returns a connection of the scenario's own on which nothing was sent.
func (t *trial) raw() (*wire.Session, error) { return t.open(nil) }

// open is raw with more in the environment of the program.
func (t *trial) open(extra []string) (*wire.Session, error) {
	s, err := t.leg.open(t.ctx, append(t.leg.profileEnv(t.profile()), extra...))
	if err != nil {
		return nil, err
	}
	t.own = append(t.own, s)
	t.step(s)
	return s, nil
}

// onFinish has end run when the scenario is over.
func (t *trial) onFinish(end func()) { t.ends = append(t.ends, end) }

func (t *trial) profile() profile {
	switch {
	case t.scenario.Needs.Checklists:
		return profileChecklists
	case t.scenario.Needs.Services:
		return profileServices
	default:
		return profilePlain
	}
}

// finish decides what the scenario left open and closes its sessions. err is
// what the scenario returned.
func (t *trial) finish(err error) {
	for _, s := range t.own {
		t.leg.dismiss(s)
	}
	for _, end := range t.ends {
		end()
	}
	for _, c := range t.scenario.Checks {
		if t.decided(c.ID) {
			continue
		}
		detail := "not reached"
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			detail = "the time for this scenario was over"
		case err != nil:
			detail = err.Error()
		}
		if errors.Is(err, errUsedUp) {
			t.skip(c.ID, SkipControl, detail)
			continue
		}
		status := Unknown
		var own *suiteError
		if errors.As(err, &own) {
			status = Error
		}
		t.decide(c.ID, status, Result{Detail: detail})
	}
}

// errCut is why what was not looked at before the run was ended is open.
var errCut = errors.New("the run ended before this was judged")

// cut takes back what a scenario decided during which the run was ended: it may
// be the end that was seen, not the server.
func (t *trial) cut() {
	t.own, t.ends = nil, nil // the scenario has ended
	t.results = slices.DeleteFunc(t.results, func(r Result) bool { return r.Status != Skip })
	t.finish(errCut)
}

// attempt runs the scenario. A panic is a fault of the suite, and ends nothing else.
func (t *trial) attempt() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = ours(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
	}()
	return t.scenario.run(t)
}

// suiteError is a fault of the suite or its machine: no folder could be made.
type suiteError struct{ err error }

func (e *suiteError) Error() string { return e.err.Error() }
func (e *suiteError) Unwrap() error { return e.err }

// ours marks err as a fault of the suite.
func ours(err error) error {
	if err == nil {
		return nil
	}
	return &suiteError{err}
}
