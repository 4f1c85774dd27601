package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Defaults of [Options].
const (
	DefaultTimeout      = 60 * time.Second
	DefaultAnswer       = 10 * time.Second
	DefaultStartTimeout = 5 * time.Minute
)

// Options are the choices of a run. The zero value judges everything the
// server gives leave for.
type Options struct {
	// Only and Skip select checks by id, scenario or area; "*" stands for any
	// characters. An empty Only selects all. A pattern that matches nothing is
	// an error.
	Only, Skip []string
	// Revision is offered in initialize; empty means [mcp.LatestSession].
	Revision mcp.Version
	// SideEffects is the leave to call tools. Empty means what the server
	// grants in capabilities.experimental.conformance.sideEffects, else none.
	SideEffects SideEffects
	// AllowTools may be called whatever SideEffects says.
	AllowTools []string
	// Timeout bounds one scenario, Answer the wait for one answer,
	// StartTimeout the first start of the subject, which may have to compile.
	// Zero means the defaults: 60 s, 10 s, 5 min.
	Timeout, Answer, StartTimeout time.Duration
	// Fixtures names folders shared with a subject that is not a program.
	Fixtures Fixtures
	// OnResult, when set, is called in the run's goroutine as each check ends.
	OnResult func(Result)

	// bind overrides what permissionsBind finds, in tests.
	bind *bool
	// overwrites replaces the constant of this name, in tests.
	overwrites int
}

// UnreachableError says that the subject never answered: there is nothing to
// judge.
type UnreachableError struct {
	Target Target
	// Stderr is the end of what a program wrote to its standard error.
	Stderr string
	// Exit is the exit status of a program that ended, else -1.
	Exit int
	Err  error
}

// Error implements error.
func (e *UnreachableError) Error() string {
	if e.Exit >= 0 {
		return fmt.Sprintf("the server ended with status %d before it answered", e.Exit)
	}
	return fmt.Sprintf("the server does not answer: %v", e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// runner is one run.
type runner struct {
	subject  Subject
	opts     Options
	revision mcp.Version
	seen     *observer
	fixtures Fixtures
	remove   func()
	shared   map[profile]*session
	binds    bool

	capabilities serverCapabilities
	tools        []tool
	toolsErr     error
	house        bool
	grant        SideEffects
	report       *Report
}

// serverCapabilities is the server's object, read as far as the suite asks.
type serverCapabilities map[string]json.RawMessage

// Run judges subject and returns what was found. The error is an
// [*UnreachableError] when the subject never answered, or says what is wrong
// with the options; a server that answers wrongly is no error but a report.
func Run(ctx context.Context, subject Subject, opts Options) (*Report, error) {
	scenarios := registry()
	if err := opts.prepare(scenarios); err != nil {
		return nil, err
	}
	r := &runner{
		subject: subject, opts: opts, revision: opts.Revision, seen: newObserver(),
		shared: map[profile]*session{}, fixtures: opts.Fixtures, remove: func() {},
		report: &Report{StartedAt: time.Now(), Target: subject.target()},
	}
	if opts.bind != nil {
		r.binds = *opts.bind
	} else {
		r.binds = permissionsBind()
	}
	defer func() { r.remove() }()
	defer r.closeShared()
	if err := r.meet(ctx); err != nil {
		return nil, err
	}
	for _, last := range []bool{false, true} {
		for i := range scenarios {
			if scenarios[i].last == last {
				r.run(ctx, &scenarios[i])
			}
		}
		r.closeShared() // the last ones judge what the ends of sessions brought, too
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(r.report.Results, func(a, b Result) int {
		return cmp.Or(cmp.Compare(areaRank(a.Area), areaRank(b.Area)), compareIDs(a.ID, b.ID))
	})
	r.report.Duration = time.Since(r.report.StartedAt)
	return r.report, nil
}

func (o *Options) prepare(scenarios []Scenario) error {
	o.Revision = cmp.Or(o.Revision, mcp.LatestSession)
	if o.Revision.Era() != mcp.EraSession {
		return fmt.Errorf("revision %q: the suite covers revisions %s to %s", o.Revision, mcp.Versions()[0], mcp.LatestSession)
	}
	switch o.SideEffects {
	case "", SideEffectsNone, SideEffectsReadOnly, SideEffectsAll:
	default:
		return fmt.Errorf("side effects %q: none, read-only or all", o.SideEffects)
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Answer = cmp.Or(o.Answer, DefaultAnswer)
	o.overwrites = cmp.Or(o.overwrites, overwrites)
	o.StartTimeout = cmp.Or(o.StartTimeout, DefaultStartTimeout)
	for _, pattern := range slices.Concat(o.Only, o.Skip) {
		if !matchesAny(pattern, scenarios) {
			return fmt.Errorf("no check matches %q", pattern)
		}
	}
	return nil
}

// meet starts the subject for the first time and learns what it offers.
func (r *runner) meet(ctx context.Context) error {
	start, cancel := context.WithTimeout(ctx, r.opts.StartTimeout)
	defer cancel()
	s, err := r.open(start, nil)
	if err != nil {
		return &UnreachableError{Target: r.report.Target, Exit: -1, Err: err}
	}
	s.wait = r.opts.StartTimeout
	_, err = s.initialize(start, r.revision)
	s.wait = r.opts.Answer
	if err != nil && s.trace.silent() {
		end := s.close()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%w in %s", errNoAnswer, r.opts.StartTimeout)
		}
		u := &UnreachableError{Target: r.report.Target, Stderr: lastLines(s.wire.stderr()), Exit: -1, Err: err}
		if end.prompt && errors.Is(err, errClosed) {
			u.Exit = end.exit
		}
		return u
	}
	r.learn(s)
	if s.opened != nil {
		if err := s.initialized(ctx); err == nil && r.capabilities.has("tools") {
			r.tools, r.toolsErr = listTools(ctx, s)
			if r.toolsErr == nil {
				r.report.Target.Tools = len(r.tools)
			}
		}
	}
	return r.prepareFixtures(s)
}

// prepareFixtures decides which folders the subject gets. The session that met
// the subject is kept for the scenarios when it needs none.
func (r *runner) prepareFixtures(s *session) error {
	if r.subject.isProcess() && r.needsFolders() {
		s.close()
		var err error
		r.fixtures, r.remove, err = makeFixtures()
		if err != nil {
			return err
		}
	} else if s.opened != nil {
		r.shared[profilePlain] = s
	} else {
		s.close()
	}
	if r.fixtures.Checklists != "" {
		return writeChecklists(r.fixtures.Checklists)
	}
	return nil
}

// needsFolders reports whether leave was given to call a tool that uses them.
func (r *runner) needsFolders() bool {
	return slices.ContainsFunc(r.tools, func(t tool) bool {
		return (t.Name == toolValidate || t.Name == toolStore) && r.mayCall(t.Name)
	})
}

// learn takes what the server said of itself into the report.
func (r *runner) learn(s *session) {
	r.grant = cmp.Or(r.opts.SideEffects, SideEffectsNone)
	policy := Policy{
		Revision: string(r.revision), SideEffects: r.grant,
		AllowTools: r.opts.AllowTools, Only: r.opts.Only, Skip: r.opts.Skip,
	}
	if s.opened != nil {
		target := &r.report.Target
		target.Revision = string(s.opened.revision)
		target.Capabilities = s.opened.capabilities
		var info struct{ Name, Version string }
		_ = json.Unmarshal(s.opened.result["serverInfo"], &info) // judged by the lifecycle scenarios
		target.Name, target.Version = info.Name, info.Version
		_ = json.Unmarshal(s.opened.capabilities, &r.capabilities)
		r.house = r.capabilities.has("experimental.errorProfiles")
		var granted SideEffects
		_ = json.Unmarshal(r.capabilities.at("experimental.conformance.sideEffects"), &granted)
		if r.opts.SideEffects == "" && (granted == SideEffectsReadOnly || granted == SideEffectsAll) {
			r.grant, policy.SideEffects, policy.Granted = granted, granted, true
		}
	}
	r.report.Policy = policy
}

// run runs one scenario, or skips its checks.
func (r *runner) run(ctx context.Context, sc *Scenario) {
	t := &trial{runner: r, scenario: sc, lastTime: time.Now()}
	selected := false
	for _, c := range sc.Checks {
		if !r.opts.selects(sc, c.ID) {
			t.skip(c.ID, SkipExcluded, "")
		} else {
			selected = true
		}
	}
	if selected {
		if ctx.Err() != nil {
			t.finish(ctx.Err())
		} else if gate := r.gate(sc); gate != nil {
			for _, c := range sc.Checks {
				if gate.broken {
					t.fail(c.ID, gate.expected, gate.detail)
				} else {
					t.skip(c.ID, gate.reason, gate.detail)
				}
			}
		} else {
			r.play(ctx, t)
		}
	}
	r.report.Results = append(r.report.Results, t.results...)
}

func (r *runner) play(ctx context.Context, t *trial) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.Timeout)
	defer cancel()
	t.ctx = ctx
	err := t.scenario.run(t)
	if err != nil {
		r.closeShared() // nobody inherits a session in doubt
	}
	t.finish(err)
}

// open makes a connection on which nothing was sent.
func (r *runner) open(ctx context.Context, extra []string) (*session, error) {
	tr := newTrace()
	w, err := r.subject.open(ctx, tr, extra)
	if err != nil {
		return nil, err
	}
	return newSession(w, tr, r.seen, r.opts.Answer), nil
}

func (r *runner) profileEnv(p profile) []string {
	if !r.subject.isProcess() {
		return nil
	}
	return r.fixtures.environ(p)
}

// sharedSession returns the initialized session of a profile, a new one when
// the last was lost.
func (r *runner) sharedSession(ctx context.Context, p profile) (*session, error) {
	if s := r.shared[p]; s != nil {
		return s, nil
	}
	s, err := r.open(ctx, r.profileEnv(p))
	if err != nil {
		return nil, err
	}
	if err := s.handshake(ctx, r.revision); err != nil {
		s.close()
		return nil, err
	}
	r.shared[p] = s
	return s, nil
}

func (r *runner) closeShared() {
	for p, s := range r.shared {
		s.close()
		delete(r.shared, p)
	}
}

func (r *runner) emit(res Result) {
	if r.opts.OnResult != nil && res.Reason != SkipExcluded {
		r.opts.OnResult(res)
	}
}
