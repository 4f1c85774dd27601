package main

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// streams is what surrounds a run: main gives the process's own, tests give
// others.
type streams struct {
	in       io.Reader
	out, err io.Writer
	// inTerminal and so on tell whether a person is at the other end.
	inTerminal, outTerminal, errTerminal bool
	// width is the number of columns of the terminal.
	width int
	env   func(name string) (string, bool)
}

// app is one run of the program.
type app struct {
	streams
	flags flags
	// secrets are values that no error shows.
	secrets []string
	// end is when --max-time has passed.
	end  time.Time
	root *cobra.Command
	// stdout takes data, stderr everything else; both stand before the streams.
	stdout *pipe
	stderr *pipe
	// events is set by commands whose NDJSON is a stream of events, which a
	// failure ends too.
	events bool
	// sent is the last request that the command was for.
	sent sentRequest
}

// sentRequest is what became of a request. The zero one is none.
type sentRequest struct {
	method, tool string
	delivery     mcperrors.Delivery
	// acts is set when it may have changed something.
	acts bool
}

// notSent is the request of a run that has sent none.
var notSent = sentRequest{delivery: mcperrors.NotSent}

// run is the whole program. It returns the exit status. ctx ends when the
// program is to stop; its cause says why.
func run(ctx context.Context, args []string, s streams) int {
	a := &app{streams: s, stdout: &pipe{w: s.out}, stderr: &pipe{w: s.err}, sent: notSent}
	a.root = newRoot(a)
	a.root.SetArgs(args)
	a.root.SetIn(s.in)
	a.root.SetOut(a.stdout)
	a.root.SetErr(a.stderr)
	err := a.root.ExecuteContext(ctx)
	if lost := a.stdout.failed(); lost != nil {
		err = a.outputLost(lost)
	}
	if err == nil {
		return exitCodes[kindOK]
	}
	f := a.failureOf(ctx, err)
	a.report(f)
	return exitCodes[f.kind]
}

// outputLost is the failure of a run whose output could not be written. A reader
// that left has seen enough, and is not told, unless the run may have changed
// something.
func (a *app) outputLost(err error) *failure {
	f := fail(kindOutput, a.sent.delivery, "the output cannot be written: %s", rootCause(err))
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) {
		f = fail(kindOutputClosed, a.sent.delivery, "the output was closed before all of it was written")
		f.silent = !a.sent.acts
	}
	if a.sent.tool != "" && a.sent.delivery == mcperrors.Answered {
		f.note = noteRepeat
	}
	return f
}

// pipe writes for many goroutines at once and keeps the first error. After that
// it takes nothing.
type pipe struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

// Write implements [io.Writer].
func (p *pipe) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.w.Write(data)
	p.err = err
	return n, err
}

func (p *pipe) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
