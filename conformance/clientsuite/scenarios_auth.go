package clientsuite

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/clientsuite/internal/guarded"
	"github.com/mainstay-mcp/mainstay/conformance/clientsuite/internal/login"
)

const authArea = login.Area

// authScenarios are those of package login, which has worlds instead of a peer.
func authScenarios() []scenario {
	var out []scenario
	for _, sc := range login.Scenarios() {
		one := scenario{id: sc.ID, area: sc.Area, title: sc.Title, since: sc.Since, until: sc.Until, transport: conformance.TransportHTTP}
		for _, c := range sc.Checks {
			one.checks = append(one.checks, check{Check: c, modern: login.Modern(c.Spec)})
		}
		if sc.Judge == nil {
			one.seen = seenLogins
		} else {
			one.play = func(t *trial) { t.playLogin(&sc) }
		}
		out = append(out, one)
	}
	return out
}

// triesLogin reports why a client is not judged here: "" if it tries to log in.
func (l *revisionRun) triesLogin(ctx context.Context) string {
	if !l.tells && !l.opts.Login {
		return "the client does not report, so it may open a browser; --login says that it opens login pages itself"
	}
	all := login.Scenarios()
	first := all[slices.IndexFunc(all, func(sc login.Scenario) bool { return sc.ID == login.First })]
	r := newRun(ctx, l)
	r.name = login.First
	v := r.logIn(&first)
	if v == nil || len(v.All(func(r *guarded.Request) bool { return r.Path != guarded.Endpoint })) > 0 {
		return "" // where the world could not be made, each scenario says so
	}
	return "the client does not try to log in"
}

// playLogin runs a scenario of package login.
func (t *trial) playLogin(sc *login.Scenario) {
	if t.rev.noLogin != "" {
		for _, c := range sc.Checks {
			t.skip(c.ID, conformance.SkipNotDeclared, t.rev.noLogin)
		}
		return
	}
	v := t.logIn(sc)
	if v == nil || slices.ContainsFunc(t.lines, func(l Line) bool { return l.Outcome == OutcomeUnsupported }) {
		return
	}
	t.seenLogin = v
	t.hears(v)
	if t.needs(len(v.Messages()) > 0, "the client sent nothing") {
		sc.Judge(v)
	}
}

// hears lets a view decide the checks of the trial.
func (t *trial) hears(v *login.View) {
	v.Check = func(id string, ok bool, expected, actual string) { t.check(id, ok, expected, "%s", actual) }
	v.Skip = func(id, because string) { t.skip(id, conformance.SkipNotDeclared, because) }
	v.Unknown = func(because string) { t.needs(false, because) }
}

// seenLogins judges the scenario that looks at all others.
func seenLogins(t *trial, all []*trial) {
	if t.rev.noLogin != "" {
		for _, c := range t.scenario.checks {
			t.skip(c.ID, conformance.SkipNotDeclared, t.rev.noLogin)
		}
		return
	}
	var views []*login.View
	for _, other := range all {
		if other.seenLogin != nil {
			views = append(views, other.seenLogin)
		}
	}
	v := &login.View{}
	t.hears(v)
	login.JudgeAll(v, views)
}

// logIn has the client do its steps before a world, nil if there is none.
func (r *run) logIn(sc *login.Scenario) *login.View {
	arranged := make(chan struct{})
	w, err := guarded.New(guarded.Places{Private: r.rev.program.network().private, Serve: func(h http.Handler) (string, func(), error) {
		s, err := stageHTTP(r.rev.program.network(), http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
			<-arranged // the world changes until then
			h.ServeHTTP(out, in)
		}))
		if err != nil {
			return "", nil, err
		}
		return strings.TrimSuffix(s.url, endpoint), s.close, nil
	}})
	if err != nil {
		r.err = err
		return nil
	}
	defer w.Close()
	w.MCP = taped(r.tape, w.Guard(r.peer))
	w.Log = func(q *guarded.Request) { r.tape.besides(q.Method, q.Host+" "+q.Path, q.Header, q.Body) }
	var way login.Way
	if sc.Arrange != nil {
		sc.Arrange(w, &way)
	}
	close(arranged)
	told := Login(way)
	r.login, r.staged = &told, &stage{url: w.Base + endpoint, close: func() {}}
	steps := []Step{Step{Call: stepConnect}.within(sc.Limit)}
	for i, tool := range sc.Tools {
		step := call(tool, `{"text":"in"}`).within(sc.Limit)
		if i == len(sc.Tools)-1 {
			step.Times = sc.Times
		}
		steps = append(steps, step)
	}
	r.doExactly(append(steps, Step{Call: stepClose})...)
	v := &login.View{World: w, Revision: r.rev.revision, Tells: len(r.lines) > 0, Ended: r.over != 0, Printed: r.printed.String() + r.stderr}
	for i := range sc.Tools {
		outcome := ""
		for _, l := range r.reported(i) {
			if outcome = string(l.Outcome); l.Outcome != OutcomeResult {
				break // of several, the one that went wrong
			}
		}
		v.Outcomes = append(v.Outcomes, outcome)
	}
	return v
}
