package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/completion"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/conform"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/doctor"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/explain"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/manual"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/review"
	"github.com/mainstay-mcp/mainstay/internal/suggest"
)

// group is the commands that the help shows below a title.
type group struct {
	title    string
	commands []command
}

type command struct {
	name string
	make func(*app) *cobra.Command
}

// groups are all commands.
func groups() []group {
	explained := func(build func(*explain.Explainer) *cobra.Command) func(*app) *cobra.Command {
		return func(a *app) *cobra.Command { return build(a.explain) }
	}
	return []group{
		{"Look at a server", []command{{"info", newInfoCmd}, {"ls", newLsCmd}, {"describe", newDescribeCmd}}},
		{"Use a server", []command{
			{"call", newCallCmd},
			{"read", newReadCmd},
			{"prompt", newPromptCmd},
			{"complete", newCompleteCmd},
			{"listen", newListenCmd},
			{"task", newTaskCmd},
			{"rpc", newRPCCmd},
			{"skill", newSkillCmd},
		}},
		{"Test a server", []command{
			{"doctor", func(a *app) *cobra.Command { return doctor.New(a.explain, loginOf(a)) }},
			{"ping", newPingCmd},
			{"lint", explained(review.NewLint)},
			{"snapshot", explained(review.NewSnapshot)},
			{"diff", explained(review.NewDiff)},
			{"conform", explained(conform.New)},
		}},
		{"Set up servers and hosts", []command{{"server", newServerCmd}, {"auth", newAuthCmd}, {"proxy", newProxyCmd}, {"gen", newGenCmd}}},
		{aboutMcpctl, []command{
			{"completion", func(a *app) *cobra.Command { return completion.New(a.console) }},
			{"man", func(a *app) *cobra.Command { return manual.New(a.console) }},
			{"version", newVersionCmd},
		}},
	}
}

const aboutMcpctl = "About mcpctl"

// only returns the command that a command line is for, "" if the run may look at others, too: those
// about mcpctl show them, and a word that is no command may be like one.
func only(args []string) string {
	for _, g := range groups() {
		if g.title != aboutMcpctl && len(args) > 0 && slices.ContainsFunc(g.commands, func(c command) bool { return c.name == args[0] }) {
			return args[0]
		}
	}
	return ""
}

// newRoot builds the command tree for a command line. Most runs need one command of it: to build the
// others would be some percent of a call.
func newRoot(a *app, args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "mcpctl",
		Short: "Talk to MCP servers from the command line",
		Long: `Mcpctl talks to MCP servers. It lists and describes their tools, calls tools,
reads resources, gets prompts, sends any request, and runs the conformance
suite. Errors say what happened, whether the call may have run, and what to do
next.

  mcpctl [flags] COMMAND [SERVER] [operand…] [-- PROGRAM ARG…]

SERVER is a URL such as https://host/mcp, :3000/mcp or localhost:3000/mcp, the
name of a server that an editor or assistant has, or one of a file, such as
FILE.json#NAME. It is the first operand, the value of -s, or that of
MCPCTL_SERVER. To start a server as a program, give the program after --
instead.`,
		Example: `  mcpctl ls -- npx -y @modelcontextprotocol/server-everything stdio
  mcpctl describe :3000/mcp echo
  mcpctl call :3000/mcp echo message=hi
  mcpctl conform server -- ./my-server`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.flags.Check() },
	}
	a.flags.Register(root.PersistentFlags())
	_ = root.RegisterFlagCompletionFunc("auth", a.completeAuth()) // fails without the flag
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.DisableDefaultCmd = true
	wanted := only(args)
	for _, g := range groups() {
		var built []*cobra.Command
		for _, c := range g.commands {
			a.explain.Commands = append(a.explain.Commands, c.name)
			if wanted == "" || c.name == wanted {
				built = append(built, c.make(a))
			}
		}
		manual.Group(root, g.title, built...)
	}
	if wanted == "" {
		root.Version = versionText() // Without SetVersionTemplate: templates call methods by name, so the linker would keep all.
		root.AddCommand(topics()...)
		strictHelp(root)
		a.explain.Commands = append(a.explain.Commands, "help")
		for _, c := range topics() {
			a.explain.Commands = append(a.explain.Commands, c.Name())
		}
	}
	manual.Help(root, a.console)
	inGroups(root)
	return root
}

// strictHelp makes help of what does not exist an error, with the suggestion of any command.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	// Without Find, which would sort the flags before inGroups.
	help := root.Commands()[slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == "help" })]
	help.GroupID = aboutMcpctl
	help.Use, help.Long, help.Example = "help [COMMAND|TOPIC]", "", `  mcpctl help call
  mcpctl help auth login
  mcpctl help exit-codes`
	help.Run = nil
	help.RunE = func(_ *cobra.Command, args []string) error {
		about, rest, err := root.Find(args)
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("unknown command %q for %q", rest[0], about.CommandPath())
		}
		if err != nil {
			return err
		}
		about.InitDefaultHelpFlag()
		return about.Help()
	}
}

// inGroups keeps flags in the order of their registration, which groups them by
// subject.
func inGroups(cmd *cobra.Command) {
	// Cobra's other sets copy these, in their order: to make them for all commands takes 1 ms.
	cmd.Flags().SortFlags, cmd.PersistentFlags().SortFlags = false, false
	for _, child := range cmd.Commands() {
		inGroups(child)
	}
}

// flagError suggests the nearest flag for one that does not exist, and the dashes before a program
// for the operand of a proxy that is no URL: the lines of hosts have none.
func flagError(cmd *cobra.Command, err error) error {
	f := failure.Usage("%s", err)
	if program := cmd.Flags().Arg(0); cmd.Name() == "proxy" && program != "" && !strings.ContainsAny(program, ":#") {
		f.Try = append(f.Try, "mcpctl proxy -- "+program+" …")
	}
	f.Note = failure.NoteNothingSent
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "duration" {
		if _, err := time.ParseDuration(invalid.GetValue() + "s"); err == nil {
			f.Message = fmt.Sprintf("--%s %s has no unit: write %ss for seconds", invalid.GetFlag().Name, invalid.GetValue(), invalid.GetValue())
		}
		return f
	}
	name, found := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !found {
		return f
	}
	var names []string
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	cmd.InheritedFlags().VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	if near := suggest.Nearest(name, names); len(near) > 0 {
		f.Message += "; did you mean --" + near[0] + "?"
	}
	return f
}
