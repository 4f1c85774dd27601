package main

import (
	"context"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/skills"
)

func newSkillSaveCmd(a *app) *cobra.Command {
	var to, label string
	cmd := &cobra.Command{
		Use:   "save [SERVER] SKILL",
		Short: "Save all files of a skill below a folder",
		Long: `Save all files of a skill below a folder, and print where. All files are read
and checked before the first is written. The path begins with the name of the
server, so that skills of two servers never meet. A folder that exists is left
alone: remove it first. No file becomes executable.

Keep saved skills outside the folders in which your agent looks for skills of
your own.`,
		Example: `  mcpctl skill save :3000/mcp refunds --to untrusted-skills
  mcpctl skill save https://api.example.com/mcp acme/refunds
  mcpctl skill save --label shop refunds -- ./my-server`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, rest, err := a.skillLine(cmd, args)
			if err != nil {
				return err
			}
			if len(rest) != 1 {
				return failure.Usage("skill save takes one skill")
			}
			var opts []skills.Option
			if label != "" {
				opts = append(opts, skills.WithLabel(label))
			}
			return a.dial.With(cmd.Context(), t, func(ctx context.Context, c *connect.Connection) error {
				s, err := findSkill(ctx, c, rest[0], a.skillOptions(c, opts...))
				if err != nil {
					return err
				}
				contents, err := readSkill(ctx, s)
				if err != nil {
					return err
				}
				folder, err := writeSkill(to, s, contents)
				if err != nil {
					f := failure.New(failure.KindOutput, mcperrors.Answered, "the skill was not saved: %s", failure.RootCause(err))
					f.Add("folder", "%s", folder)
					return f
				}
				return a.savedSkill(folder, s)
			})
		},
	}
	cmd.Flags().StringVar(&to, "to", ".", "the `folder` to save it below")
	cmd.Flags().StringVar(&label, "label", "", "your `name` of the server, for the path (default: its host and path, or its program)")
	return cmd
}

// readSkill reads all files of a skill, in their order.
func readSkill(ctx context.Context, s *skills.Skill) ([][]byte, error) {
	if err := s.Problem(); err != nil {
		return nil, err
	}
	contents := make([][]byte, len(s.Files))
	for i, f := range s.Files {
		var err error
		if contents[i], err = s.ReadFile(ctx, f.URI); err != nil {
			return nil, err
		}
	}
	return contents, nil
}

// writeSkill writes the files of a skill below a folder and returns the folder of the
// skill. Nothing outside is touched, whatever the paths and the links below it are. It
// leaves nothing of a skill that it cannot write whole.
func writeSkill(to string, s *skills.Skill, contents [][]byte) (folder string, err error) {
	local, err := filepath.Localize(s.ID().Folder())
	folder = filepath.Join(to, local)
	if err != nil {
		return to, err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return to, err
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return to, err
	}
	defer func() { _ = root.Close() }()
	if err := root.MkdirAll(filepath.Dir(local), 0o755); err != nil {
		return folder, err
	}
	if err := root.Mkdir(local, 0o755); err != nil { // ours alone: it did not exist
		return folder, err
	}
	for i, f := range s.Files {
		if err := writeNew(root, path.Join(filepath.ToSlash(local), f.Path), contents[i]); err != nil {
			_ = root.RemoveAll(local)
			return folder, err
		}
	}
	return folder, nil
}

// writeNew writes a file that does not exist yet.
func writeNew(root *os.Root, name string, content []byte) error {
	local, err := filepath.Localize(name)
	if err != nil {
		return err
	}
	if err := root.MkdirAll(filepath.Dir(local), 0o755); err != nil {
		return err
	}
	file, err := root.OpenFile(local, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

func (a *app) savedSkill(folder string, s *skills.Skill) error {
	if a.console.Format == console.Human {
		return a.console.PrintSeparated([][]string{{folder}})
	}
	files := make([]string, len(s.Files))
	for i, f := range s.Files {
		files[i] = filepath.Join(folder, filepath.FromSlash(f.Path))
	}
	saved := console.Encode(map[string]any{"folder": folder, "files": files})
	if a.console.Format == console.JSON {
		return a.console.PrintJSON(saved)
	}
	return a.console.PrintRaw(saved)
}
