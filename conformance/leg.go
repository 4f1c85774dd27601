package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// leg is the part of a run that judges one revision.
type leg struct {
	*runner
	// asked is the revision offered, revision the one judged: what the server
	// answered, when that is one of the same era.
	asked, revision mcp.Version
	seen            *observer
	shared          map[profile]*wire.Session
	fixtures        Fixtures
	remove          func()
	ownFolders      bool     // those of fixtures are the leg's own, and go with it
	services        *standIn // of a program that has the artifact family

	capabilities serverCapabilities
	tools        []tool
	toolsErr     error
	house        bool
	grant        SideEffects
	results      []Result
	unmet        int // handshakes in a row that waited in vain
}

// serverCapabilities is the server's object, read as far as the suite asks.
type serverCapabilities map[string]json.RawMessage

func newLeg(r *runner, revision mcp.Version) *leg {
	l := &leg{
		runner: r, asked: revision, revision: revision, seen: newObserver(), shared: map[profile]*wire.Session{},
		fixtures: r.opts.Fixtures, remove: func() {},
	}
	schemas := Scenario{ID: "SEEN-BASE", Area: "base"}
	sent := Scenario{ID: "SEEN-REQUESTS", Area: "base"}
	l.seen.unasked = !r.opts.selects(&schemas, seenResultSchema) && !r.opts.selects(&sent, seenSentSchema)
	return l
}

// stateless reports whether the leg speaks a revision without sessions.
func (l *leg) stateless() bool { return l.revision.Era() == mcp.EraStateless }

// run judges the subject in this leg's revision and adds what it found to the
// report.
func (l *leg) run(ctx context.Context, scenarios []Scenario) error {
	defer func() { l.remove() }()
	defer func() { l.services.close() }()
	defer l.closeShared()
	if err := l.introduce(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	if err := l.prepareFixtures(); err != nil {
		return err
	}
	scenarios = slices.DeleteFunc(slices.Clone(scenarios), func(sc Scenario) bool { return !l.includes(&sc) })
	total := 0
	for i := range scenarios {
		total += len(scenarios[i].Checks)
	}
	for _, last := range []bool{false, true} {
		for i := range scenarios {
			if scenarios[i].last == last {
				l.doing(Progress{Doing: string(l.revision) + " " + scenarios[i].Area, Done: len(l.results), Total: total})
				l.play(ctx, &scenarios[i])
			}
		}
		l.closeShared() // the last ones judge what the ends of sessions brought, too
	}
	slices.SortStableFunc(l.results, func(a, b Result) int {
		return cmp.Or(cmp.Compare(areaRank(a.Area), areaRank(b.Area)), compareIDs(a.ID, b.ID))
	})
	l.report.Results = append(l.report.Results, l.results...)
	return nil
}

// introduce learns what the server says of itself in this revision.
func (l *leg) introduce(ctx context.Context) error {
	l.doing(Progress{Doing: string(l.asked) + ": waiting for the server to introduce itself"})
	s, err := l.open(ctx, l.profileEnv(profilePlain))
	if err != nil {
		return &UnreachableError{Target: l.report.Target, Exit: -1, Err: err}
	}
	if err := s.Handshake(ctx, l.asked); err != nil {
		s.Close() // the lifecycle scenarios judge it
		l.learn(s)
		return ctx.Err()
	}
	l.learn(s)
	if l.capabilities.has("tools") {
		l.tools, l.toolsErr = listTools(ctx, s)
		if l.toolsErr == nil {
			l.report.Legs[len(l.report.Legs)-1].Tools = len(l.tools)
			l.report.Target.Tools = len(l.tools)
			l.allowed()
			l.mirror(s)
		}
	}
	l.shared[profilePlain] = s
	return nil
}

// learn takes what the server said of itself into the report.
func (l *leg) learn(s *wire.Session) {
	l.grant = cmp.Or(l.opts.SideEffects, SideEffectsNone)
	said := Leg{Revision: l.revision, Tools: -1}
	if s.Opened != nil {
		if s.Opened.Revision.Era() == l.asked.Era() {
			l.revision = s.Opened.Revision
		}
		said.Revision, said.Capabilities = l.revision, s.Opened.Capabilities
		info := s.Opened.ServerInfo()
		said.Name, said.Version = info.Name, info.Version
		_ = json.Unmarshal(s.Opened.Capabilities, &l.capabilities) // judged by the scenarios
		l.house = l.capabilities.has("experimental.errorProfiles")
		var granted SideEffects
		_ = json.Unmarshal(l.capabilities.at("experimental.conformance.sideEffects"), &granted) // no string: no grant
		if l.opts.SideEffects == "" && (granted == SideEffectsReadOnly || granted == SideEffectsAll) {
			l.grant, l.report.Policy.Granted = granted, true
		}
	}
	l.report.Policy.SideEffects = l.grant
	target := &l.report.Target
	if len(l.report.Legs) == 0 { // the newest speaks for all in the headline
		target.Revision, target.Name, target.Version = string(said.Revision), said.Name, said.Version
		target.Capabilities = said.Capabilities
	}
	l.report.Legs = append(l.report.Legs, said)
}

// prepareFixtures decides which folders the subject gets, by the tools that
// may be called: of its own for each leg, so that none finds what another stored.
func (l *leg) prepareFixtures() error {
	uses := func(t tool) bool { return slices.Contains(fixtureTools, t.Name) && l.mayCall(t.Name) }
	if l.subject.isProcess() && slices.ContainsFunc(l.tools, uses) {
		l.closeShared() // the program has to be told of them when it starts
		var err error
		given := l.fixtures
		l.fixtures, l.remove, err = makeFixtures()
		l.fixtures.TasksURL, l.fixtures.IDsURL, l.fixtures.APIKey = given.TasksURL, given.IDsURL, given.APIKey
		if err != nil {
			return err
		}
		l.ownFolders = true
		if l.services, err = newStandIn(); err != nil {
			return err
		}
	}
	if l.fixtures.Checklists != "" {
		return writeChecklists(l.fixtures.Checklists)
	}
	return nil
}

// play runs one scenario, or skips its checks.
func (l *leg) play(ctx context.Context, sc *Scenario) {
	t := &trial{leg: l, scenario: sc, lastTime: time.Now()}
	selected := false
	for _, c := range sc.Checks {
		if !l.opts.selects(sc, c.ID) {
			t.skip(c.ID, SkipExcluded, "")
		} else if detail := l.outside(c.Since, c.Until); detail != "" {
			t.skip(c.ID, SkipNotInRevision, detail)
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
					t.fail(c.ID, gate.expected, gate.detail)
				} else {
					t.skip(c.ID, gate.reason, gate.detail)
				}
			}
		} else {
			l.perform(ctx, t)
		}
		if ctx.Err() != nil {
			t.cut()
		}
	}
	l.results = append(l.results, t.results...)
}

func (l *leg) perform(ctx context.Context, t *trial) {
	ctx, cancel := context.WithTimeout(ctx, l.opts.Timeout)
	defer cancel()
	t.ctx = ctx
	err := t.attempt()
	if err != nil {
		l.closeShared() // nobody inherits a session in doubt
	}
	t.finish(err)
}

// open makes a connection on which nothing was sent.
func (l *leg) open(ctx context.Context, extra []string) (*wire.Session, error) {
	tr := wire.NewTrace()
	w, err := l.subject.open(ctx, tr, extra)
	if err != nil {
		return nil, err
	}
	s := wire.NewSession(w, tr, l.seen.message, l.opts.Answer)
	s.Starts, s.Extra = l.starts, extra
	if l.stateless() {
		s.Speak(l.revision)
		l.mirror(s)
	}
	return s, nil
}

func (l *leg) profileEnv(p profile) []string {
	if !l.subject.isProcess() {
		return nil
	}
	env := l.fixtures.environ(p)
	if p == profileServices && l.services != nil {
		env = append(env, l.services.environ()...)
	}
	return env
}

// sharedSession returns the initialized session of a profile, a new one when
// the last was lost.
func (l *leg) sharedSession(ctx context.Context, p profile) (*wire.Session, error) {
	if s := l.shared[p]; s != nil {
		return s, nil
	}
	if err := l.givenUp(); err != nil {
		return nil, err
	}
	s, err := l.open(ctx, l.profileEnv(p))
	if err != nil {
		return nil, err
	}
	if err := l.handshake(ctx, s); err != nil {
		l.dismiss(s)
		return nil, err
	}
	l.shared[p] = s
	return s, nil
}

// patientHandshakes is how many handshakes in a row may wait in vain before no
// scenario begins another.
const patientHandshakes = 5

// handshake opens a session in full, and counts those that waited in vain.
func (l *leg) handshake(ctx context.Context, s *wire.Session) error {
	err := s.Handshake(ctx, l.asked)
	switch {
	case errors.Is(err, wire.ErrLate), errors.Is(err, context.DeadlineExceeded):
		l.unmet++
	default:
		l.unmet = 0
	}
	return err
}

// givenUp is the error of a session that is not opened, because too many in a row were
// not: a run of hundreds of scenarios would wait for each.
func (l *leg) givenUp() error {
	if l.unmet < patientHandshakes {
		return nil
	}
	return fmt.Errorf("%w: the last %d handshakes had none either, and the server is not asked again", wire.ErrNoAnswer, l.unmet)
}

// dismiss closes a session whose end nobody judges. A program that had to be
// killed twice is not waited for again: the patience of all sessions together
// would be that of nobody.
func (l *leg) dismiss(s *wire.Session) {
	if w, ok := s.Conn.(*wire.StdioConn); ok && (l.slowEnds >= patientEnds || l.ended()) {
		w.Hurry()
	}
	if !s.Close().Prompt {
		l.slowEnds++
	}
}

// ended reports whether the run was ended from outside.
func (l *leg) ended() bool {
	select {
	case <-l.cut:
		return true
	default:
		return false
	}
}

// patientEnds is how many sessions may have to be killed before the others get
// hurriedGrace to end in.
const patientEnds = 2

func (l *leg) closeShared() {
	for p, s := range l.shared {
		l.dismiss(s)
		delete(l.shared, p)
	}
}

func (l *leg) emit(res Result) {
	if l.opts.OnResult != nil && res.Reason != SkipExcluded {
		l.opts.OnResult(res)
	}
}

// allowed finds out which of the tools that may be called are none of the
// subject's: of this leg, and of those before it.
func (l *leg) allowed() {
	p := &l.report.Policy
	missing := slices.DeleteFunc(slices.Clone(p.AllowTools), func(name string) bool {
		return slices.ContainsFunc(l.tools, func(t tool) bool { return t.Name == name })
	})
	if l.listed {
		missing = slices.DeleteFunc(missing, func(name string) bool { return !slices.Contains(p.NoTools, name) })
	}
	p.NoTools, l.listed = missing, true
}

// mirror has a session repeat what the tools of the server ask for.
func (l *leg) mirror(s *wire.Session) {
	w, ok := s.Conn.(*wire.HTTPConn)
	if !ok || !l.stateless() {
		return
	}
	mirrors := map[string][]wire.Mirror{}
	for _, t := range l.tools {
		if strings.Contains(string(t.InputSchema), "x-mcp-header") {
			mirrors[t.Name] = wire.MirrorsOf(t.InputSchema)
		}
	}
	w.SetMirrors(mirrors)
}

// speaksSessions reports whether the server was seen to speak a revision with
// sessions, too: what has no revision in it is then of those.
func (l *leg) speaksSessions() bool {
	for _, v := range l.report.Target.Offered {
		if mcp.Version(v).Era() == mcp.EraSession {
			return true
		}
	}
	return false
}
