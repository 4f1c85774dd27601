package trial

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/faults"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Setting is what all runs against one revision share.
type Setting struct {
	Program   Program
	Transport conformance.TransportKind
	Revision  mcp.Version
	// Timeout bounds one run of the client.
	Timeout time.Duration
	// Bridge is the command of the bridge, for stdio.
	Bridge []string
	// Login: the client opens login pages itself, even if it prints no lines.
	Login bool
	// Asked: the options name the revision, so the client must offer it.
	Asked bool
	// Reports: the client prints lines.
	Reports bool
	// NoLogin says why logins are not judged, "" if they are.
	NoLogin string
}

// Stateless reports whether the revision has no sessions.
func (s *Setting) Stateless() bool { return s.Revision.Era() == mcp.EraStateless }

// OverHTTP reports whether the transport is HTTP.
func (s *Setting) OverHTTP() bool { return s.Transport == conformance.TransportHTTP }

// Run is one run of the client: its task, its server and the result.
type Run struct {
	*Setting
	// Name is the scenario in the task.
	Name string
	Peer *peer.Peer
	Tape *peer.Tape
	// Proxy is before the server when a scenario sets it.
	Proxy *faults.Proxy
	// Stubborn: a server process ends neither at the end of stdin nor by a signal.
	// Started is called with each process.
	Stubborn bool
	Started  func(*peer.Process)
	Answers  Answers
	// Negotiate lets the client find the era of the server, Tasks asks for the tasks
	// extension.
	Negotiate, Tasks bool
	// Login is how to log in, and URL the server, where a scenario has its own.
	Login *Login
	URL   string
	// Printed is the end of the standard output of the program.
	Printed *wire.Log
	// Lines are what the client reported.
	Lines []Line
	// Ended is the position on the tape where the program ended itself; 0 if it was
	// killed.
	Ended int
	// Left is how many server processes it left running.
	Left   int
	Stderr string
	// Err says why the program could not be started.
	Err error

	ctx     context.Context //nolint:containedctx // of the scenario
	task    Task
	failure string // how the program ended, if not well
}

// NewRun returns a run with a correct server.
func NewRun(ctx context.Context, s *Setting, name string) *Run {
	t := peer.NewTape()
	return &Run{Setting: s, Name: name, ctx: ctx, Tape: t, Printed: wire.NewLog(nil), Peer: peer.New(s.Revision, t)}
}

// On replaces the default answer to a method.
func (r *Run) On(method string, h func(x *peer.Exchange)) { r.Peer.Handlers[method] = h }

// Do runs the client with these steps, between connect and close.
func (r *Run) Do(steps ...Step) {
	r.DoExactly(slices.Concat([]Step{{Call: Connect}}, steps, []Step{{Call: Close}})...)
}

// DoExactly runs the client with these steps only.
func (r *Run) DoExactly(steps ...Step) {
	listener, stdio, err := r.listen()
	if err != nil {
		r.Err = err
		return
	}
	defer listener.Close()
	r.task = Task{
		Scenario: r.Name, Revision: r.Revision, Negotiate: r.Negotiate, Tasks: r.Tasks, Transport: string(r.Transport), Login: r.Login,
		URL: listener.URL, Command: listener.Command, Answers: r.Answers, Steps: steps,
	}
	report := &Reporter{}
	p, err := r.Program.Start(r.ctx, r.task, io.MultiWriter(report, r.Printed))
	if err != nil {
		r.Err = err
		return
	}
	limit := time.NewTimer(r.Timeout)
	defer limit.Stop()
	select {
	case <-p.Done():
		r.Ended = max(r.Tape.Now(), 1) // not 0, even if it sent nothing
	case <-limit.C:
	case <-r.ctx.Done():
	}
	if stdio != nil && r.Ended != 0 {
		r.Left = stdio.Remaining(r.ctx)
	}
	r.Lines = report.Lines()
	p.Kill() // also what it left running
	<-p.Done()
	r.failure, r.Stderr = p.Failure(), p.Stderr()
}

// listen starts the server.
func (r *Run) listen() (*peer.Listener, *peer.Stdio, error) {
	if r.URL != "" {
		return &peer.Listener{URL: r.URL, Close: func() {}}, nil, nil
	}
	n := r.Program.Network()
	if r.OverHTTP() {
		var h http.Handler = r.Peer
		if r.Proxy != nil {
			h = r.Proxy.Handler(h)
		}
		l, err := peer.ListenHTTP(n, peer.Taped(r.Tape, h))
		return l, nil, err
	}
	stdio := &peer.Stdio{Peer: r.Peer, Proxy: r.Proxy, Stubborn: r.Stubborn, Started: r.Started}
	l, err := peer.ListenStdio(r.ctx, n, r.Bridge, stdio)
	return l, stdio, err
}

// Elsewhere starts another server on the network. It returns its URL, a function that
// returns the last request to it, and one that closes it. The URL is "" on failure.
func (r *Run) Elsewhere() (url string, asked func() string, stop func()) {
	var mu sync.Mutex
	last := ""
	l, err := peer.ListenHTTP(r.Program.Network(), http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		last = in.Method + " " + in.URL.Path
		w.WriteHeader(http.StatusNotFound)
	}))
	if err != nil {
		r.Err = err
		return "", nil, nil
	}
	return l.URL, func() string {
		mu.Lock()
		defer mu.Unlock()
		return last
	}, l.Close
}

// Fate says in parentheses how the program ended, "" if it ended well.
func (r *Run) Fate() string { return parenthesize(r.endings()) }

// fateAndWords is Fate with the last words of the program.
func (r *Run) fateAndWords() string {
	parts := r.endings()
	if said := lastWords(r.Stderr); said != "" {
		parts = append(parts, "it printed: "+said)
	}
	return parenthesize(parts)
}

func parenthesize(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

func (r *Run) endings() []string {
	var parts []string
	switch {
	case r.Err != nil:
		parts = append(parts, "it could not be started: "+r.Err.Error())
	case r.Ended == 0 && len(r.task.Steps) > 0:
		parts = append(parts, "it had to be killed")
	}
	if r.failure != "" && r.Ended != 0 {
		parts = append(parts, r.failure)
	}
	return parts
}

// withQuery is a URL with a query. A query explains nothing, and that of a login is long.
var withQuery = lazyregexp.New(`(https?://[^\s?]+)\?\S+`)

// lastWords returns the last line of a program's standard error that is more than a URL.
// URLs are cut before their query.
func lastWords(stderr string) string {
	for _, line := range slices.Backward(strings.Split(stderr, "\n")) {
		said := strings.TrimSpace(withQuery.ReplaceAllString(line, "$1"))
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

// longestWords bounds the output of a program in a reason, in characters.
const longestWords = 160
