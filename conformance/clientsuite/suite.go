package clientsuite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks/client"
	"github.com/mainstay-mcp/mainstay/conformance/checks/client/authorization"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// suite is one run.
type suite struct {
	program Program
	opts    Options
	report  *conformance.Report
	results sync.Mutex // for OnResult
}

// Run judges the client. The error is a [*conformance.UnreachableError] if the client could
// not be started or sent nothing, or it describes wrong options; a broken rule is no error.
// If ctx ends before the run does, Run returns its error and the report so far.
func Run(ctx context.Context, p Program, opts Options) (*conformance.Report, error) {
	if err := opts.prepare(); err != nil {
		return nil, err
	}
	s := &suite{program: p, opts: opts, report: &conformance.Report{
		StartedAt: time.Now(),
		Target:    conformance.Target{Role: conformance.RoleClient, Transport: opts.Transport, Argv: p.Argv(), Tools: -1},
		Policy: conformance.Policy{
			Revisions: opts.Revisions, Repeat: opts.Repeat, Strict: opts.Strict, Baselines: engine.BaselineFiles(opts.Expected),
			SideEffects: "none", Only: opts.Only, Skip: opts.Skip,
		},
	}}
	runs, err := s.introduce(ctx)
	if err != nil {
		return nil, err
	}
	for range opts.Repeat {
		for _, r := range runs {
			r.play(ctx)
			s.report.Revisions = append(s.report.Revisions, r.report)
		}
	}
	s.report.Duration = time.Since(s.report.StartedAt)
	engine.FoldAttempts(s.report)
	return s.report, cmp.Or(engine.Expect(s.report, opts.Expected, nil), ctx.Err())
}

// introduction names the first run, in its task and in results. Clients may know the word.
const introduction = "meet"

// spoken is the scenario that judges whether the client speaks the revision.
const spoken = "C-SPOKEN"

// introduce has the client make a first call in each revision. It returns the runs of the
// revisions that it speaks, or of all that were asked for.
func (s *suite) introduce(ctx context.Context) ([]*revisionRun, error) {
	revisions, asked := s.opts.Revisions, true
	if len(revisions) == 0 {
		revisions, asked = []mcp.Version{mcp.Latest, mcp.LatestSession}, false
	}
	var runs []*revisionRun
	sent := false
	var last *trial.Run
	for i := 0; i < len(revisions); i++ {
		v := revisions[i]
		setting := &trial.Setting{
			Program: s.program, Transport: s.opts.Transport, Revision: v, Timeout: s.opts.Timeout, Bridge: s.opts.Bridge, Login: s.opts.Login, Asked: asked,
		}
		last = trial.NewRun(ctx, setting, introduction)
		last.Do(trial.ListTools(), trial.Call("echo", `{"text":"hello"}`))
		if last.Err != nil {
			return nil, s.unreachable(last, fmt.Errorf("the client could not be started: %w", last.Err))
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		sent = sent || len(last.Tape.Messages()) > 0
		r := &revisionRun{
			suite: s, setting: setting, report: conformance.RevisionReport{Revision: v, Tools: -1},
			first: &trial.Trial{Run: last, Scenario: &trial.Scenario{ID: introduction}},
		}
		r.learn(last)
		if last.Speaks() || asked {
			runs = append(runs, r)
		} else if older, known := mcp.ParseVersion(last.Offered()); known && v == mcp.LatestSession && older != v && s.opts.serves(older) == nil {
			revisions = append(revisions, older) // the newest that it speaks
		}
	}
	if !sent {
		return nil, s.unreachable(last, errors.New("the client sent nothing to the server it was given"+last.Fate()))
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("the client speaks none of %v; name the revision to judge it in", revisions)
	}
	return runs, nil
}

// unreachable is the error of a client that cannot be judged.
func (s *suite) unreachable(r *trial.Run, err error) error {
	const shown = 4 << 10 // of its standard error
	return &conformance.UnreachableError{Target: s.report.Target, Stderr: r.Stderr[max(0, len(r.Stderr)-shown):], Exit: -1, Err: err}
}

// revisionRun is the part of a run that judges one revision.
type revisionRun struct {
	*suite
	setting *trial.Setting
	report  conformance.RevisionReport
	// first is the introduction. Passive scenarios judge it, too.
	first *trial.Trial
}

// learn takes what the client says about itself from its first run.
func (r *revisionRun) learn(run *trial.Run) {
	r.setting.Reports = len(run.Lines) > 0
	for _, m := range run.Tape.Messages() {
		info, capabilities := m.Param("clientInfo"), m.Param("capabilities")
		if r.setting.Stateless() {
			info, capabilities = m.Param("_meta", mcp.MetaClientInfo), m.Param("_meta", mcp.MetaClientCapabilities)
		}
		if info != nil && r.report.Name == "" {
			r.report.Name, r.report.Version, r.report.Capabilities = rawjson.Text(peer.At(info, "name")), rawjson.Text(peer.At(info, "version")), capabilities
		}
	}
	if t := &r.suite.report.Target; t.Name == "" {
		t.Name, t.Version, t.Revision, t.Capabilities = r.report.Name, r.report.Version, string(r.setting.Revision), r.report.Capabilities
	}
}

// play runs every scenario: the passive ones after the others.
func (r *revisionRun) play(ctx context.Context) {
	all := client.Scenarios()
	trials := make([]*trial.Trial, len(all))
	var passive []*trial.Trial
	var jobs sync.WaitGroup
	slots := make(chan struct{}, r.opts.Parallel)
	triedLogin := false
	other := r.first.Unspoken()
	held := r.setting.Asked && (other != "" || r.first.OldOffer() != "")
	for i := range all {
		t := trial.New(r.setting, &all[i])
		trials[i] = t
		// What keeps the client from the revision that was asked for is said whatever the
		// options select.
		always := held && all[i].ID == spoken
		if !t.Gate(func(id string) bool { return always || r.opts.selects(t.Scenario, id) }) {
			continue
		}
		if other != "" && !always {
			t.Block("the client does not speak " + string(r.setting.Revision) + ": " + other)
			r.emit(t)
			continue
		}
		if all[i].Play == nil {
			passive = append(passive, t)
			continue
		}
		if all[i].Area == authorization.Area && !triedLogin {
			triedLogin = true
			r.setting.NoLogin = authorization.NoLogin(ctx, r.setting)
		}
		slots <- struct{}{}
		jobs.Go(func() {
			defer func() { <-slots }()
			t.Play(ctx)
			r.emit(t)
		})
	}
	jobs.Wait()
	for _, t := range passive {
		t.Judge(ctx, r.seenBy(t, trials))
		r.emit(t)
	}
	for _, t := range trials {
		r.suite.report.Results = append(r.suite.report.Results, t.Results...)
	}
}

// seenBy returns the trials that a passive scenario judges. Logins are separate, because a
// client sends refused requests again, with the same id.
func (r *revisionRun) seenBy(t *trial.Trial, trials []*trial.Trial) []*trial.Trial {
	isLogin := func(t *trial.Trial) bool { return t.Scenario.Area == authorization.Area }
	out := slices.DeleteFunc(slices.Clone(trials), func(other *trial.Trial) bool { return isLogin(other) != isLogin(t) })
	if isLogin(t) {
		return out
	}
	return append([]*trial.Trial{r.first}, out...)
}

// emit calls OnResult.
func (r *revisionRun) emit(t *trial.Trial) {
	if r.opts.OnResult == nil {
		return
	}
	r.results.Lock()
	defer r.results.Unlock()
	for _, result := range t.Results {
		if result.Reason != conformance.SkipExcluded {
			r.opts.OnResult(result)
		}
	}
}
