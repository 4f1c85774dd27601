package main

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/listing"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/schema"
	"github.com/mainstay-mcp/mainstay/internal/suggest"
)

type lsOptions struct {
	long bool
	grep string
}

func newLsCmd(a *app) *cobra.Command {
	var o lsOptions
	cmd := &cobra.Command{
		Use:   "ls [tools|resources|templates|prompts|all] [SERVER]",
		Short: "List a server's tools, resources, templates or prompts",
		Example: `  mcpctl ls :3000/mcp
  mcpctl ls all -l https://api.example.com/mcp
  mcpctl ls tools --grep issue -- npx -y @modelcontextprotocol/server-everything stdio`,
		RunE: func(cmd *cobra.Command, args []string) error {
			what, t, err := a.lsLine(target.NewLine(cmd, args))
			if err != nil {
				return err
			}
			match, err := regexp.Compile(o.grep)
			if err != nil {
				return failure.Usage("--grep: %v", err)
			}
			return a.dial.With(cmd.Context(), t, func(ctx context.Context, c *connect.Connection) error {
				return a.ls(ctx, c, what, match, o)
			})
		},
	}
	cmd.Flags().BoolVarP(&o.long, "long", "l", false, "show signatures and whole descriptions")
	cmd.Flags().StringVar(&o.grep, "grep", "", "only items whose name, title or description matches this regular `expression`")
	return cmd
}

// lsLine reads what to list, and of which server. The name of the list may come
// before or after the server; it may be omitted.
func (a *app) lsLine(l target.Line) ([]listing.List, target.Target, error) {
	what := listing.Lists[:1]
	take := func(words []string) []string {
		for i, word := range words {
			if word == "all" {
				what = listing.Lists
				return slices.Delete(slices.Clone(words), i, i+1)
			}
			if at := slices.IndexFunc(listing.Lists, func(l listing.List) bool { return l.Name == word }); at >= 0 {
				what = listing.Lists[at : at+1]
				return slices.Delete(slices.Clone(words), i, i+1)
			}
		}
		return words
	}
	l.Operands = take(l.Operands)
	unknown := func(word string) error {
		f := failure.Usage("unknown list %s", word)
		f.Add("lists", "tools, resources, templates, prompts, all")
		return f
	}
	if len(l.Operands) > 0 && !target.LooksLikeServer(l.Operands[0]) && (l.Dashed || suggest.Nearest(l.Operands[0], listNames) != nil) {
		return nil, target.Target{}, unknown(l.Operands[0])
	}
	t, rest, err := a.dial.Server(l)
	if err == nil && len(rest) > 0 {
		err = unknown(rest[0])
	}
	return what, t, err
}

var listNames = []string{"tools", "resources", "templates", "prompts", "all"}

func (a *app) ls(ctx context.Context, c *connect.Connection, what []listing.List, match *regexp.Regexp, o lsOptions) error {
	all := doc.NewObject()
	for _, l := range what {
		list := doc.NewArray()
		if !c.May(l.Capability) {
			if len(what) == 1 {
				a.console.Warn("the server does not declare the capability %s", l.Capability)
			}
		} else {
			items, err := listing.Walk(ctx, a.dial, c, l, func(raw json.RawMessage) error {
				if a.console.Format == console.Raw {
					return a.console.PrintRaw(raw)
				}
				return nil
			})
			if err != nil {
				return err
			}
			nameless := 0
			for _, item := range items {
				if item.Get(l.ID).Kind() != doc.String {
					nameless++
				}
				if matches(match, item, l) {
					list.SetItem(len(list.Items()), item)
				}
			}
			if nameless > 0 {
				a.console.Warn("%s: %s", l.Name, console.Count(nameless, "item is invalid, because it has no "+l.ID, "items are invalid, because they have no "+l.ID))
			}
		}
		all.Set(l.Member, list)
	}
	switch a.console.Format {
	case console.Raw:
		return nil
	case console.JSON:
		return a.console.PrintJSON(all.AppendJSON(nil))
	case console.NDJSON:
		return a.lsLines(all, len(what) > 1)
	}
	for _, l := range what {
		if err := a.lsHuman(l, all.Get(l.Member).Items(), len(what) > 1, o); err != nil {
			return err
		}
	}
	return nil
}

func matches(match *regexp.Regexp, item *doc.Value, l listing.List) bool {
	for _, key := range []string{l.ID, "name", "title", "description"} {
		if match.MatchString(item.Get(key).Str()) {
			return true
		}
	}
	return false
}

// lsLines writes one line for each item, with the name of its list if there are
// several.
func (a *app) lsLines(all *doc.Value, several bool) error {
	for _, list := range all.Members() {
		for _, item := range list.Value.Items() {
			raw := item.AppendJSON(nil)
			if several {
				raw = append(append(append(append([]byte(`{"list":`), console.Encode(list.Name)...), `,"item":`...), raw...), '}')
			}
			if err := a.console.PrintRaw(raw); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *app) lsHuman(l listing.List, items []*doc.Value, several bool, o lsOptions) error {
	if !a.console.OutTerminal {
		var rows [][]string
		for _, item := range items {
			row := lsRow(l, item, o.long)
			if several {
				row = append([]string{l.Name}, row...)
			}
			rows = append(rows, row)
		}
		return a.console.PrintSeparated(rows)
	}
	s, indent := a.console.OutStyle(), ""
	if several {
		if len(items) == 0 {
			return nil
		}
		indent = "  "
		if err := a.console.Print(s.Bold(l.Name) + "\n"); err != nil {
			return err
		}
	}
	if !o.long {
		var rows [][]string
		for _, item := range items {
			rows = append(rows, lsRow(l, item, false))
		}
		return a.console.Print(console.Brief(s, a.console.Width, indent, rows))
	}
	var b strings.Builder
	for _, item := range items {
		row := lsRow(l, item, true)
		if l.Capability == "resources" { // a URI stays whole, to be copied
			b.WriteString(indent + s.Bold(visible.Line(row[1])) + "\n")
		} else {
			b.WriteString(signatureLines(a.console, row[1], indent))
		}
		for _, text := range row[2:] {
			if text != "" {
				b.WriteString(a.console.Wrapped(visible.Text(strings.TrimSpace(text)), indent+"    "))
			}
		}
	}
	return a.console.Print(b.String())
}

// signatureLines is the signature of an item, in lines that the terminal has room for.
func signatureLines(c *console.Console, text, indent string) string {
	lines := []string{indent + visible.Line(text)}
	if c.OutTerminal {
		lines = console.WrapSignature(lines[0], c.Width, indent+"        ")
	}
	for i, line := range lines {
		lines[i] = c.OutStyle().Bold(line)
	}
	return strings.Join(lines, "\n") + "\n"
}

// lsRow is the row of an item: its id and description. long adds its signature
// and everything else that fits a line.
func lsRow(l listing.List, item *doc.Value, long bool) []string {
	id := item.Get(l.ID).Str()
	about := item.Get("description").Str()
	if !long {
		if about == "" {
			about = item.Get("title").Str()
		}
		first, _, _ := strings.Cut(strings.TrimSpace(about), "\n")
		return []string{id, first}
	}
	switch l.Name {
	case "tools":
		return []string{id, toolSignature(item), strings.Join(claims(item), "; "), about}
	case "prompts":
		return []string{id, promptSignature(item), item.Get("title").Str(), about}
	}
	return []string{id, id, item.Get("name").Str(), item.Get("mimeType").Str(), about}
}

func toolSignature(tool *doc.Value) string {
	text := schema.Signature(tool.Get("name").Str(), schema.New(tool.Get("inputSchema")))
	if out := tool.Get("outputSchema"); out != nil {
		text += " -> " + schema.New(out).Type()
	}
	return text
}

func promptSignature(prompt *doc.Value) string {
	var args []string
	for _, arg := range prompt.Get("arguments").Items() {
		mark := "?: string"
		if arg.Get("required").True() {
			mark = ": string"
		}
		args = append(args, arg.Get("name").Str()+mark)
	}
	return prompt.Get("name").Str() + "(" + strings.Join(args, ", ") + ")"
}
