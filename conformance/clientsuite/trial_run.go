package clientsuite

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/faults"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// run is the client doing one task before its server, and what came of it.
type run struct {
	rev *revisionRun
	// name is that of the scenario, empty for the first call.
	name string
	ctx  context.Context //nolint:containedctx // of the scenario
	peer *peer
	tape *tape
	// proxy stands before the server when a scenario sets it.
	proxy *faults.Proxy
	// stubborn is a server process that does not end when it should; started is
	// called with each process.
	stubborn bool
	started  func(*process)
	answers  Answers
	// negotiate leaves it to the client to find out what the server speaks, tasks
	// asks for the extension of that name.
	negotiate, tasks bool

	// login is how to log in, and staged the server, where a scenario has made it.
	login  *Login
	staged *stage
	// printed is the end of all that the program wrote to its standard output.
	printed tail

	task  Task
	lines []Line
	// over is the place on the tape where the program had ended by itself; 0 when
	// it had to be killed.
	over int
	// left is how many server processes were left when it had ended.
	left   int
	failed string // how the program ended, when not well
	stderr string
	err    error // it could not be started
}

func newRun(ctx context.Context, l *revisionRun) *run {
	t := newTape()
	return &run{rev: l, ctx: ctx, tape: t, peer: newPeer(l.revision, t)}
}

// on has h answer a method in the place of the good server.
func (r *run) on(method string, h func(x *exchange)) { r.peer.handlers[method] = h }

// do has the client do these steps, between connect and close, and returns when
// it has ended.
func (r *run) do(steps ...Step) {
	r.doExactly(slices.Concat([]Step{{Call: stepConnect}}, steps, []Step{{Call: stepClose}})...)
}

const (
	stepConnect = "connect"
	stepClose   = "close"
)

// doExactly is do with these steps and no others.
func (r *run) doExactly(steps ...Step) {
	stage, stdio, err := r.open()
	if err != nil {
		r.err = err
		return
	}
	defer stage.close()
	r.task = Task{
		Scenario: r.rev.playing(r), Revision: r.rev.revision, Negotiate: r.negotiate, Tasks: r.tasks, Transport: r.rev.opts.Transport, Login: r.login, URL: stage.url,
		Command: stage.command, Answers: r.answers, Steps: steps,
	}
	report := &reporter{}
	program, err := r.rev.program.start(r.ctx, invocation{task: r.task, lines: io.MultiWriter(report, &r.printed)})
	if err != nil {
		r.err = err
		return
	}
	limit := time.NewTimer(r.rev.opts.Timeout)
	defer limit.Stop()
	select {
	case <-program.done():
		r.over = max(r.tape.now(), 1) // not 0 where it sent nothing, either
	case <-limit.C:
	case <-r.ctx.Done():
	}
	if stdio != nil && r.over != 0 {
		r.left = stdio.remaining(r.ctx)
	}
	r.lines = report.lines()
	program.kill() // what it may have left behind, too
	<-program.done()
	r.failed, r.stderr = program.ended(), program.stderr()
}

// open brings the server up.
func (r *run) open() (*stage, *stdioStage, error) {
	if r.staged != nil {
		return r.staged, nil, nil
	}
	n := r.rev.program.network()
	if r.rev.opts.Transport == conformance.TransportHTTP {
		var h http.Handler = r.peer
		if r.proxy != nil {
			h = r.proxy.Handler(h)
		}
		s, err := stageHTTP(n, taped(r.tape, h))
		return s, nil, err
	}
	stdio := &stdioStage{p: r.peer, proxy: r.proxy, token: rand.Text(), stubborn: r.stubborn, started: r.started}
	s, err := stageStdio(r.ctx, n, r.rev.opts.Bridge, stdio)
	return s, stdio, err
}

// reported are the lines of a step of the scenario, connect not counted.
func (r *run) reported(i int) []Line {
	var out []Line
	for _, l := range r.lines {
		if l.Step == i+1 {
			out = append(out, l)
		}
	}
	return out
}

// how says how the program ended, for what could not be established.
func (r *run) how() string {
	parts := r.ending()
	if said := lastWords(r.stderr); said != "" {
		parts = append(parts, "it says: "+said)
	}
	return aside(parts)
}

// withQuery is a URL with a query, which explains nothing and is long in a login.
var withQuery = regexp.MustCompile(`(https?://[^\s?]+)\?\S+`)

// lastWords returns the last line of a program's standard error that is more than the
// address of a page, with addresses cut before their query.
func lastWords(stderr string) string {
	lines := strings.Split(stderr, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		said := strings.TrimSpace(withQuery.ReplaceAllString(lines[i], "$1"))
		if said == "" || (!strings.Contains(said, " ") && strings.Contains(said, "://")) {
			continue
		}
		if words := []rune(said); len(words) > longestWords {
			return string(words[:longestWords]) + "…"
		}
		return said
	}
	return ""
}

// longestWords bounds what a reason repeats of a program's output, in characters.
const longestWords = 160

// fate is how without what the program said.
func (r *run) fate() string { return aside(r.ending()) }

func aside(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// ending says how the program ended, when not well.
func (r *run) ending() []string {
	var parts []string
	switch {
	case r.err != nil:
		parts = append(parts, "it could not be started: "+r.err.Error())
	case r.over == 0 && len(r.task.Steps) > 0:
		parts = append(parts, "it had to be killed")
	}
	if r.failed != "" && r.over != 0 {
		parts = append(parts, r.failed)
	}
	return parts
}

func (r *run) evidence() []conformance.Frame { return r.tape.evidence() }

// sent are the messages of a method, in order.
func (r *run) sent(method string) []*message {
	var out []*message
	for _, m := range r.tape.all() {
		if m.method() == method {
			out = append(out, m)
		}
	}
	return out
}

// calls are the tools/call requests of a tool.
func (r *run) calls(tool string) []*message {
	return slices.DeleteFunc(r.sent("tools/call"), func(m *message) bool { return text(m.param("name")) != tool })
}

// answersTo are what the client answered the server's request of that id, JSON.
func (r *run) answersTo(id string) []*message {
	var out []*message
	for _, m := range r.tape.all() {
		if m.isResponse() && m.id() == id {
			out = append(out, m)
		}
	}
	return out
}

// reporter reads the lines of a program. Safe for concurrent use.
type reporter struct {
	mu   sync.Mutex
	rest []byte
	got  []Line
}

const maxLine = 16 << 20

// Write implements [io.Writer].
func (p *reporter) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = append(p.rest, data...)
	for {
		i := bytes.IndexByte(p.rest, '\n')
		if i < 0 {
			break
		}
		p.take(p.rest[:i])
		p.rest = p.rest[i+1:]
	}
	if len(p.rest) > maxLine {
		p.rest = nil
	}
	return len(data), nil
}

// take must hold mu.
func (p *reporter) take(line []byte) {
	var l struct {
		Line
		Step *int `json:"step"`
	}
	if json.Unmarshal(line, &l) == nil && l.Step != nil && l.Outcome != "" {
		l.Line.Step = *l.Step
		p.got = append(p.got, l.Line)
	}
}

func (p *reporter) lines() []Line {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.take(p.rest)
	p.rest = nil
	return p.got
}

// call is a step that calls a tool with arguments, which are JSON.
func call(tool, arguments string) Step {
	return Step{Call: "tools/call", Name: tool, Arguments: json.RawMessage(arguments)}
}

// listTools is a step that walks the list of tools.
func listTools() Step { return Step{Call: mcp.MethodToolsList} }

// within bounds a step.
func (s Step) within(d time.Duration) Step {
	s.DeadlineMs = int(d.Milliseconds())
	return s
}

// textOf is the text of a result of a tool.
func textOf(l Line) string {
	var result struct {
		Content []struct{ Text string }
	}
	_ = json.Unmarshal(l.Result, &result) // no result: no text
	out := ""
	for _, c := range result.Content {
		out += c.Text
	}
	return out
}

// says accepts a line whose result has this text.
func says(want string) func(Line) bool {
	return func(l Line) bool { return l.Outcome == OutcomeResult && textOf(l) == want }
}

func wantsText(s string) string { return fmt.Sprintf("the result, with the text %q", s) }
