package main

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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
		Short: "List what a server offers, tools unless said otherwise",
		Example: `  mcpctl ls :3000/mcp
  mcpctl ls all -l https://api.example.com/mcp
  mcpctl ls tools --grep issue -- npx -y @modelcontextprotocol/server-everything stdio`,
		RunE: func(cmd *cobra.Command, args []string) error {
			what, t, err := a.lsLine(newLine(cmd, args))
			if err != nil {
				return err
			}
			match, err := regexp.Compile(o.grep)
			if err != nil {
				return usage("--grep: %v", err)
			}
			return a.with(cmd.Context(), t, func(ctx context.Context, c *connection) error {
				return a.ls(ctx, c, what, match, o)
			})
		},
	}
	cmd.Flags().BoolVarP(&o.long, "long", "l", false, "more about each")
	cmd.Flags().StringVar(&o.grep, "grep", "", "only those whose name, title or description matches this `expression`")
	return cmd
}

// lsLine reads what to list and where. The word may stand before the server or
// after it, or be left out.
func (a *app) lsLine(l line) ([]listing, target, error) {
	what := listings[:1]
	take := func(words []string) []string {
		for i, word := range words {
			if word == "all" {
				what = listings
				return slices.Delete(slices.Clone(words), i, i+1)
			}
			if at := slices.IndexFunc(listings, func(l listing) bool { return l.name == word }); at >= 0 {
				what = listings[at : at+1]
				return slices.Delete(slices.Clone(words), i, i+1)
			}
		}
		return words
	}
	l.operands = take(l.operands)
	unknown := func(word string) error {
		f := usage("ls cannot list %s", word)
		f.add("lists", "tools, resources, templates, prompts, all")
		return f
	}
	if len(l.operands) > 0 && !looksLikeServer(l.operands[0]) && (l.dashed || suggest.Nearest(l.operands[0], listNames) != nil) {
		return nil, target{}, unknown(l.operands[0])
	}
	t, rest, err := a.server(l)
	if err == nil && len(rest) > 0 {
		err = unknown(rest[0])
	}
	return what, t, err
}

var listNames = []string{"tools", "resources", "templates", "prompts", "all"}

func (a *app) ls(ctx context.Context, c *connection, what []listing, match *regexp.Regexp, o lsOptions) error {
	all := doc.NewObject()
	for _, l := range what {
		list := doc.NewArray()
		if !c.may(l.capability) {
			if len(what) == 1 {
				a.warn("the server declares no %s", l.capability)
			}
		} else {
			items, err := a.walk(ctx, c, l, func(raw json.RawMessage) error {
				if a.flags.output == formatRaw {
					return a.printRaw(raw)
				}
				return nil
			})
			if err != nil {
				return err
			}
			for _, item := range items {
				if matches(match, item, l) {
					list.SetItem(len(list.Items()), item)
				}
			}
		}
		all.Set(l.member, list)
	}
	switch a.flags.output {
	case formatRaw:
		return nil
	case formatJSON:
		return a.printJSON(all.AppendJSON(nil))
	case formatNDJSON:
		return a.lsLines(all, len(what) > 1)
	}
	for _, l := range what {
		if err := a.lsHuman(l, all.Get(l.member).Items(), len(what) > 1, o); err != nil {
			return err
		}
	}
	return nil
}

func matches(match *regexp.Regexp, item *doc.Value, l listing) bool {
	for _, key := range []string{l.id, "name", "title", "description"} {
		if match.MatchString(item.Get(key).Str()) {
			return true
		}
	}
	return false
}

// lsLines writes an item a line; of several lists each says which it is from.
func (a *app) lsLines(all *doc.Value, several bool) error {
	for _, list := range all.Members() {
		for _, item := range list.Value.Items() {
			raw := item.AppendJSON(nil)
			if several {
				raw = append(append(append(append([]byte(`{"list":`), encoded(list.Name)...), `,"item":`...), raw...), '}')
			}
			if err := a.printRaw(raw); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *app) lsHuman(l listing, items []*doc.Value, several bool, o lsOptions) error {
	if !a.outTerminal {
		var rows [][]string
		for _, item := range items {
			row := lsRow(l, item, o.long)
			if several {
				row = append([]string{l.name}, row...)
			}
			rows = append(rows, row)
		}
		return a.tsv(rows)
	}
	s, indent := a.style(true), ""
	if several {
		if len(items) == 0 {
			return nil
		}
		indent = "  "
		if err := a.say(s.bold(l.name) + "\n"); err != nil {
			return err
		}
	}
	if !o.long {
		var rows [][]string
		for _, item := range items {
			rows = append(rows, lsRow(l, item, false))
		}
		return a.say(aligned(s, a.width, indent, nil, rows))
	}
	var b strings.Builder
	for _, item := range items {
		row := lsRow(l, item, true)
		b.WriteString(indent + s.bold(visible.Line(row[1])) + "\n")
		for _, text := range row[2:] {
			if text != "" {
				for line := range strings.Lines(visible.Text(strings.TrimSpace(text))) {
					b.WriteString(indent + "    " + strings.TrimRight(line, "\n") + "\n")
				}
			}
		}
	}
	return a.say(b.String())
}

// lsRow is what is shown of an item: its id and what it is; long adds the form
// it is used in and everything else that fits a line.
func lsRow(l listing, item *doc.Value, long bool) []string {
	id := item.Get(l.id).Str()
	about := item.Get("description").Str()
	if !long {
		if about == "" {
			about = item.Get("title").Str()
		}
		first, _, _ := strings.Cut(strings.TrimSpace(about), "\n")
		return []string{id, first}
	}
	switch l.name {
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
