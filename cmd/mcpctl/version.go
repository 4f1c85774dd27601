package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func newVersionCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Which mcpctl this is",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version   string        `json:"version"`
				Commit    string        `json:"commit,omitempty"`
				Go        string        `json:"go"`
				Platform  string        `json:"platform"`
				Revisions []mcp.Version `json:"revisions"`
			}{client.Version, commit(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH, mcp.Versions()}
			switch a.flags.output {
			case formatJSON:
				return a.printJSON(encoded(v))
			case formatNDJSON, formatRaw:
				return a.printRaw(encoded(v))
			}
			text := "mcpctl " + v.Version
			if v.Commit != "" {
				text += " (" + v.Commit[:min(12, len(v.Commit))] + ")"
			}
			return a.say(fmt.Sprintf("%s, %s, %s\nMCP revisions %v\n", text, v.Go, v.Platform, v.Revisions))
		},
	}
}

// commit is what the Go tool noted when it built the program.
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

// marked is text from a server on one line, safe for a terminal.
func marked(s string) string { return visible.Line(s) }
