package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/explain"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

// New returns the command doctor. inspect finds out what a login at a server would do.
func New(x *explain.Explainer, inspect func(context.Context, target.Target) (Login, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor [SERVER]",
		Short: "Find out step by step why a server does not work, and what helps",
		Long: `Find out step by step why a server does not work, and what helps. It stops at the first
step that makes the next ones impossible, and calls no tool.

  a URL      proxy, name, TCP, TLS (chain, dates, names), HTTP or the login, era,
             handshake, each list, five round trips, a stream of news
  a program  the program, its variables, its start, what it prints on standard output,
             era, handshake, each list, five round trips, whether it stays and stops,
             and whether it leaves processes

Each step has a line: what was seen, and if that is not good, why it matters and what to
do. A server of a file of servers is looked for as in all commands.

Exit code: 0 no problems, though there may be warnings; 1 problems.`,
		Example: `  mcpctl doctor https://api.example.com/mcp
  mcpctl doctor -- npx -y @modelcontextprotocol/server-everything stdio
  mcpctl doctor github -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return (&diagnosis{x: x, inspect: inspect}).run(cmd, args)
		},
	}
	return cmd
}

// Login is what a login at a server would do. Without an issuer nothing describes one; Problem is why
// it would fail, "" if it would work.
type Login struct{ Issuer, Problem string }

// diagnosis is one run of the command.
type diagnosis struct {
	x       *explain.Explainer
	inspect func(context.Context, target.Target) (Login, error)
	target  target.Target
	steps   []Step

	mu sync.Mutex // of what is seen of the traffic
	// began is when the program was started, first when it wrote its first byte, and where.
	began, first time.Time
	where        string
	noise        []string
	noises       int
	// post is the first good answer to a request, and get the answer to the last request for a
	// stream.
	post, get string
	streams   bool // get is an event stream
	stderr    []string
	// children are the processes below a program before its standard input is closed, left those
	// that are there after its exit.
	children, left []Process
	exited         time.Time
}

// add prints a step.
func (d *diagnosis) add(s Step) {
	d.steps = append(d.steps, s)
	c := d.x.Console
	if c.Format != console.Human {
		if c.Format == console.NDJSON {
			_ = c.PrintRaw(console.Encode(s)) // Lost reports a broken pipe
		}
		return
	}
	_ = c.Print(d.text(s)) // Lost reports a broken pipe
}

// text is a step for people.
func (d *diagnosis) text(s Step) string {
	c := d.x.Console
	marks, style, width := c.Marks(), c.OutStyle(), c.TextWidth()
	mark := map[Status]string{OK: marks.Good, Warning: marks.Warning, Problem: style.Bad(marks.Bad)}[s.Status]
	const hang = "                " // below what was seen
	var b strings.Builder
	lines := console.Wrap(hang+visible.Line(s.Seen), width, hang)
	fmt.Fprintf(&b, "  %s %-11s %s\n", mark, s.Step, lines[0][len(hang):])
	for _, line := range lines[1:] {
		b.WriteString(line + "\n")
	}
	if s.Why != "" {
		for _, line := range console.Wrap(hang+visible.Line(s.Why), width, hang) {
			b.WriteString(style.Dim(line) + "\n")
		}
	}
	for _, next := range s.Next {
		b.WriteString(strings.Join(console.Wrap(hang+marks.Arrow+" "+visible.Line(next), width, hang+"  "), "\n") + "\n")
	}
	return b.String()
}

func (d *diagnosis) run(cmd *cobra.Command, args []string) error {
	x := d.x
	t, rest, err := x.Server(target.NewLine(cmd, args))
	var unusable *target.Unusable
	switch {
	case errors.As(err, &unusable):
		f := unusable.Failure
		d.add(Step{Step: "entry", Status: Problem, Seen: f.Message, Why: "hosts do not start it either", Next: nextOf(f, "correct the entry in the file")})
		return d.end("")
	case err != nil:
		return err
	case len(rest) > 0:
		return failure.Usage("doctor takes only a server: unexpected operand %s", rest[0])
	}
	d.target = t
	if t.Argv != nil {
		err = d.program(cmd.Context())
	} else {
		err = d.url(cmd.Context())
	}
	if err != nil {
		return err
	}
	return d.end(x.Shown(t))
}

// nextOf is what a failure says to try, or else what follows.
func nextOf(f *failure.Failure, otherwise ...string) []string {
	if len(f.Try) > 0 {
		return f.Try
	}
	return otherwise
}

// url diagnoses a server at a URL.
func (d *diagnosis) url(ctx context.Context) error {
	d.x.WatchHTTP = func(rt http.RoundTripper) http.RoundTripper { return &answers{RoundTripper: rt, d: d} }
	if !Network(ctx, d.target.URL, d.x.Flags.TLS(), d.x.Flags.ConnectTimeout, time.Now(), d.add) {
		return interrupted(ctx)
	}
	return d.connect(ctx)
}

// interrupted is the error of a run that a person has ended, nil for others.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return failure.New(failure.KindInterrupted, mcperrors.Answered, "interrupted")
}

// placeholder is a variable that a shell or a host would have replaced.
var placeholder = lazyregexp.New(`\$\{[^}]*\}`)

// program diagnoses a server that is a program.
func (d *diagnosis) program(ctx context.Context) error {
	x, argv := d.x, d.target.Argv
	path, err := exec.LookPath(argv[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		f := failure.New(failure.KindUnreachable, mcperrors.NotSent, "the program %s cannot be started: %s", argv[0], failure.RootCause(err))
		x.Common(f, d.target, err)
		d.add(Step{Step: "program", Status: Problem, Seen: f.Message, Why: "nothing can be started", Next: nextOf(f, "install it, or give its whole path")})
		return nil
	}
	if whole, err := filepath.Abs(path); err == nil {
		path = whole
	}
	d.add(Good("program", path+", "+console.Count(len(argv)-1, "argument", "arguments")))
	words := slices.Clone(argv)
	if d.target.Entry != nil {
		words = append(words, d.target.Entry.Env...)
	}
	for _, word := range words {
		if name := placeholder.FindString(word); name != "" {
			d.add(Step{
				Step: "variables", Status: Warning, Seen: name + " is passed on as it is written", Why: "the program gets this text, and not a value",
				Next: []string{"write the value, or let your shell replace it"},
			})
		}
	}
	x.Watch = d.watch
	d.began = time.Now()
	return d.connect(ctx)
}

// connect goes on from the handshake. It returns an error for what is no finding about the server.
func (d *diagnosis) connect(ctx context.Context) error {
	x, run := d.x, ctx
	answered := false
	var stops time.Time
	err := x.With(ctx, d.target, func(ctx context.Context, c *connect.Connection) error {
		answered = true
		d.started(true)
		d.handshake(c)
		d.lists(ctx, c)
		d.latency(ctx, c)
		if d.target.Argv == nil {
			d.stream(ctx, c)
		} else {
			d.stays(c)
		}
		if x.Over() {
			d.add(Step{Step: "time", Status: Problem, Seen: "--max-time has passed: not everything was tried", Why: "the rest is unknown", Next: []string{"--max-time 30m"}})
		}
		children := Children()
		d.mu.Lock()
		d.children = children
		d.mu.Unlock()
		stops = time.Now()
		return interrupted(run)
	}, client.WithEraStore(nil)) // what an earlier run has found may no longer be so
	if err == nil {
		if d.target.Argv != nil {
			d.stopped(stops)
		}
		return nil
	}
	if ctx.Err() != nil || answered {
		return err
	}
	f := x.Failure(ctx, err)
	if slices.Contains([]failure.Kind{failure.KindUsage, failure.KindInputRequired, failure.KindBug}, f.Kind) {
		return err
	}
	d.failed(ctx, f)
	return nil
}

// failed adds the steps of a handshake that failed.
func (d *diagnosis) failed(ctx context.Context, f *failure.Failure) {
	var answer *mcperrors.HTTPEvidence
	var process *mcperrors.ProcessEvidence
	if f.From != nil {
		answer, process = f.From.HTTP, f.From.Process
	}
	step := Step{Step: "handshake", Status: Problem, Seen: f.Message, Why: f.Note, Next: f.Try}
	switch {
	case f.Kind == failure.KindAuth:
		d.login(ctx, f)
		return
	case answer != nil:
		step.Step = "http"
		step.Seen = fmt.Sprintf("status %d", answer.Status)
		if answer.ContentType != "" {
			step.Seen += ", " + answer.ContentType
		}
		step.Seen += ": " + f.Message
		step.Why = "clients need JSON or an event stream with messages of MCP"
	case process != nil && process.Exited:
		d.started(false)
		step.Step = "stays"
		step.Seen = fmt.Sprintf("the program ended with status %d after %s", process.Exit, console.Rounded(process.Age))
		if process.Signal != "" {
			step.Seen = fmt.Sprintf("the program was ended by %s after %s", process.Signal, console.Rounded(process.Age))
		}
		for _, line := range process.Reason(explain.ShownStderr) {
			step.Seen += "\n" + line
		}
		step.Why = "it answered nothing"
	case process != nil:
		d.started(false)
		step.Step = "answers"
		if lines := process.Reason(explain.ShownStderr); len(lines) > 0 {
			step.Seen += "; on standard error: " + strings.Join(lines, " / ")
		}
		if d.coldStart() {
			step.Next = append(step.Next, "run the program once by hand: "+d.target.Argv[0]+" downloads what it starts the first time")
		}
	}
	step.Seen = strings.ReplaceAll(step.Seen, "\n", " / ")
	if step.Why == "" {
		step.Why = "nothing else can be asked"
	}
	if len(step.Next) == 0 {
		step.Next = []string{d.again("info", "-vv")}
	}
	d.add(step)
}

// login adds the step of a server that wants a login, and what a login would do.
func (d *diagnosis) login(ctx context.Context, f *failure.Failure) {
	x := d.x
	step := Step{Step: "login", Status: Problem, Seen: f.Message, Why: f.Note, Next: f.Try}
	if f.From != nil && f.From.HTTP != nil {
		step.Seen = fmt.Sprintf("status %d: %s", f.From.HTTP.Status, f.Message)
	}
	found, err := d.inspect(ctx, d.target)
	inspect := x.AuthCommand(d.target, "inspect")
	switch {
	case err != nil:
	case found.Problem != "":
		step.Why, step.Next = "a login would fail: "+found.Problem, []string{inspect}
	case found.Issuer == "":
		step.Why = "nothing says how to log in: it may want a key that its operator gives out"
	default:
		step.Why = "a login at " + found.Issuer + " would work, as far as its documents tell"
	}
	if f.Note != "" {
		step.Next = append([]string{f.Note}, step.Next...)
	}
	if !slices.Contains(step.Next, inspect) {
		step.Next = append(step.Next, inspect)
	}
	d.add(step)
}

// end prints the outcome, and ends the command with its exit code.
func (d *diagnosis) end(server string) error {
	c := d.x.Console
	problems, warnings := 0, 0
	for _, s := range d.steps {
		switch s.Status {
		case Problem:
			problems++
		case Warning:
			warnings++
		case OK:
		}
	}
	outcome := "no problems"
	if problems > 0 {
		outcome = console.Count(problems, "problem", "problems")
	}
	if warnings > 0 {
		outcome += ", " + console.Count(warnings, "warning", "warnings")
	}
	var err error
	switch c.Format {
	case console.Human:
		err = c.Print("\n" + outcome + "\n")
	case console.JSON, console.Raw:
		type summary struct {
			Problems int `json:"problems"`
			Warnings int `json:"warnings"`
			Exit     int `json:"exit"`
		}
		err = c.PrintJSON(console.Encode(struct {
			Kind    string  `json:"kind"`
			Version int     `json:"version"`
			Server  string  `json:"server"`
			Summary summary `json:"summary"`
			Steps   []Step  `json:"steps"`
		}{"mcpctl.doctor", 1, server, summary{problems, warnings, min(1, problems)}, d.steps}))
	}
	if err != nil || problems == 0 {
		return err
	}
	f := failure.New(failure.KindNegative, mcperrors.Answered, "%s", outcome)
	f.Silent = c.Format == console.Human
	return f
}
