// Mcpctl talks to MCP servers from the command line: it lists and describes
// their tools, calls them, sends any request, and runs the conformance suite
// against them. `mcpctl help` has the rest.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"golang.org/x/term"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
)

func main() {
	onOneProcessor(os.Args[1:])
	collectLater()
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	// The servers we start are in groups of their own: when the terminal is
	// closed they hear of it from us only. Under nohup nobody is to hear of it.
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	// Taken, so that a write to a closed pipe is an error that run can clean up
	// after, and not the end of the process. Ignoring it instead would be
	// inherited by the servers we start.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		switch <-signals {
		case syscall.SIGTERM:
			cancel(failure.ErrTerminated)
		case syscall.SIGHUP:
			cancel(failure.ErrHangup)
		default:
			cancel(failure.ErrInterrupted)
		}
		// A second signal does not wait for anybody. A child sees its stdin end.
		// A hangup is no second signal: shell and kernel send one each.
		for again := range signals {
			if again != syscall.SIGHUP {
				os.Exit(failure.KindInterrupted.ExitCode())
			}
		}
	}()
	os.Exit(run(ctx, os.Args[1:], console.Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		Width:       width(),
		Env:         os.LookupEnv,
	}))
}

// onOneProcessor keeps commands that mostly wait on one processor: to wake others for what goroutines
// hand on takes a tenth of the time of a call. GOMAXPROCS in the environment chooses otherwise.
func onOneProcessor(args []string) {
	switch name := only(args); {
	case name == "", name == "conform", name == "proxy", os.Getenv("GOMAXPROCS") != "":
	default:
		runtime.GOMAXPROCS(1)
	}
}

// collectLater lets the first garbage collection wait for 16 MB: most commands end before it, and a
// collection would be a fifth of their time. From then on collections are as usual.
func collectLater() {
	const quadruple, usual = 400, 100
	debug.SetGCPercent(quadruple)
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}

// width is that of the terminal on standard output, or else on standard error.
func width() int {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns >= 20 {
			return columns
		}
	}
	return 80
}
