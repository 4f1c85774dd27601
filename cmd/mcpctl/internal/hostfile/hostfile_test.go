package hostfile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/serverfile"
)

// What is written can be read back by the reader of such files.
func TestLines(t *testing.T) {
	t.Parallel()
	lookup := func(string) (string, bool) { return "the-token", true }
	argv := []string{"mcpctl", "proxy", "--", "prog", `a "b" <c>`}
	for _, host := range Hosts {
		for name, e := range map[string]Entry{
			"program": {Name: "files", Command: argv},
			"open":    {Name: "files", URL: "http://127.0.0.1:8080/mcp"},
			"token":   {Name: "files", URL: "http://127.0.0.1:8080/mcp", Token: true},
		} {
			t.Run(host+" "+name, func(t *testing.T) {
				t.Parallel()
				text := Lines(host, e)
				f, err := serverfile.Parse(text, lookup)
				require.NoError(t, err, string(text))
				require.Empty(t, f.Notes)
				require.Len(t, f.Entries, 1)
				got := f.Entries[0]
				require.NoError(t, got.Err)
				require.Equal(t, "files", got.Name)
				require.Equal(t, e.URL, got.URL)
				require.NotContains(t, string(text), "the-token")
				if e.Command != nil {
					require.Equal(t, argv, append([]string{got.Command}, got.Args...))
				}
				if e.Token {
					require.Equal(t, [][2]string{{"Authorization", "Bearer the-token"}}, got.Header)
				}
			})
		}
	}
	require.Equal(t, `{
  "inputs": [
    {
      "type": "promptString",
      "id": "mcpctl-proxy-token",
      "description": "Token of mcpctl proxy",
      "password": true
    }
  ],
  "servers": {
    "x": {
      "type": "http",
      "url": "http://h/mcp",
      "headers": {
        "Authorization": "Bearer ${input:mcpctl-proxy-token}"
      }
    }
  }
}`, string(Lines("vscode", Entry{Name: "x", URL: "http://h/mcp", Token: true})))
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range [][3]string{
		{"claude", "darwin", "~/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude", "windows", `%APPDATA%\Claude\claude_desktop_config.json`},
		{"claude", "linux", "~/.config/Claude/claude_desktop_config.json"},
		{"cursor", "linux", ".cursor/mcp.json of a project, or ~/.cursor/mcp.json"},
	} {
		require.Equal(t, tt[2], Place(tt[0], tt[1]))
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for want, argv := range map[string][]string{
		"filesystem": {"npx", "-y", "@modelcontextprotocol/server-filesystem@1.2", "/srv"},
		"everything": {`C:\bin\npx.cmd`, "@modelcontextprotocol/server-everything"},
		"time":       {"uvx", "mcp-server-time"},
		"git":        {"docker", "run", "-i", "--rm", "mcp/git"},
		"notes":      {"python3", "/opt/notes.py"},
		"refserver":  {"./bin/refserver", "-v"},
		"github":     {"github-mcp-server", "stdio"},
		"server":     {"???"},
	} {
		require.Equal(t, want, Name(argv, ""))
	}
	for address, want := range map[string]string{
		"https://api.example.com/mcp": "api-example-com", "https://api.example.com:8443/mcp": "api-example-com", "http://localhost:3000/mcp": "localhost-3000",
		"http://127.0.0.1:80/": "127-0-0-1-80", "http://[::1]:3/": "1-3",
	} {
		require.Equal(t, want, Name(nil, address))
	}
}
