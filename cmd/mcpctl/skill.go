package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
	"github.com/mainstay-mcp/mainstay/internal/suggest"
	"github.com/mainstay-mcp/mainstay/skills"
)

func newSkillCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "skill",
		Short: "List, show and save the skills of a server",
		Long: `List, show and save the skills of a server: folders of instructions for an
agent, each with a SKILL.md (extension io.modelcontextprotocol/skills).

SKILL is a name, a path such as acme/refunds, or the URI of a SKILL.md. A URI
also finds a skill that the server does not list.

Files are shown and saved only if their size, digest and front matter are those
of the server's own list. That shows that nothing changed on the way. It does
not show that the skill can be trusted: read it before you give it to an agent.`,
		Example: `  mcpctl skill ls https://api.example.com/mcp
  mcpctl skill show https://api.example.com/mcp refunds
  mcpctl skill save https://api.example.com/mcp refunds --to untrusted-skills`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSkillLsCmd(a), newSkillShowCmd(a), newSkillSaveCmd(a))
	return cmd
}

func newSkillLsCmd(a *app) *cobra.Command {
	var long bool
	cmd := &cobra.Command{
		Use:   "ls [SERVER]",
		Short: "List the skills of a server; none of their files is read",
		Example: `  mcpctl skill ls https://api.example.com/mcp
  mcpctl skill ls -l -- ./my-server
  mcpctl skill ls github -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, rest, err := a.skillLine(cmd, args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return failure.Usage("skill ls takes only a server: unexpected operand %s", rest[0])
			}
			return a.dial.With(cmd.Context(), t, func(ctx context.Context, c *connect.Connection) error {
				all, err := skills.List(ctx, c.Client, a.skillOptions(c, skills.WithDynamic())...)
				if err != nil {
					return err
				}
				return a.listSkills(all, long)
			})
		},
	}
	cmd.Flags().BoolVarP(&long, "long", "l", false, "show the number of files, sizes and whole descriptions")
	return cmd
}

func newSkillShowCmd(a *app) *cobra.Command {
	var dynamic bool
	cmd := &cobra.Command{
		Use:   "show [SERVER] SKILL [FILE]",
		Short: "Show the SKILL.md of a skill, or another of its files",
		Example: `  mcpctl skill show :3000/mcp refunds
  mcpctl skill show :3000/mcp refunds references/FORMS.md
  mcpctl skill show -o raw :3000/mcp refunds logo.png > logo.png`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, rest, err := a.skillLine(cmd, args)
			if err != nil {
				return err
			}
			if len(rest) == 0 || len(rest) > 2 {
				return failure.Usage("skill show takes a skill, and at most one file of it")
			}
			var opts []skills.Option
			if dynamic {
				opts = append(opts, skills.WithDynamic())
			}
			return a.dial.With(cmd.Context(), t, func(ctx context.Context, c *connect.Connection) error {
				s, err := findSkill(ctx, c, rest[0], a.skillOptions(c, opts...))
				if err != nil {
					return err
				}
				file := skillManifest
				if len(rest) == 2 {
					file = rest[1]
				}
				content, err := s.ReadFile(ctx, file)
				if err != nil {
					return err
				}
				return a.showSkill(s, file, content)
			})
		},
	}
	cmd.Flags().BoolVar(&dynamic, "dynamic", false, "show generated skills, too: their content cannot be checked")
	return cmd
}

const skillManifest = "SKILL.md"

// largestFile is the size of a message with one file of 16 MiB, which every host has to
// accept, if JSON escapes each of its bytes.
const largestFile = 6*16<<20 + 1<<20

// skillLine returns the server and the other operands. A URI of a skill is never taken for
// that of the server.
func (a *app) skillLine(cmd *cobra.Command, args []string) (target.Target, []string, error) {
	if !cmd.Flags().Changed("max-message") {
		a.flags.MaxMessage = largestFile
	}
	l := target.NewLine(cmd, args)
	if !l.Dashed {
		return a.dial.Server(l)
	}
	operands := l.Operands
	if i := slices.IndexFunc(operands, isSkillURI); i >= 0 {
		l.Operands = operands[:i]
	}
	t, rest, err := a.dial.Server(l)
	return t, append(rest, operands[len(l.Operands):]...), err
}

var withScheme = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]*:`)

func isSkillURI(word string) bool {
	return withScheme.MatchString(word) && strings.HasSuffix(word, "/"+skillManifest)
}

// skillOptions are those of every command about skills, and more.
func (a *app) skillOptions(c *connect.Connection, more ...skills.Option) []skills.Option {
	opts := []skills.Option{skills.WithCallOptions(a.dial.Times())}
	if c.Target.Argv == nil {
		_, host, _ := strings.Cut(target.Shown(c.Target.URL), "://")
		opts = append(opts, skills.WithLabel(host))
	}
	return append(opts, more...)
}

// findSkill returns the skill that a word of the command line names.
func findSkill(ctx context.Context, c *connect.Connection, word string, opts []skills.Option) (*skills.Skill, error) {
	if withScheme.MatchString(word) {
		return skills.Get(ctx, c.Client, word, opts...)
	}
	all, err := skills.List(ctx, c.Client, opts...)
	if err != nil {
		return nil, err
	}
	var found []*skills.Skill
	var names []string
	for _, s := range all {
		if s.Path == word {
			return s, nil
		}
		if s.Name == word {
			found = append(found, s)
		}
		names = append(names, s.Name)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		f := failure.New(failure.KindUsage, mcperrors.Answered, "%d skills have the name %s: give the path or the URI of one", len(found), word)
		for _, s := range found {
			f.Add("uri", "%s", s.URI)
		}
		return nil, f
	}
	f := failure.New(failure.KindNotFound, mcperrors.Answered, "no skill %s in the server's list", word)
	if near := suggest.Nearest(word, names); len(near) > 0 {
		f.Message += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	f.Note = "a server may list only some of its skills: the URI finds the others"
	return nil, f
}

func (a *app) listSkills(all []*skills.Skill, long bool) error {
	for _, s := range all {
		if err := s.Problem(); err != nil {
			a.console.Warn("%s", err)
		}
	}
	switch a.console.Format {
	case console.JSON:
		entries := make([]json.RawMessage, len(all))
		for i, s := range all {
			entries[i] = s.Raw
		}
		return a.console.PrintJSON(console.Encode(map[string]any{"skills": entries}))
	case console.NDJSON, console.Raw:
		for _, s := range all {
			if err := a.console.PrintRaw(console.Compact(s.Raw)); err != nil {
				return err
			}
		}
		return nil
	}
	var rows [][]string
	for _, s := range all {
		about := console.OneLine(s.Description)
		if !long {
			about, _, _ = strings.Cut(strings.TrimSpace(s.Description), "\n")
		}
		row := []string{s.Name, s.URI, about}
		if long {
			row = []string{s.Name, s.URI, skillExtent(s), about}
		}
		rows = append(rows, row)
	}
	return a.console.PrintTable(rows)
}

// skillExtent is how much there is of a skill.
func skillExtent(s *skills.Skill) string {
	switch {
	case s.Dynamic:
		return "generated"
	case s.Problem() != nil:
		return "cannot be loaded"
	case len(s.Files) == 1:
		return "1 file, " + size(int(s.Size()))
	}
	return strconv.Itoa(len(s.Files)) + " files, " + size(int(s.Size()))
}

// showSkill prints a file. With SKILL.md go the origin of the skill and its files.
func (a *app) showSkill(s *skills.Skill, file string, content []byte) error {
	text := utf8.Valid(content)
	switch a.console.Format {
	case console.Raw:
		return a.console.Data(func(w io.Writer) error {
			_, err := w.Write(content)
			return err
		})
	case console.JSON, console.NDJSON:
		shown := map[string]any{"server": s.ID().Server, "skill": s.Raw, "file": file}
		if text {
			shown["text"] = string(content)
		} else {
			shown["blob"] = base64.StdEncoding.EncodeToString(content)
		}
		if a.console.Format == console.JSON {
			return a.console.PrintJSON(console.Encode(shown))
		}
		return a.console.PrintRaw(console.Encode(shown))
	}
	var b strings.Builder
	style := a.console.OutStyle()
	if file == skillManifest {
		b.WriteString(style.Bold(visible.Line(s.Name)) + "  " + visible.Line(s.URI) + "\n")
		b.WriteString(style.Dim("from "+visible.Line(s.ID().Server)+"; "+skillChecks(s)) + "\n")
		var rows [][]string
		for _, f := range s.Files {
			rows = append(rows, []string{f.Path, size(int(f.Size))})
		}
		b.WriteString(console.Aligned(style, a.console.TableWidth(), "  ", nil, rows) + "\n")
	}
	if !text {
		b.WriteString("[" + visible.Line(file) + " " + size(len(content)) + ": -o raw prints it]\n")
		return a.console.Print(b.String())
	}
	b.WriteString(strings.TrimSuffix(visible.Text(string(content)), "\n") + "\n")
	return a.console.Print(b.String())
}

// skillChecks describes what is known about the content of a skill.
func skillChecks(s *skills.Skill) string {
	if s.Dynamic {
		return "generated, so only its front matter is checked"
	}
	return "size, digest and front matter are those of the server's list"
}
