package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func newVersionCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version of mcpctl",
		Example: `  mcpctl version
  mcpctl version -o json
  mcpctl --version`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version   string        `json:"version"`
				Commit    string        `json:"commit,omitempty"`
				Go        string        `json:"go"`
				Platform  string        `json:"platform"`
				Revisions []mcp.Version `json:"revisions"`
			}{client.Version, commit(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, mcp.Versions()}
			switch a.console.Format {
			case console.JSON:
				return a.console.PrintJSON(console.Encode(v))
			case console.NDJSON, console.Raw:
				return a.console.PrintRaw(console.Encode(v))
			}
			return a.console.Print("mcpctl version " + versionText() + "\n") // as Cobra prints --version
		},
	}
}

// versionText is the version for people.
func versionText() string {
	text := client.Version
	if c := commit(); c != "" {
		text += " (" + c[:min(12, len(c))] + ")"
	}
	return fmt.Sprintf("%s, %s, %s/%s\nMCP revisions %v", text, runtime.Version(), runtime.GOOS, runtime.GOARCH, mcp.Versions())
}

// commit is the revision that the Go tool recorded in the program.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}
