// Package answer answers the questions of servers while a command runs: forms, pages to open,
// messages of a model, and the folders that they may look at.
//
// The person at the terminal answers, or the flags do. What neither answers ends the run with exit
// code 9 after everything else was printed; the error names the flag that would have answered.
package answer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Flags are the flags of commands that servers may ask something.
type Flags struct {
	given   []string
	sampler string
	roots   []string
}

// Register adds the flags to a set.
func (f *Flags) Register(set *pflag.FlagSet) {
	flags.Texts(set, &f.given, "answer", "answer `k=v` to a form of the server, typed by the form; @FILE as for arguments (repeatable)")
	set.StringVar(&f.sampler, "sampler", "", "`command` that writes what the server asks of a model: it reads the request as JSON and prints the text, or the result as JSON")
	flags.Texts(set, &f.roots, "root", "`folder` that the server may look at (repeatable)")
}

// Answers answers the questions of one run, one after another.
type Answers struct {
	console  *console.Console
	asks     bool
	operands []operand.Operand
	sampler  string
	roots    []mcp.Root
	// status is the line that a question interrupts.
	status *console.Status

	turn chan struct{} // holds a token while a question is answered
	mu   sync.Mutex
	used map[string]bool // names of operands
	open []question
}

// question is one that nobody answered.
type question struct {
	message string
	// facts describe it, and flags are what would answer it.
	facts []failure.Fact
	flags []string
}

// New reads the flags. asks is set if a person may be asked at the terminal. Its errors are those
// of a wrong command line.
func (f *Flags) New(c *console.Console, asks bool, files *operand.Files) (*Answers, error) {
	a := &Answers{console: c, asks: asks && c.Asks(), sampler: f.sampler, turn: make(chan struct{}, 1), used: map[string]bool{}}
	for _, text := range f.given {
		op, err := operand.Parse(text, files)
		if err != nil {
			return nil, failure.Usage("--answer %v", err)
		}
		a.operands = append(a.operands, op)
	}
	for _, folder := range f.roots {
		root, err := rootOf(folder)
		if err != nil {
			return nil, failure.Usage("--root %s: %s", folder, failure.RootCause(err))
		}
		a.roots = append(a.roots, root)
	}
	return a, nil
}

// Shares reports whether there are roots to share.
func (a *Answers) Shares() bool { return a != nil && a.roots != nil }

// Interrupts sets the status line that questions interrupt.
func (a *Answers) Interrupts(s *console.Status) { a.status = s }

// Options declare what this run can answer, and that it follows tasks.
func (a *Answers) Options() []client.Option {
	opts := []client.Option{client.OnElicitForm(a.form), client.OnElicitURL(a.page), client.WithTasks()}
	if a.sampler != "" {
		opts = append(opts, client.OnSampling(a.sample))
	}
	if a.roots != nil {
		opts = append(opts, client.WithRoots(a.roots...))
	}
	return opts
}

// Everything declares all that mcpctl could answer with the right flags, so that a server hides no
// tool from a list. What the server asks nevertheless is refused.
func Everything() []client.Option {
	return []client.Option{
		client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) { return nil, client.ErrRejected }),
		client.OnElicitURL(func(context.Context, client.URLRequest) (mcp.ElicitAction, error) { return "", client.ErrRejected }),
		client.OnSampling(func(context.Context, client.SamplingRequest) (*mcp.CreateMessageResult, error) {
			return nil, client.ErrRejected
		}),
		client.WithRoots(),
		client.WithTasks(),
	}
}

// begin waits for the end of the question before, and holds the status line. The caller calls end.
func (a *Answers) begin(ctx context.Context) (end func(), err error) {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	goOn := func() {}
	if a.status != nil {
		goOn = a.status.Pause()
	}
	return func() { goOn(); <-a.turn }, nil
}

// unanswered records a question that nobody answers. The server learns that it was cancelled.
func (a *Answers) unanswered(q question, params any) {
	if a.console.Format == console.NDJSON {
		if raw, err := mcp.Marshal(params); err == nil {
			_ = a.console.PrintEvent("input_required", raw) // Lost reports a broken pipe
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open = append(a.open, q)
}

// Missing returns the failure of a run in which questions were not answered, nil if there were
// none. delivery is that of the request of the command.
func (a *Answers) Missing(delivery mcperrors.Delivery) *failure.Failure {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.open) == 0 {
		return nil
	}
	q := a.open[0]
	f := failure.New(failure.KindInputRequired, delivery, "the server asked for something that nobody answered")
	if len(a.open) > 1 {
		f.Message = fmt.Sprintf("the server asked for %d things that nobody answered; the first one was", len(a.open))
	}
	f.Add("question", "%s", console.OneLine(q.message))
	f.Evidence = append(f.Evidence, q.facts...)
	if len(q.flags) > 0 {
		f.Try = append(f.Try, "the same command with "+strings.Join(q.flags, " "))
	}
	return f
}

// Unused returns the names of answers that no question asked for.
func (a *Answers) Unused() []string {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var names []string
	for _, op := range a.operands {
		if name := op.Name(); !a.used[name] && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
