package completion

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/listing"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
)

// line is a command line whose last word is completed.
type line struct {
	ctx  context.Context
	dial *connect.Dialer
	kept *kept // nil for none
	// args are the operands before the word, start is the beginning of the word.
	args  []string
	start string
	// limit is how long a server may take to list what it offers.
	limit time.Duration

	server    target.Target
	directive cobra.ShellCompDirective
}

// operands completes the server of a command, or what comes after it.
func (l *line) operands(command string, after func(*line) []string) []string {
	var words []string
	if command == "ls" {
		names := []string{"all"}
		for _, list := range listing.Lists {
			names = append(names, list.Name)
		}
		if !slices.ContainsFunc(l.args, func(arg string) bool { return slices.Contains(names, arg) }) {
			words = names
		}
		l.args = slices.DeleteFunc(slices.Clone(l.args), func(arg string) bool { return slices.Contains(names, arg) })
	}
	byEnv, _ := l.dial.Console.Env("MCPCTL_SERVER")
	if len(l.args) == 0 && l.dial.Flags.Server == "" && l.dial.Flags.Config == "" && byEnv == "" {
		return append(words, l.servers()...)
	}
	if command == "diff" { // its first operand may be a snapshot
		return l.servers()
	}
	if after == nil {
		return words
	}
	server, rest, err := l.dial.Server(target.Line{Operands: l.args})
	if err != nil {
		return nil
	}
	l.server, l.args = server, rest
	return after(l)
}

// servers completes the names of servers. A file of servers is completed by the shell, and the
// names in it here.
func (l *line) servers() []string {
	if file, _, found := strings.Cut(l.start, "#"); found {
		servers, err := l.dial.InFile(file)
		if err != nil {
			return nil
		}
		words := make([]string, 0, len(servers))
		for _, s := range servers {
			words = append(words, described(file+"#"+s.Name, ""))
		}
		return words
	}
	names, err := l.dial.Names(false)
	if err != nil {
		return nil
	}
	words := make([]string, 0, len(names.Servers))
	for _, s := range names.Servers {
		if !s.Disabled {
			words = append(words, described(s.Word, s.In.Shown))
		}
	}
	if !slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, l.start) }) {
		l.directive = cobra.ShellCompDirectiveDefault
	}
	return words
}

// list returns a list of the server.
func (l *line) list(name string) []item {
	if l.kept == nil {
		return nil
	}
	items, found := l.kept.load(l.ctx, l.server, name)
	if !found && l.ask(name) {
		items, _ = l.kept.load(l.ctx, l.server, name)
	}
	return items
}

// ask fetches a list that is not kept from a URL, and reports whether it came in time. It sends
// nothing that belongs to the user, neither tokens nor headers nor variables, and asks no server of
// a project that is not trusted.
func (l *line) ask(name string) bool {
	f, e := l.dial.Flags, l.server.Entry
	if l.server.URL == "" || len(f.Headers) > 0 || f.Auth != "auto" {
		return false
	}
	if e != nil && (len(e.Header) > 0 || e.Expanded || e.Digest != "" && !l.dial.Trusts(e.File, e.Digest)) {
		return false
	}
	f.Auth, f.NoInput, f.Output.Quiet, f.Output.Verbose = "none", true, true, 0
	ctx, cancel := context.WithTimeout(l.ctx, l.limit)
	defer cancel()
	list, done := listed(name), make(chan error, 1)
	go func() {
		done <- l.dial.With(ctx, l.server, func(ctx context.Context, c *connect.Connection) error {
			if !c.May(list.Capability) {
				return nil
			}
			_, err := listing.Walk(ctx, l.dial, c, list, nil)
			return err
		})
	}()
	select {
	case err := <-done:
		return err == nil
	case <-ctx.Done(): // a server may be slow to close, too
		return false
	}
}

// described is a word with what it means, behind a tab. No shell has a word with a tab in it.
func described(word, about string) string {
	if strings.Contains(word, "\t") {
		return ""
	}
	return word + "\t" + visible.Cut(visible.Line(console.OneLine(about)), maxAbout)
}

// maxWords is how many words are offered: shells show no more, and sort them slowly. maxWord is the
// length of the longest.
const maxWords, maxWord = 2000, 1000

// carried returns the words that begin with start and that a shell can carry. What a server names
// is text of a stranger: a word with a control character would be another word when it is typed,
// and one that begins with a dash would be a flag.
func carried(words []string, start string) []string {
	var out []string
	for _, w := range words {
		word, about, _ := strings.Cut(w, "\t")
		if word == "" || len(word) > maxWord || !strings.HasPrefix(word, start) || word[0] == '-' || visible.Line(word) != word || strings.TrimSpace(word) != word {
			continue
		}
		if about != "" {
			word += "\t" + visible.Line(about)
		}
		if out = append(out, word); len(out) == maxWords {
			break
		}
	}
	return out
}
