package main

import (
	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/answer"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// talkFlags are the flags of commands whose request the server may answer with questions, log
// messages or a failure that passes.
type talkFlags struct {
	answers  answer.Flags
	logLevel string
	retries  int
}

// register adds the flags to a set.
func (f *talkFlags) register(set *pflag.FlagSet) {
	f.answers.Register(set)
	set.StringVar(&f.logLevel, "log-level", "", "ask the server for log messages from this `level` on, from debug to emergency, and show them")
	set.IntVar(&f.retries, "retry", 0, "retry up to `N` times what failed and can be repeated safely")
}

// begin reads the flags for a run.
func (f *talkFlags) begin(a *app) error {
	level := mcp.LoggingLevel(f.logLevel)
	if f.logLevel != "" && !level.Known() {
		return unsent("--log-level %s is unknown: debug, info, notice, warning, error, critical, alert or emergency", f.logLevel)
	}
	if f.retries < 0 || f.retries > maxRetries {
		return unsent("--retry must be from 0 to %d, not %d", maxRetries, f.retries)
	}
	replies, err := f.answers.New(a.console, !a.flags.NoInput, a.files())
	if err != nil {
		return err
	}
	a.dial.Replies, a.dial.LogLevel, a.dial.Retries = replies, level, f.retries
	return nil
}

// maxRetries bounds --retry: more of them last longer than any run.
const maxRetries = 100
