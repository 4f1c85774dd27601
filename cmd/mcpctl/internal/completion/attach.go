package completion

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
)

// limit is how long a server may take to list what it offers. The rest of 250 ms is for the start of
// the program, and for the files that it reads.
const limit = 150 * time.Millisecond

// operands are the words that commands take after the server.
var operands = map[string]func(*line) []string{
	"auth inspect":   nil,
	"auth login":     nil,
	"call":           (*line).call,
	"complete":       (*line).complete,
	"conform init":   nil,
	"conform server": nil,
	"describe":       (*line).tool,
	"diff":           nil,
	"doctor":         nil,
	"gen go":         nil,
	"info":           nil,
	"lint":           nil,
	"listen":         (*line).resources,
	"ls":             nil,
	"ping":           nil,
	"prompt":         (*line).prompt,
	"proxy":          nil,
	"read":           (*line).read,
	"rpc":            nil,
	"skill ls":       nil,
	"skill save":     nil,
	"skill show":     nil,
	"snapshot":       nil,
	"task cancel":    nil,
	"task get":       nil,
	"task ls":        nil,
	"task wait":      nil,
}

// Attach lets the commands complete args, a command line for Cobra's own command. For all others
// it does nothing, which costs them nothing.
func Attach(root *cobra.Command, d *connect.Dialer, args []string) {
	if len(args) == 0 || args[0] != cobra.ShellCompRequestCmd && args[0] != cobra.ShellCompNoDescRequestCmd {
		return
	}
	typed := args[1 : len(args)-min(1, len(args)-1)]
	dashed := slices.Contains(typed, "--") // Cobra parses the line twice, so that flags know it no more
	complete := func(words func(*line) []string) cobra.CompletionFunc {
		return func(cmd *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
			if dashed {
				return nil, cobra.ShellCompDirectiveDefault // words of the program
			}
			l := &line{ctx: cmd.Context(), dial: d, kept: open(d), args: args, start: start, limit: limit, directive: cobra.ShellCompDirectiveNoFileComp}
			offered := carried(words(l), start)
			return offered, l.directive
		}
	}
	_ = root.RegisterFlagCompletionFunc("server", complete((*line).servers)) // fails without the flag
	every(root, func(cmd *cobra.Command) {
		name := strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ")
		if after, takes := operands[name]; takes && cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = complete(func(l *line) []string { return l.operands(name, after) })
		}
		for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
			set.VisitAll(func(flag *pflag.Flag) {
				flag.Usage = strings.ReplaceAll(flag.Usage, "`", "") // they mark the value for the help
				offer(cmd, flag)
			})
		}
	})
}

// offer completes a flag that takes one of a few words.
func offer(cmd *cobra.Command, flag *pflag.Flag) {
	if words := flags.Words(flag); words != nil {
		_ = cmd.RegisterFlagCompletionFunc(flag.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // fails without the flag
	}
}

func every(cmd *cobra.Command, do func(*cobra.Command)) {
	do(cmd)
	for _, child := range cmd.Commands() {
		every(child, do)
	}
}
