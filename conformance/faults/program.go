package faults

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"time"
)

// exits of [Main] that are not the server's.
const (
	exitUsage   = 2
	exitNoStart = 127
)

// program is a proxy that is a process: it runs the command of a stdio server, between it
// and its own stdin and stdout.
type program struct {
	plan    Plan
	command []string
	// journal is the path of the journal file; empty for none.
	journal string
}

// Main makes the calling program a proxy around the command of a stdio server, on its own
// stdin, stdout and stderr. It returns the exit status when the server has ended; faults
// may end the process before. The arguments are
//
//	[-plan JSON] [-plan-file PATH] [-journal PATH] command [argument...]
//
// The journal file gets the history, for [ReadJournal]. With it selectors count over all
// instances with the same file: with Count 1 there is one crash, and none after the
// restart.
//
// Call Main once in a process, then exit. A test binary calls it from TestMain if an
// environment variable asks for it.
func Main(ctx context.Context, args []string) int {
	var p program
	var plan, file string
	flags := flag.NewFlagSet("faults", flag.ContinueOnError)
	flags.StringVar(&plan, "plan", "", "the plan, as JSON")
	flags.StringVar(&file, "plan-file", "", "a file with the plan")
	flags.StringVar(&p.journal, "journal", "", "a file to which the history is appended")
	if err := flags.Parse(args); err != nil {
		return exitUsage
	}
	p.command = flags.Args()
	text, err := []byte(plan), error(nil)
	if file != "" {
		text, err = os.ReadFile(file)
	}
	if err == nil && len(text) > 0 {
		p.plan, err = ParsePlan(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		return exitUsage
	}
	return p.run(ctx)
}

func (p program) run(ctx context.Context) int {
	if len(p.command) == 0 {
		fmt.Fprintln(os.Stderr, "faults: no command of a server")
		return exitUsage
	}
	proxy, err := p.proxy()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		return exitUsage
	}
	lingers := false
	if h := proxy.match(event{carrier: Process, point: atStart}); h != nil {
		if h.Fault == "E2" {
			fmt.Fprint(os.Stderr, h.Text)
			return orInt(h.Status, 1)
		}
		if lingers = h.form == "term"; lingers {
			ignoreEnds()
		} else if err := grandchild(h.For.or(time.Minute)); err != nil {
			fmt.Fprintln(os.Stderr, "faults:", err)
			return exitNoStart
		}
	}
	status := p.serve(ctx, proxy)
	if lingers {
		<-ctx.Done() // which is never, unless the caller has it end: kill the process
	}
	return status
}

func (p program) proxy() (*Proxy, error) {
	proxy, err := New(p.plan)
	if err != nil || p.journal == "" {
		return proxy, err
	}
	before, err := ReadJournal(p.journal)
	if err != nil {
		return nil, err
	}
	proxy.goOn(before)
	if proxy.journal, err = openJournal(p.journal); err != nil {
		return nil, err
	}
	proxy.journal.event("start")
	return proxy, nil
}

// serve runs the server.
func (p program) serve(ctx context.Context, proxy *Proxy) int {
	cmd := exec.CommandContext(ctx, p.command[0], p.command[1:]...)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		return exitNoStart
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		return exitNoStart
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		return exitNoStart
	}
	var crashes atomic.Bool
	drained, gone := make(chan struct{}), make(chan struct{})
	s := newStream(proxy, Ends{From: os.Stdin, To: os.Stdout}, Ends{From: out, To: in})
	s.carrier = Process
	s.process = process{
		crash: func(form string) {
			crashes.Store(true)
			_ = cmd.Process.Kill() // it may have ended
			crash(form)
		},
		stop:   stopSelf,
		stderr: flood,
		stdinEnded: func() {
			proxy.mu.Lock()
			defer proxy.mu.Unlock()
			proxy.journal.event("stdin-end")
		},
		drained: func() { close(drained) },
		gone:    gone,
	}
	ended := make(chan error, 1)
	go func() {
		defer close(gone)
		<-drained // Wait closes the pipe: what is in it must be read before
		ended <- cmd.Wait()
	}()
	_ = s.run(ctx) // the end of the context is the caller's to know
	if crashes.Load() {
		select {} // the server was killed first: our own end is on its way
	}
	_ = in.Close()
	err = <-ended
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode()
	case err != nil:
		return 1 // ended by a signal
	default:
		return 0
	}
}

// flood writes to stderr.
func flood(size int) {
	line := append(bytes.Repeat([]byte("e"), 1023), '\n')
	block := bytes.Repeat(line, 64)
	for ; size > 0; size -= len(block) {
		if n, err := os.Stderr.Write(block[:min(size, len(block))]); err != nil || n == 0 {
			return
		}
	}
}
