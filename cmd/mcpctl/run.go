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
}

// run is the whole program. It returns the exit status. ctx ends when the
// program is to stop; its cause says why.
func run(ctx context.Context, args []string, s streams) int {
	a := &app{streams: s, stdout: &pipe{w: s.out}, stderr: &pipe{w: s.err}}
	a.root = newRoot(a)
	a.root.SetArgs(args)
	a.root.SetIn(s.in)
	a.root.SetOut(a.stdout)
	a.root.SetErr(a.stderr)
	err := a.root.ExecuteContext(ctx)
	if a.stdout.broken() {
		return exitBrokenPipe // whoever read our output has seen enough
	}
	if err == nil {
		return exitCodes[kindOK]
	}
	f := a.failureOf(ctx, err)
	a.report(f)
	return exitCodes[f.kind]
}

// pipe writes for many goroutines at once and remembers that the reader left.
type pipe struct {
	mu   sync.Mutex
	w    io.Writer
	gone bool
}

// Write implements [io.Writer]. After the reader has left it takes
// nothing.
func (p *pipe) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return 0, syscall.EPIPE
	}
	n, err := p.w.Write(data)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) {
		p.gone = true
	}
	return n, err
}

func (p *pipe) broken() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone
}
