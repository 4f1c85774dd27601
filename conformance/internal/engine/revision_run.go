package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// RevisionRun is the part of a run that judges one revision.
type RevisionRun struct {
	*runner
	// Asked is the offered revision. Revision is the judged one: that of the server's
	// answer if it is of the same era.
	Asked, Revision mcp.Version
	// Seen judges every message of this revision.
	Seen *observe.Observer
	// Environment is what the suite prepared for the server.
	Environment Environment
	shared      map[string]*wire.Session // by the environment of the program
	// Ended has what the end of one program showed, by check; nil if no scenario has looked at it.
	Ended map[string]bool
	left  map[wire.Stage][]*wire.Session // programs that scenarios have left to others

	Capabilities ServerCapabilities
	Tools        []wire.Tool
	ToolsErr     error
	Profiled     bool
	profiles     map[string]string // the error profiles by tool, or whatever the server says
	grant        conformance.SideEffects
	results      []conformance.Result
	starting     string // about how often the program is started, for the progress
	timedOut     int    // handshakes in a row without an answer
	*learned            // shared by workers
	// fatal has the requests that end the server, as [wire.Session.During] describes them.
	fatal map[string]bool
	gone  *gone
}

// ServerCapabilities is the capabilities object of the server.
type ServerCapabilities map[string]json.RawMessage

func newRevisionRun(r *runner, revision mcp.Version) *RevisionRun {
	l := &RevisionRun{
		runner: r, Asked: revision, Revision: revision, Seen: observe.New(), shared: map[string]*wire.Session{}, fatal: map[string]bool{},
		Environment: emptyEnvironment{}, learned: newLearned(), gone: &gone{},
		left: map[wire.Stage][]*wire.Session{},
	}
	schemas := Scenario{ID: "SEEN-BASE", Area: "base"}
	sent := Scenario{ID: "SEEN-REQUESTS", Area: "base"}
	l.Seen.Unasked = !selects(&r.Opts, &schemas, observe.SeenResultSchema) && !selects(&r.Opts, &sent, observe.SeenSentSchema)
	return l
}

// Stateless reports whether the revision run speaks a revision without sessions.
func (l *RevisionRun) Stateless() bool { return l.Revision.Era() == mcp.EraStateless }

// run judges the subject in this revision and adds the results to the report.
func (l *RevisionRun) run(ctx context.Context, scenarios []Scenario) error {
	defer func() { l.Environment.Close() }()
	defer l.CloseShared()
	if err := l.introduce(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	if err := l.prepareEnvironment(); err != nil {
		return err
	}
	scenarios = slices.DeleteFunc(slices.Clone(scenarios), func(sc Scenario) bool { return !l.includes(&sc) })
	total := 0
	for i := range scenarios {
		total += len(scenarios[i].Checks)
	}
	if l.IsProcess() {
		l.starting = fmt.Sprintf(" · about %d starts of the program", l.startsAbout(scenarios))
	}
	defer l.closeLeft()
	for _, last := range []bool{false, true} {
		l.playAll(ctx, slices.DeleteFunc(slices.Clone(scenarios), func(sc Scenario) bool { return sc.Last != last }), total)
		l.closeLeft()
		l.CloseShared() // passive scenarios judge the ends of sessions, too
	}
	l.noteCalled()
	sort.SliceStable(l.results, func(i, j int) bool {
		a, b := &l.results[i], &l.results[j]
		return cmp.Or(cmp.Compare(l.ranks[a.Area], l.ranks[b.Area]), Compare(a.ID, b.ID)) < 0
	})
	l.Report.Results = append(l.Report.Results, l.results...)
	return nil
}

// introduce reads the server's description of itself in this revision.
func (l *RevisionRun) introduce(ctx context.Context) error {
	l.doing(string(l.Asked) + ": waiting for the server to introduce itself")
	key := sharedKey(l.environ(""))
	s := l.shared[key]
	if s != nil && s.Stage() != wire.StageOpen { // it has exited since it was greeted
		l.CloseShared()
		s = nil
	}
	if s == nil {
		var err error
		if s, err = l.open(ctx, l.environ("")); err != nil {
			return &conformance.UnreachableError{Target: l.Report.Target, Exit: -1, Err: err}
		}
		if err := s.Handshake(ctx, l.Asked); err != nil {
			s.Close() // the lifecycle scenarios judge it
			l.learn(s)
			return ctx.Err()
		}
	}
	l.learn(s)
	if l.Gentle() {
		l.gentle.mayCall = l.mayCallGently
	}
	if l.Capabilities.Has("tools") {
		l.Tools, l.ToolsErr = wire.ListTools(ctx, s)
		if l.ToolsErr == nil {
			l.Report.Revisions[len(l.Report.Revisions)-1].Tools = len(l.Tools)
			l.Report.Target.Tools = len(l.Tools)
			l.noteMissingTools()
			l.mirror(s)
		}
	}
	l.shared[key] = s
	return nil
}

// learn adds the server's description of itself to the report.
func (l *RevisionRun) learn(s *wire.Session) {
	l.grant = cmp.Or(l.Opts.SideEffects, conformance.SideEffectsNone)
	said := conformance.RevisionReport{Revision: l.Revision, Tools: -1}
	if s.Opened != nil {
		if s.Opened.Revision.Era() == l.Asked.Era() {
			l.Revision = s.Opened.Revision
		}
		said.Revision, said.Capabilities = l.Revision, s.Opened.Capabilities
		info := s.Opened.ServerInfo()
		said.Name, said.Version = info.Name, info.Version
		_ = json.Unmarshal(s.Opened.Capabilities, &l.Capabilities) // judged by the scenarios
		l.Profiled = l.Capabilities.Has("experimental.errorProfiles")
		if json.Unmarshal(l.Capabilities.At("experimental.errorProfiles"), &l.profiles) != nil {
			l.profiles = nil // it is judged by the scenarios
		}
		var granted conformance.SideEffects
		_ = json.Unmarshal(l.Capabilities.At("experimental.conformance.sideEffects"), &granted) // no string: no grant
		if l.Opts.SideEffects == "" && (granted == conformance.SideEffectsReadOnly || granted == conformance.SideEffectsAll) {
			l.grant, l.Report.Policy.Granted = granted, true
		}
	}
	l.Report.Policy.SideEffects = string(l.grant)
	target := &l.Report.Target
	if len(l.Report.Revisions) == 0 { // the headline shows the newest
		target.Revision, target.Name, target.Version = string(said.Revision), said.Name, said.Version
		target.Capabilities = said.Capabilities
	}
	l.Report.Revisions = append(l.Report.Revisions, said)
}

// prepareEnvironment sets up what the scenarios need around the subject.
func (l *RevisionRun) prepareEnvironment() error {
	if l.Suite.Environment == nil {
		return nil
	}
	before := sharedKey(l.environ(""))
	around, err := l.Suite.Environment(l)
	if err != nil {
		return err
	}
	l.Environment = around
	if sharedKey(l.environ("")) != before {
		l.CloseShared() // a program reads its environment when it starts
	}
	return nil
}

// IsProcess reports whether the suite starts the subject as a program.
func (l *RevisionRun) IsProcess() bool { return isProcess(l.Subject) }

// play runs one scenario, or skips its checks.
func (l *RevisionRun) play(ctx context.Context, sc *Scenario) []conformance.Result {
	l.gentle.begin()
	defer l.gentle.begin()
	t := &Trial{Rev: l, Scenario: sc, lastTime: time.Now()}
	selected := false
	for _, c := range sc.Checks {
		if !selects(&l.Opts, sc, c.ID) {
			t.Skip(c.ID, conformance.SkipExcluded, "")
		} else if detail := l.outside(c.Since, c.Until); detail != "" {
			t.Skip(c.ID, conformance.SkipNotInRevision, detail)
		} else {
			selected = true
		}
	}
	if selected {
		if ctx.Err() != nil {
			t.finish(errCut)
		} else if gate := l.gate(sc); gate != nil {
			for _, c := range sc.Checks {
				if gate.broken {
					t.Fail(c.ID, gate.expected, gate.detail)
				} else {
					t.Skip(c.ID, gate.reason, gate.detail)
				}
			}
		} else {
			l.perform(ctx, t)
		}
		if ctx.Err() != nil {
			t.cut()
		}
	}
	return t.results
}

// busyMachine is the starvation from which on a wait says nothing about a server, and mostStretch
// is how many times longer it becomes at most.
const (
	busyMachine = 2
	mostStretch = 10
)

// perform runs a scenario. If an answer did not come in time on a machine that is busy with other
// things, it runs once more with longer waits.
func (l *RevisionRun) perform(ctx context.Context, t *Trial) {
	skipped := slices.Clone(t.results)
	bounded, cancel := context.WithTimeout(ctx, l.patience())
	defer cancel()
	l.nextSpare(ctx, l.environ(t.Scenario.Needs.Fixture))
	err := l.try(bounded, t)
	if t.inDoubt(err) && ctx.Err() == nil {
		if t.waited() {
			l.closeSpare()
			defer func(due int) { l.due = due }(l.due)
			l.due = 0
		}
		t.close()
		*t = Trial{Rev: l, Scenario: t.Scenario, Calls: t.Calls, lastTime: t.lastTime, results: slices.Clone(skipped), alone: true}
		bounded, cancel := context.WithTimeout(ctx, l.patience())
		defer cancel()
		err = l.try(bounded, t)
	}
	if t.endedSession() && ctx.Err() == nil { // once more, in sessions of its own
		t.close()
		l.CloseShared()
		*t = Trial{Rev: l, Scenario: t.Scenario, Calls: t.Calls, lastTime: t.lastTime, results: slices.Clone(skipped), alone: true}
		bounded, cancel := context.WithTimeout(ctx, l.patience())
		defer cancel()
		err = l.try(bounded, t)
	}
	if (len(t.late) > 0 || late(err)) && ctx.Err() == nil {
		if starved := l.starvation(); starved >= busyMachine {
			t.close()
			*t = Trial{Rev: l, Scenario: t.Scenario, Calls: t.Calls, lastTime: t.lastTime, results: skipped, alone: true}
			l.CloseShared()
			l.stretch = int(min(2*starved, mostStretch))
			bounded, cancel := context.WithTimeout(ctx, l.stretched(l.patience()))
			defer cancel()
			err = l.try(bounded, t)
			l.stretch = 0
			l.CloseShared()
			if len(t.late) > 0 && l.starvation() >= busyMachine {
				t.results = slices.DeleteFunc(t.results, func(r conformance.Result) bool { return slices.Contains(t.late, r.ID) })
				err = cmp.Or(err, errBusy)
			}
		}
	}
	if len(t.losses) > 0 && l.Gentle() {
		t.unconfirmed()
	} else if len(t.losses) > 0 && ctx.Err() == nil {
		bounded, cancel := context.WithTimeout(ctx, l.patience())
		defer cancel()
		err = l.confirm(bounded, t, skipped)
	}
	t.finish(err)
}

// errBusy is why a check of a scenario is open in which an answer came late.
var errBusy = errors.New("an answer did not come in time, twice, on a machine that is too busy to tell why")

// try runs a scenario.
func (l *RevisionRun) try(ctx context.Context, t *Trial) error {
	t.Ctx = ctx
	err := t.attempt()
	t.blame(err)
	if err != nil && !errors.Is(err, errAgain) {
		l.CloseShared() // no other scenario gets a session in doubt
	}
	return err
}

// late reports whether a scenario ended because time was over.
func late(err error) bool {
	return errors.Is(err, wire.ErrLate) || errors.Is(err, context.DeadlineExceeded)
}

// patience is the time of one scenario.
func (l *RevisionRun) patience() time.Duration {
	if l.Gentle() { // most of it passes between messages
		return gentlePatience * l.Opts.Timeout
	}
	return l.Opts.Timeout
}

// stretched is a wait on the machine as it is.
func (l *RevisionRun) stretched(wait time.Duration) time.Duration {
	return wait * time.Duration(max(1, l.stretch))
}

// starvation measures how busy the machine is.
func (l *RevisionRun) starvation() float64 {
	if l.Suite.Starvation != nil {
		return l.Suite.Starvation()
	}
	return wire.Starvation()
}

// open makes a connection on which nothing was sent. It takes the spare program if there is
// one.
func (l *RevisionRun) open(ctx context.Context, extra []string) (*wire.Session, error) {
	var w wire.Conn
	tr, waited := wire.NewTrace(), time.Duration(0)
	if next := l.takeSpare(extra); next != nil {
		w, tr = next.conn, next.trace
		waited = tr.Begin()
	} else {
		var err error
		if w, err = l.openSubject(ctx, tr, extra); err != nil {
			return nil, err
		}
	}
	l.opened++
	l.nextSpare(ctx, extra)
	s := wire.NewSession(w, tr, l.Seen.Message, l.stretched(l.Opts.Answer))
	s.Aged, s.Silences = waited > longWait, &l.silences
	l.gentle.session(s)
	s.StartTimeout, s.Environment = l.stretched(l.starts), extra
	if l.Stateless() {
		s.Speak(l.Revision)
		l.mirror(s)
	}
	return s, nil
}

// environ returns the environment of a program for scenarios that need a fixture.
func (l *RevisionRun) environ(fixture string) []string {
	if !l.IsProcess() {
		return nil
	}
	return l.Environment.Environ(fixture)
}

// sharedKey names the shared session of a program with this environment.
func sharedKey(environ []string) string { return strings.Join(environ, "\x00") }

// sharedSession returns the initialized session for a fixture. It opens a new one if the
// last one was lost.
func (l *RevisionRun) sharedSession(ctx context.Context, fixture string) (*wire.Session, error) {
	environ := l.environ(fixture)
	key := sharedKey(environ)
	if s := l.shared[key]; s != nil {
		return s, nil
	}
	if err := l.givenUp(); err != nil {
		return nil, err
	}
	s, err := l.open(ctx, environ)
	if err != nil {
		return nil, err
	}
	if err := l.handshake(ctx, s); err != nil {
		l.dismiss(s)
		return nil, err
	}
	l.shared[key] = s
	return s, nil
}

// patientHandshakes is the number of handshakes in a row without an answer after which no
// scenario begins another.
const patientHandshakes = 5

// handshake opens a session, and counts handshakes without an answer.
func (l *RevisionRun) handshake(ctx context.Context, s *wire.Session) error {
	err := s.Handshake(ctx, l.Asked)
	switch {
	case errors.Is(err, wire.ErrLate), errors.Is(err, context.DeadlineExceeded):
		l.timedOut++
	default:
		l.timedOut = 0
	}
	return err
}

// givenUp returns an error if too many handshakes in a row had no answer: hundreds of
// scenarios would each wait for one.
func (l *RevisionRun) givenUp() error {
	if l.timedOut < patientHandshakes {
		return nil
	}
	return fmt.Errorf("%w: nor had the last %d handshakes, so no other is sent", wire.ErrNoAnswer, l.timedOut)
}

// dismiss closes a session whose end is not judged. After two programs had to be killed,
// the others get less time to exit.
func (l *RevisionRun) dismiss(s *wire.Session) {
	if w, ok := s.Conn.(*wire.StdioConn); ok && (l.slowEnds >= patientEnds || l.ended()) {
		w.Hurry()
	}
	if !s.Close().Prompt {
		l.slowEnds++
	}
}

// ended reports whether the run was canceled.
func (l *RevisionRun) ended() bool {
	select {
	case <-l.cut:
		return true
	default:
		return false
	}
}

// patientEnds is the number of killed programs after which the others get less time.
const patientEnds = 2

// CloseShared closes the sessions that scenarios share. The next scenario opens a new one.
func (l *RevisionRun) CloseShared() {
	for p, s := range l.shared {
		l.dismiss(s)
		delete(l.shared, p)
	}
}

func (l *RevisionRun) emit(res conformance.Result) {
	if l.Opts.OnResult != nil && res.Reason != conformance.SkipExcluded {
		l.Opts.OnResult(res)
	}
}

// noteMissingTools records the allowed tools that the subject lists in no revision so far.
func (l *RevisionRun) noteMissingTools() {
	p := &l.Report.Policy
	missing := slices.DeleteFunc(slices.Clone(p.AllowTools), func(name string) bool {
		return slices.ContainsFunc(l.Tools, func(t wire.Tool) bool { return t.Name == name })
	})
	if l.listed {
		missing = slices.DeleteFunc(missing, func(name string) bool { return !slices.Contains(p.NoTools, name) })
	}
	p.NoTools, l.listed = missing, true
}

// mirror makes a session repeat arguments as headers, as the tools of the server require.
func (l *RevisionRun) mirror(s *wire.Session) {
	w, ok := s.Conn.(*wire.HTTPConn)
	if !ok || !l.Stateless() {
		return
	}
	mirrors := map[string][]wire.Mirror{}
	for _, t := range l.Tools {
		if strings.Contains(string(t.InputSchema), "x-mcp-header") {
			mirrors[t.Name] = wire.MirrorsOf(t.InputSchema)
		}
	}
	w.SetMirrors(mirrors)
}

// SpeaksSessions reports whether the server also supports a revision with sessions: a
// message without a revision then belongs to it.
func (l *RevisionRun) SpeaksSessions() bool {
	for _, v := range l.Report.Target.Offered {
		if mcp.Version(v).Era() == mcp.EraSession {
			return true
		}
	}
	return false
}
