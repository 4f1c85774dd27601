// Package authorization judges how a client logs in. Each scenario starts the client with a
// server and authorization servers of package guarded, which are correct, odd or hostile.
package authorization

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/checks/client/authorization/internal/guarded"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
)

// Area is the area of all scenarios here.
const Area = "auth"

// login is one start of the client.
type login struct {
	id string
	// arrange changes the world, and says how the client should log in.
	arrange func(w *guarded.World, way *trial.Login)
	// judge decides the checks.
	judge func(v *view)
	// tools are the tools that the client calls, one after another; empty is echo.
	tools []string
	// times makes the last call that often at once, 0 is once.
	times int
	// limit is the timeout of connect and of each call, 0 leaves it to the client.
	limit time.Duration
}

// all returns the logins of every file.
func all() []login {
	return slices.Concat(basics(), challenges(), discoveries(), networks(), privateHosts(), responses(), issuers(), tokens(), sessions(), refusedTokens(), scopes(), clients(), programs())
}

// Scenarios returns the scenarios of the area auth.
func Scenarios() []trial.Scenario {
	out := []trial.Scenario{{ID: "C-LOGIN-OUTPUT", Judge: judgeOutput}, {ID: "C-TWO-SERVERS", Play: playTwoServers}, {ID: "C-ONE-ISSUER", Play: playOneIssuer}}
	for _, l := range all() {
		out = append(out, trial.Scenario{ID: l.id, Play: l.play})
	}
	return out
}

// calling sets the tools.
func (l login) calling(tools ...string) login {
	l.tools = tools
	return l
}

// patience is the timeout of a call that waits for a login in vain: the client must ignore
// the answer that it gets.
const patience = 3 * time.Second

// bounded gives connect and each call a timeout.
func (l login) bounded() login {
	l.limit = patience
	return l
}

// play runs the login and judges it.
func (l *login) play(t *trial.Trial) {
	if t.NoLogin != "" {
		t.SkipAll(t.NoLogin)
		return
	}
	w := l.run(t.Run)
	if w == nil || slices.ContainsFunc(t.Lines, func(l trial.Line) bool { return l.Outcome == trial.OutcomeUnsupported }) {
		return
	}
	v := newView(t, w, max(len(l.tools), 1))
	t.View = v
	if t.Needs(len(v.Messages()) > 0, "the client sent nothing") {
		l.judge(v)
	}
}

// NoLogin says why logins are not judged: "" if the client tries to log in.
func NoLogin(ctx context.Context, s *trial.Setting) string {
	if !s.Reports && !s.Login {
		return "the client does not report, so it may open a browser; --login says that it opens login pages itself"
	}
	first := basics()[0]
	w := first.run(trial.NewRun(ctx, s, first.id))
	if w == nil || len(w.All(func(r *guarded.Request) bool { return r.Path != guarded.Endpoint })) > 0 {
		return "" // where there is no world, each scenario reports it
	}
	return "the client does not try to log in"
}

// run has the client log in and call tools. It returns the world, nil if there is none.
func (l *login) run(r *trial.Run) *guarded.World {
	arranged := make(chan struct{})
	w := openWorld(r, r.Tape, r.Peer, arranged)
	if w == nil {
		return nil
	}
	defer w.Close()
	r.Login, r.URL = &trial.Login{}, w.Base+peer.Endpoint
	if l.arrange != nil {
		l.arrange(w, r.Login)
	}
	close(arranged)
	r.DoExactly(l.steps()...)
	return w
}

// openWorld starts a world with that server, nil if there is none. The world may be changed until
// arranged is closed: then it answers.
func openWorld(r *trial.Run, tape *peer.Tape, server *peer.Peer, arranged <-chan struct{}) *guarded.World {
	w, err := guarded.New(guarded.Places{Private: r.Program.Network().Private, Serve: func(h http.Handler) (string, func(), error) {
		s, err := peer.ListenHTTP(r.Program.Network(), http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
			<-arranged
			h.ServeHTTP(out, in)
		}))
		if err != nil {
			return "", nil, err
		}
		return strings.TrimSuffix(s.URL, peer.Endpoint), s.Close, nil
	}})
	if err != nil {
		r.Err = err
		return nil
	}
	w.MCP = peer.Taped(tape, w.Guard(server))
	w.Log = func(q *guarded.Request) { tape.Elsewhere(q.Method, q.Host+" "+q.Path, q.Header, q.Body) }
	return w
}

func (l *login) steps() []trial.Step {
	steps := []trial.Step{trial.Within(l.limit, trial.Step{Call: trial.Connect})}
	tools := l.tools
	if len(tools) == 0 {
		tools = []string{"echo"}
	}
	for _, tool := range tools {
		steps = append(steps, trial.Within(l.limit, trial.Call(tool, `{"text":"in"}`)))
	}
	steps[len(steps)-1].Times = l.times
	return append(steps, trial.Step{Call: trial.Close})
}

// view is what a login did.
type view struct {
	*guarded.World
	*trial.Trial
	// outcomes are what the client reported of its calls, "" where it did not. hasLines: it
	// reported anything. exited: it was not killed.
	outcomes         []string
	hasLines, exited bool
	// output is its standard output and error.
	output string
}

func newView(t *trial.Trial, w *guarded.World, calls int) *view {
	v := &view{World: w, Trial: t, hasLines: len(t.Lines) > 0, exited: t.Ended != 0, output: t.Printed.String() + t.Stderr}
	for i := range calls {
		outcome := ""
		for _, l := range t.Step(i) {
			if outcome = string(l.Outcome); l.Outcome != trial.OutcomeResult {
				break // of several, the one that failed
			}
		}
		v.outcomes = append(v.outcomes, outcome)
	}
	return v
}

// Unknown makes the checks that are left inconclusive.
func (v *view) Unknown(because string) { v.Trial.Needs(false, because) }

// Logins are the authorization requests.
func (v *view) Logins() []*guarded.Request {
	return v.All(func(r *guarded.Request) bool { return r.Path == "/authorize" })
}

// hasLogin reports whether there is an authorization request. If not, the checks that are
// left are inconclusive.
func (v *view) hasLogin() bool { return v.Trial.Needs(len(v.Logins()) > 0, "no login began") }

// Tokens are the token requests with a grant type; "" is any.
func (v *view) Tokens(grant string) []*guarded.Request {
	return v.All(func(r *guarded.Request) bool {
		return r.Path == "/token" && r.Method == http.MethodPost && (grant == "" || r.Form.Get("grant_type") == grant)
	})
}

// Messages are the POSTs to the MCP endpoint.
func (v *view) Messages() []*guarded.Request {
	return v.All(func(r *guarded.Request) bool {
		return r.Host == guarded.Resource && r.Path == guarded.Endpoint && r.Method == http.MethodPost
	})
}

// called reports whether a tool was called. If not, the checks that are left are
// inconclusive.
func (v *view) called(tool string) bool {
	return v.Trial.Needs(len(v.World.Calls(tool)) > 0, tool+" was not called")
}

// result reports whether the ith call got its result, as far as the client reports.
func (v *view) result(i int) bool { return v.outcome(i) == string(trial.OutcomeResult) || !v.hasLines }

// refused reports whether the first call got an error, as far as the client reports.
func (v *view) refused() bool { return v.failed(0) || !v.hasLines }

// served decides a check: the ith call got its result, and the server accepted it once.
func (v *view) served(id string, i int) {
	passed := 0
	for _, r := range v.World.Calls(toolNames[i]) {
		if !r.Refused() {
			passed++
		}
	}
	v.Check(id, passed == 1 && v.result(i), "one call with a valid token, and its result", fmt.Sprintf("%d such calls%s", passed, v.said(i)))
}

// failed reports whether the ith call got an error, in time.
func (v *view) failed(i int) bool {
	switch v.outcome(i) {
	case "result", "tool-error":
		return false
	case "":
		return !v.hasLines && v.exited
	}
	return v.exited
}

// toldError decides a check: the first call got an error.
func (v *view) toldError(id string) {
	if !v.hasLines && v.exited {
		v.Skip(id, "the client reports no outcomes")
		return
	}
	v.Check(id, v.failed(0), "an error", "no error"+v.said(0))
}

// noLogin decides a check: no login began.
func (v *view) noLogin(id string) {
	n := len(v.Logins())
	v.Check(id, n == 0, "no authorization request", count(n, "authorization request"))
}

// noCode decides a check: no code was exchanged, although a login began.
func (v *view) noCode(id string) {
	if v.hasLogin() {
		n := len(v.Tokens("authorization_code"))
		v.Check(id, n == 0, "no token request", count(n, "token request"))
	}
}

func (v *view) outcome(i int) string {
	if i >= len(v.outcomes) {
		return ""
	}
	return v.outcomes[i]
}

// toolNames are the tools in the order in which every scenario calls them.
var toolNames = []string{"echo", "write"}

// said is what the client reported of the ith call, and whether it was killed.
func (v *view) said(i int) string {
	out := ", no report"
	if outcome := v.outcome(i); outcome != "" {
		out = ", reported " + outcome
	}
	if !v.exited {
		out += "; it had to be killed"
	}
	return out
}

func count(n int, what string) string {
	if n == 1 {
		return "one " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func names(all []string) string {
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

func newLogin(id string, arrange func(*guarded.World, *trial.Login), judge func(*view)) login {
	return login{id: id, arrange: arrange, judge: judge}
}
