package main

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/completion"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/explain"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/secret"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// newApp returns the application and its root command, for a command line.
func newApp(s console.Streams, args []string) (*app, *cobra.Command) {
	a := &app{}
	a.console = console.New(s, &a.flags.Output)
	a.dial = &connect.Dialer{Flags: &a.flags, Console: a.console, Secrets: &secret.Keeper{}, Sent: connect.Nothing}
	a.explain = &explain.Explainer{Dialer: a.dial}
	return a, newRoot(a, args)
}

// run is the whole program. It returns the exit status. ctx ends when the program
// is to stop; its cause is the reason.
func run(ctx context.Context, args []string, s console.Streams) int {
	a, root := newApp(s, args)
	completion.Keep(a.dial)
	completion.Attach(root, a.dial, args)
	root.SetArgs(args)
	root.SetIn(a.console.In)
	root.SetOut(a.console.Out)
	root.SetErr(a.console.Err)
	err := root.ExecuteContext(ctx)
	if lost := a.console.Lost(); lost != nil {
		err = outputLost(lost, a.dial.Sent, a.console.Format == console.Human)
	}
	if err == nil {
		return failure.KindOK.ExitCode()
	}
	readOutput(root, args)
	f := a.explain.Failure(ctx, err)
	missingLogin(f, err)
	f.Print(a.console, a.dial.Events)
	return f.Kind.ExitCode()
}

// readOutput reads the -o of a line whose error was found before it.
func readOutput(root *cobra.Command, args []string) {
	output := root.PersistentFlags().Lookup("output")
	if output.Changed {
		return
	}
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.ParseErrorsAllowlist.UnknownFlags = true
	set.Usage = func() {} // else --help prints one
	set.AddFlag(output)
	_ = set.Parse(args) // the failure of the line is the one to print
}

// outputLost is the failure of a run whose output could not be written. A reader
// that left has seen enough, so nothing is printed unless the run may have changed
// something. A person who has seen the start of the result knows that it did.
func outputLost(err error, sent connect.Sent, human bool) *failure.Failure {
	f := failure.New(failure.KindOutput, sent.Delivery, "cannot write the output: %s", failure.RootCause(err))
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, os.ErrClosed) {
		f = failure.New(failure.KindOutputClosed, sent.Delivery, "the reader closed the output before it was complete")
		f.Silent = !sent.Acts || human && sent.Delivery == mcperrors.Answered
	}
	switch {
	case sent.Tool != "" && sent.Delivery == mcperrors.Answered:
		f.Note = failure.NoteRepeat
	case sent.Acts && sent.Delivery == mcperrors.Unknown:
		f.Note = failure.NoteMayRun
	}
	return f
}
