package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/example"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/internal/serverfile"
)

func newServerCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "server",
		Short: "List the servers that have names, and trust the files of a project",
		Long: `List the servers that have names, and trust the files of a project. Names are
those of editors and assistants: mcpctl help names has the files and the rules.`,
		Example: `  mcpctl server ls
  mcpctl server trust .mcp.json
  mcpctl server trust --revoke .mcp.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newServerLsCmd(a), newServerTrustCmd(a))
	return cmd
}

func newServerLsCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the servers of editors and assistants, and where they are",
		Long: `List the servers of editors and assistants: what to type for each, its file, its
command line or URL, and whether it is trusted. Nothing is started, and secrets
are hidden. -o json has the files that were read, too.`,
		Example: `  mcpctl server ls
  mcpctl server ls -o json
  mcpctl server ls -q`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			names, servers, err := namedServers(a)
			if err != nil {
				return err
			}
			return listServers(a, names, servers)
		},
	}
}

// namedServer is one line of `server ls`.
type namedServer struct {
	Name string `json:"name"`
	// Server is what to type.
	Server    string   `json:"server"`
	Host      string   `json:"host,omitempty"`
	File      string   `json:"file"`
	Line      int      `json:"line"`
	Transport string   `json:"transport,omitempty"`
	Command   []string `json:"command,omitempty"`
	URL       string   `json:"url,omitempty"`
	// Trusted is false if a person must be asked before the server is used.
	Trusted  bool   `json:"trusted"`
	Disabled bool   `json:"disabled,omitempty"`
	Problem  string `json:"problem,omitempty"`
}

// namedServers returns the servers of the files of hosts as they are written there: variables have
// no values.
func namedServers(a *app) (target.Names, []namedServer, error) {
	names, err := a.dial.Names(false)
	if err != nil {
		return names, nil, err
	}
	written, err := a.dial.Names(true)
	if err != nil {
		return names, nil, err
	}
	servers := []namedServer{}
	for i, s := range names.Servers {
		one := namedServer{Name: s.Name, Server: s.Word, Host: s.In.Host, File: s.In.Path, Line: s.Line, Disabled: s.Disabled}
		var input *serverfile.InputError
		if errors.As(s.Err, &input) {
			one.Problem = "needs"
			for _, id := range input.IDs {
				one.Problem += " --input " + example.Quote([]string{id + "=VALUE"})
			}
		} else if s.Err != nil {
			one.Problem = strings.TrimPrefix(s.Err.Error(), fmt.Sprintf("server %q: ", s.Name))
		}
		if i >= len(written.Servers) || written.Servers[i].Name != s.Name {
			continue // the file has just changed
		}
		w := written.Servers[i].Entry
		for _, value := range w.Secrets {
			if !strings.Contains(value, "${") {
				a.dial.Secrets.Keep("", value)
			}
		}
		switch {
		case w.Command != "":
			one.Transport, one.Command = "stdio", a.dial.Secrets.Command(append([]string{w.Command}, w.Args...))
		case w.URL != "":
			one.Transport, one.URL = "http", a.dial.Secrets.Safe(connect.Address(w))
			if w.SSE {
				one.Transport = "sse"
			}
		}
		asks := !s.In.Own && (w.Command != "" || w.Expanded)
		one.Trusted = !asks || a.dial.Trusts(s.In.Path, s.Digest)
		servers = append(servers, one)
	}
	return names, servers, nil
}

func listServers(a *app, names target.Names, servers []namedServer) error {
	switch a.console.Format {
	case console.NDJSON:
		for _, s := range servers {
			if err := a.console.PrintRaw(console.Encode(s)); err != nil {
				return err
			}
		}
		return nil
	case console.JSON, console.Raw:
		return a.console.PrintJSON(console.Encode(map[string]any{
			"servers": servers, "read": names.Read, "missing": names.Missing, "invalid": names.Invalid,
		}))
	}
	for _, note := range names.Invalid {
		a.console.Warn("%s", note)
	}
	for i, s := range servers {
		if s.Problem != "" {
			a.console.Warn("%s of %s: %s", s.Name, names.Servers[i].In.Shown, s.Problem)
		}
	}
	if len(servers) == 0 {
		a.console.Note("no servers; these files are not there: " + visible.Line(strings.Join(names.Missing, ", ")))
		return nil
	}
	var rows [][]string
	for i, s := range servers {
		runs := s.URL
		if s.Command != nil {
			runs = example.Quote(s.Command)
		}
		rows = append(rows, []string{s.Server, s.state(), s.Transport, fmt.Sprintf("%s:%d", names.Servers[i].In.Shown, s.Line), runs})
	}
	return a.console.PrintTable(rows)
}

// state is what keeps people from using the server, in a few words.
func (s namedServer) state() string {
	switch {
	case s.Disabled:
		return "switched off"
	case strings.HasPrefix(s.Problem, "needs --input"):
		return "needs input"
	case s.Problem != "":
		return "unusable"
	case !s.Trusted:
		return "not trusted"
	}
	return "trusted"
}

func newServerTrustCmd(a *app) *cobra.Command {
	var revoke bool
	cmd := &cobra.Command{
		Use:   "trust FILE",
		Short: "Let names start the programs of a project file, until it changes",
		Long: `Let names start the programs of a project file, and send your variables to its
URLs, until its content changes. Read the printed command lines: they are what
you trust.`,
		Example: `  mcpctl server trust .mcp.json
  mcpctl server trust .vscode/mcp.json
  mcpctl server trust --revoke .mcp.json`,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return failure.Usage("server trust takes one file, such as .mcp.json")
			}
			file, err := filepath.Abs(args[0])
			if err != nil {
				return failure.Usage("%s: %v", args[0], err)
			}
			if revoke {
				return trust(a, file, "")
			}
			names, err := a.dial.Names(true)
			if err != nil {
				return err
			}
			at := slices.IndexFunc(names.Servers, func(s *target.Found) bool { return s.In.Path == file && !s.In.Own })
			if at < 0 {
				f := failure.Usage("%s is no file of this folder in which names are looked up", args[0])
				f.Note = "a file that you name needs no trust: FILE.json#NAME"
				f.Try = append(f.Try, "mcpctl server ls")
				return f
			}
			for _, s := range names.Servers {
				if s.In.Path == file && s.Err == nil && !s.Disabled {
					a.console.Note(connect.Allowed(s.Entry))
				}
			}
			return trust(a, file, names.Servers[at].Digest)
		},
	}
	cmd.Flags().BoolVar(&revoke, "revoke", false, "trust the file no more")
	return cmd
}

func trust(a *app, file, digest string) error {
	if err := a.dial.Trust(file, digest); err != nil {
		return failure.Usage("this cannot be remembered: %s", failure.RootCause(err))
	}
	if digest == "" {
		a.console.Note(visible.Line(file) + " is trusted no more")
	} else {
		a.console.Note("trusted until it changes: " + visible.Line(file))
	}
	return nil
}
