// Package review has the commands that look at what a server offers: snapshot, diff and lint.
package review

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/explain"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/surface"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// NewSnapshot returns the command snapshot.
func NewSnapshot(x *explain.Explainer) *cobra.Command {
	s := &snapshotting{x: x}
	cmd := &cobra.Command{
		Use:   "snapshot [SERVER]",
		Short: "Write what a server offers to one file, to compare it later",
		Long: `Write what a server offers to one JSON file: its name and version, the revision,
capabilities, instructions, tools, resources, templates and prompts. The same
server gives the same file, so a change of it is a change in your repository.
mcpctl diff compares it with a server, and mcpctl lint checks it.

Items are in the order of their names, and members in the order of theirs.
Numbers and texts are as the server sent them, and an invalid item is kept.
Members that change without a change of the server are left out: _meta of items,
and the size and last change of resources. There are no secrets of the command
line and no times.`,
		Example: `  mcpctl snapshot -O surface.json -- ./my-server
  mcpctl snapshot https://api.example.com/mcp -O surface.json
  mcpctl snapshot github | jq '.tools[].name'`,
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd, args) },
	}
	cmd.Flags().StringVarP(&s.file, "out", "O", "", "write this `file`; never one that is not a snapshot")
	return cmd
}

// snapshotting is one run of the command.
type snapshotting struct {
	x    *explain.Explainer
	file string
}

func (s *snapshotting) run(cmd *cobra.Command, args []string) error {
	x := s.x
	t, rest, err := x.Server(target.NewLine(cmd, args))
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return failure.Usage("snapshot takes only a server: unexpected operand %s", rest[0])
	}
	if err := s.mayReplace(); err != nil {
		return err
	}
	return x.With(cmd.Context(), t, func(ctx context.Context, c *connect.Connection) error {
		found, problems := surface.Of(ctx, x.Dialer, c)
		if len(problems) > 0 {
			return problems[0].Err
		}
		if s.file == "" {
			if x.Console.Format == console.NDJSON || x.Console.Format == console.Raw {
				return x.Console.PrintRaw(console.Compact(found.JSON()))
			}
			return x.Console.PrintRaw(found.JSON())
		}
		if err := os.WriteFile(s.file, append(found.JSON(), '\n'), 0o644); err != nil { //nolint:gosec // it is for a repository, and for all to read
			return failure.New(failure.KindOutput, mcperrors.Answered, "%s was not written: %s", s.file, failure.RootCause(err))
		}
		if !x.Console.Quiet {
			x.Console.Note("saved " + s.file + ": " + found.Counts())
		}
		return nil
	})
}

// mayReplace refuses a file that is there and no snapshot.
func (s *snapshotting) mayReplace() error {
	if s.file == "" {
		return nil
	}
	text, err := os.ReadFile(s.file)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(text) == 0:
		return nil
	case err != nil:
		return failure.Unsent("-O: cannot read %s: %s", s.file, failure.RootCause(err))
	}
	if _, err := surface.Parse(text); errors.Is(err, surface.ErrOther) {
		return failure.Unsent("-O: %s is not a snapshot, and is not overwritten: name another file", s.file)
	}
	return nil
}
