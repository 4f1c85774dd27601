package clientdriver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// Session is a client that is connected to the server of a task.
//
// # Experimental
type Session struct {
	// Calls has what the client can do, by method. The suite skips the checks of others.
	Calls map[string]Call
	// Close ends the connection.
	Close func() error
	// Describe, if set, completes what is reported of an error of a call, or corrects it.
	Describe func(err error, f *Failure)
}

// Connect connects the client to the server of a task: with its revision, its login and the
// answers of its user. It returns [errors.ErrUnsupported] for what the client does not have.
//
// # Experimental
type Connect func(ctx context.Context, t *Task) (*Session, error)

// Call does a step, and returns the result of its method. ctx has the step's deadline.
//
// # Experimental
type Call func(ctx context.Context, s *Step) (any, error)

// Failure is what is reported of an error.
//
// # Experimental
type Failure struct {
	// Outcome is "error", unless the error is one of the standard library's: then it is
	// "unsupported", "timeout", "canceled" or "closed".
	Outcome string `json:"outcome"`
	// Code is that of the server's JSON-RPC error.
	Code int64 `json:"code,omitempty"`
	// Delivery is what the client believes about the request: "not-sent", "rejected",
	// "unknown" or "answered". Most clients say nothing.
	Delivery string `json:"delivery,omitempty"`
	// Message is for people.
	Message string `json:"message,omitempty"`
}

// Exit codes.
const (
	exitDone  = 0
	exitUsage = 2
)

// Run does the task of this process, and writes a line to standard output for each step.
// It returns the exit code of the program: 0, however the steps ended, or 2 without a task.
//
// A client with logins has those of persons, and registers. logins are the others that it
// has, of [FlowSecret], [FlowKey], [Preregistered], [Documents] and [DPoP]; a task that needs
// another is reported as unsupported.
//
// # Experimental
func Run(ctx context.Context, connect Connect, logins ...string) (exit int) {
	return run(ctx, os.Getenv(EnvTask), os.Stdout, os.Stderr, connect, logins)
}

func run(ctx context.Context, text string, stdout, stderr io.Writer, connect Connect, logins []string) int {
	d := driver{connect: connect, logins: logins, out: json.NewEncoder(stdout)}
	if err := json.Unmarshal([]byte(text), &d.task); err != nil || len(d.task.Steps) == 0 {
		fmt.Fprintf(stderr, "%s has no task: mcpctl conform client starts this program with one\n", EnvTask)
		return exitUsage
	}
	for i := range d.task.Steps {
		d.play(ctx, i, d.task.Steps[i])
	}
	if d.session != nil {
		_ = d.session.Close() // a task without a step that closes
	}
	return exitDone
}

// driver does the steps of one task.
type driver struct {
	task    Task
	connect Connect
	logins  []string
	// session is the last one, nil before the first. Only connect steps change it, and they
	// run alone.
	session *Session
	level   string // of log messages, in the stateless era

	mu  sync.Mutex
	out *json.Encoder
}

// play does a step, as often as it says, and reports it.
func (d *driver) play(ctx context.Context, i int, s Step) {
	if s.Times == 0 {
		d.once(ctx, i, 0, s)
		return
	}
	var jobs sync.WaitGroup
	for n := range s.Times {
		one := s
		one.Arguments = withN(s.Arguments, n)
		jobs.Go(func() { d.once(ctx, i, n, one) })
	}
	jobs.Wait()
}

// withN adds the argument n.
func withN(arguments json.RawMessage, n int) json.RawMessage {
	members := map[string]json.RawMessage{}
	_ = json.Unmarshal(arguments, &members) // none: only n
	members["n"], _ = json.Marshal(n)       // a number
	out, _ := json.Marshal(members)         // of JSON
	return out
}

// line is the report of a step.
type line struct {
	Step int `json:"step"`
	N    int `json:"n,omitempty"`
	Failure
	Result json.RawMessage `json:"result,omitempty"`
}

func (d *driver) once(ctx context.Context, i, n int, s Step) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.DeadlineMs > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, time.Duration(s.DeadlineMs)*time.Millisecond)
		defer stop()
	}
	if s.CancelAfterMs > 0 {
		defer time.AfterFunc(time.Duration(s.CancelAfterMs)*time.Millisecond, cancel).Stop()
	}
	s.token = fmt.Sprintf("step-%d-%d", i, n)
	if d.task.Revision.Era() == mcp.EraStateless {
		s.level = &d.level
	}
	result, err := d.do(ctx, &s)
	l := line{Step: i, N: n, Failure: Failure{Outcome: "result"}}
	if err == nil && result != nil {
		l.Result, err = json.Marshal(result)
	}
	switch {
	case err != nil:
		l.Failure = d.failure(err)
	case isError(l.Result):
		l.Outcome = "tool-error"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.out.Encode(l) // a suite that has left does not read it
}

// isError reports whether a result is that of a tool that failed.
func isError(result json.RawMessage) bool {
	var tool struct {
		IsError bool `json:"isError"`
	}
	return json.Unmarshal(result, &tool) == nil && tool.IsError
}

// do does a step once.
func (d *driver) do(ctx context.Context, s *Step) (any, error) {
	switch {
	case s.Call == StepConnect:
		t := d.task
		if s.URL != "" {
			t.URL = s.URL
		}
		for _, need := range t.Login.needs() {
			if !slices.Contains(d.logins, need) {
				return nil, fmt.Errorf("a login with %s: %w", need, errors.ErrUnsupported)
			}
		}
		var err error
		if d.session, err = d.connect(ctx, &t); err != nil {
			d.session = nil
		}
		return nil, err
	case d.session == nil:
		return nil, errors.New("there is no connection")
	case s.Call == StepClose:
		return nil, d.session.Close()
	}
	call := d.session.Calls[s.Call]
	if call == nil {
		return nil, errors.ErrUnsupported
	}
	return call(ctx, s)
}

// failure is what is reported of an error.
func (d *driver) failure(err error) Failure {
	f := Failure{Outcome: "error", Message: err.Error()}
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		f.Outcome = "unsupported"
	case errors.Is(err, context.DeadlineExceeded):
		f.Outcome = "timeout"
	case errors.Is(err, context.Canceled):
		f.Outcome = "canceled"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrClosedPipe):
		f.Outcome = "closed"
	}
	if d.session != nil && d.session.Describe != nil {
		d.session.Describe(err, &f)
	}
	return f
}
