package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/gen"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/listing"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
)

// generator writes or checks one file.
type generator struct {
	*app
	file, check, pkg string // of the flags
}

func newGenCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "gen",
		Short: "Write code that calls the tools of a server",
		Example: `  mcpctl gen go :3000/mcp
  mcpctl gen go -O tools.go -- ./my-server
  mcpctl gen go --check tools.go -- ./my-server`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newGenGoCmd(a))
	return cmd
}

func newGenGoCmd(a *app) *cobra.Command {
	g := &generator{app: a}
	cmd := &cobra.Command{
		Use:   "go [SERVER]",
		Short: "Write a Go file with a method and the types of each tool",
		Long: `Write a Go file with a method for each tool of a server, and types for its
arguments and its result. The methods call a client.Caller: a client, or a pool
of servers. A tool that reports an error is an error in Go. A change of a tool
that matters to your code does not compile.

Optional members are pointers, and enumerations are constants. A schema that Go
cannot express is json.RawMessage; its comment has the reason. The text depends
on the tools alone.

--check compares a file with what would be written, for CI: it prints each
difference and exits with 1 if there is one. In a Go file, with the package of
that file:

  //go:generate mcpctl gen go -O tools.go -- ./my-server`,
		Example: `  mcpctl gen go :3000/mcp
  mcpctl gen go https://api.example.com/mcp -O github/tools.go --package github
  mcpctl gen go --check tools.go -- ./my-server`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, rest, err := a.dial.Server(target.NewLine(cmd, args))
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return failure.Usage("gen go takes a server and no other operand: %s", rest[0])
			}
			was, err := g.open()
			if err != nil {
				return err
			}
			return a.dial.With(cmd.Context(), t, func(ctx context.Context, c *connect.Connection) error {
				tools, err := g.tools(ctx, c)
				if err != nil {
					return err
				}
				code := gen.Go(g.pkg, c.ServerInfo().Name, tools)
				switch {
				case g.check != "":
					return g.differs(gen.Changes(was, code))
				case g.file == "":
					return a.console.Data(func(w io.Writer) error {
						_, err := w.Write(code)
						return err
					})
				}
				if err := replaceFile(g.file, code); err != nil {
					return failure.New(failure.KindOutput, mcperrors.Answered, "%s was not written: %s", g.file, failure.RootCause(err))
				}
				if !a.console.Quiet {
					a.console.Note("saved " + g.file + ": " + console.Count(len(tools), "tool", "tools"))
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVarP(&g.file, "out", "O", "", "write this `file`; never one that is not generated")
	cmd.Flags().StringVar(&g.pkg, "package", "", "the `name` of the package (default: that of the file, $GOPACKAGE, or tools)")
	cmd.Flags().StringVar(&g.check, "check", "", "compare this `file` with the tools, and write nothing")
	return cmd
}

// replaceFile writes a file, all of it or none: a build that reads it meanwhile gets the
// old text or the new one.
func replaceFile(path string, data []byte) error {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to
	}
	mode := fs.FileMode(0o644)
	was, err := os.Stat(path)
	switch {
	case err == nil && !was.Mode().IsRegular():
		return os.WriteFile(path, data, mode) // a device or a pipe cannot be replaced
	case err == nil:
		mode = was.Mode().Perm()
	}
	beside := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(beside, path)
	}
	if err != nil {
		_ = os.Remove(beside)
	}
	return err
}

// open reads the file that is to be replaced or checked, and decides the package.
func (g *generator) open() (was []byte, err error) {
	if g.file != "" && g.check != "" {
		return nil, failure.Usage("-O writes a file and --check writes none: use one of them")
	}
	if f := g.console.Format; g.file+g.check == "" && (f == console.JSON || f == console.NDJSON) {
		return nil, failure.Unsent("gen go prints Go code, which is no JSON: leave out -o %s, or write the code with -O FILE", f)
	}
	name := g.file + g.check
	pkg := ""
	if name != "" {
		was, err = os.ReadFile(name)
		switch {
		case err == nil:
			var generated bool
			if pkg, generated = gen.Package(was); !generated {
				f := failure.Usage("%s was not written by mcpctl gen go; name another file", name)
				f.Note = failure.NoteNothingSent
				return nil, f
			}
		case g.check != "" || !errors.Is(err, fs.ErrNotExist):
			f := failure.Usage("cannot read %s: %s", name, failure.RootCause(err))
			f.Note = failure.NoteNothingSent
			if g.check != "" {
				f.AddNote("write it with -O")
			}
			return nil, f
		}
	}
	if g.pkg == "" {
		g.pkg = pkg
	}
	if g.pkg == "" {
		g.pkg, _ = g.console.Env("GOPACKAGE")
	}
	if g.pkg == "" {
		g.pkg = "tools"
	}
	if !gen.IsPackageName(g.pkg) {
		return nil, failure.Usage("%s is not the name of a Go package: use letters and digits", g.pkg)
	}
	return was, nil
}

// tools returns the tools that can be called, and warns about the others.
func (g *generator) tools(ctx context.Context, c *connect.Connection) ([]*doc.Value, error) {
	if !c.May("tools") {
		f := failure.New(failure.KindNotFound, mcperrors.NotSent, "the server declares no tools")
		f.Note = failure.NoteNothingSent
		return nil, f
	}
	items, err := listing.Walk(ctx, g.dial, c, listing.Lists[0], nil)
	if err != nil {
		return nil, err
	}
	var tools []*doc.Value
	seen := map[string]bool{}
	for i, item := range items {
		switch name := item.Get("name"); {
		case name.Kind() != doc.String || name.Str() == "":
			g.console.Warn("tool %d is left out: it has no name", i+1)
		case seen[name.Str()]:
			g.console.Warn("the second tool %s is left out: the name is taken", name.Str())
		case item.Get("inputSchema").Kind() != doc.Object:
			g.console.Warn("the tool %s is left out: its inputSchema is not an object", name.Str())
		default:
			tools = append(tools, item)
			seen[name.Str()] = true
		}
	}
	return tools, nil
}

// differs prints the differences of a file. It fails if there are any.
func (g *generator) differs(changes []gen.Change) error {
	if g.console.Format == console.JSON {
		if changes == nil {
			changes = []gen.Change{}
		}
		if err := g.console.PrintJSON(console.Encode(map[string]any{"file": g.check, "changes": changes})); err != nil {
			return err
		}
	} else {
		for _, c := range changes {
			if err := g.print(c); err != nil {
				return err
			}
		}
	}
	if len(changes) == 0 {
		return nil
	}
	f := failure.New(failure.KindNegative, mcperrors.Answered, "%s does not match the tools of the server", g.check)
	f.Note = "write it again with -O, and adapt the code that no longer compiles"
	return f
}

// print prints one difference on a line.
func (g *generator) print(c gen.Change) error {
	if g.console.Format != console.Human {
		return g.console.PrintRaw(console.Encode(c))
	}
	line := "~ " + c.What + ": " + c.Was + " → " + c.Now
	switch {
	case c.Was == "":
		line = "+ " + c.What + ": " + c.Now
	case c.Now == "":
		line = "- " + c.What + ": " + c.Was
	}
	return g.console.Print(visible.Line(line) + "\n")
}
