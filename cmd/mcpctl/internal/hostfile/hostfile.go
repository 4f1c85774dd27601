// Package hostfile knows the files of MCP hosts: where they are, and the lines that start a server.
package hostfile

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

// Hosts are those whose files are known. Generic is the form that most others read.
var Hosts = []string{"claude", "cursor", "vscode", "generic"}

// TokenVariable is the variable that the lines take the token of a proxy from.
const TokenVariable = "MCPCTL_PROXY_TOKEN"

// Entry is one server: a program, or a URL.
type Entry struct {
	Name string
	// Command is the program and its arguments, nil for a URL.
	Command []string
	URL     string
	// Token is set if the URL needs a token. The lines have its place, never its value.
	Token bool
}

// server is one entry of a file. Members that do not apply are left out.
type server struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// input is a value that VS Code asks for and keeps.
type input struct {
	Type        string `json:"type"`
	ID          string `json:"id"`
	Description string `json:"description"`
	Password    bool   `json:"password"`
}

type file struct {
	Inputs     []input           `json:"inputs,omitempty"`
	Servers    map[string]server `json:"servers,omitempty"`
	MCPServers map[string]server `json:"mcpServers,omitempty"`
}

// Lines returns the text for the file of a host, one of [Hosts].
func Lines(host string, e Entry) []byte {
	var f file
	s := server{URL: e.URL}
	if len(e.Command) > 0 {
		s.Command, s.Args = e.Command[0], e.Command[1:]
	}
	place := "${" + TokenVariable + "}"
	switch host {
	case "vscode":
		const id = "mcpctl-proxy-token"
		place, s.Type = "${input:"+id+"}", "stdio"
		if e.URL != "" {
			s.Type = "http"
		}
		if e.Token {
			f.Inputs = []input{{"promptString", id, "Token of mcpctl proxy", true}}
		}
	case "cursor":
		place = "${env:" + TokenVariable + "}"
	case "generic":
		if e.URL != "" {
			s.Type = "http"
		}
	}
	if e.Token {
		s.Headers = map[string]string{"Authorization": "Bearer " + place}
	}
	if host == "vscode" {
		f.Servers = map[string]server{e.Name: s}
	} else {
		f.MCPServers = map[string]server{e.Name: s}
	}
	return console.Indent(console.Encode(f))
}

// Place returns the file that the lines of a host belong into.
func Place(host, goos string) string {
	switch host {
	case "claude":
		switch goos {
		case "darwin":
			return "~/Library/Application Support/Claude/claude_desktop_config.json"
		case "windows":
			return `%APPDATA%\Claude\claude_desktop_config.json`
		}
		return "~/.config/Claude/claude_desktop_config.json"
	case "cursor":
		if goos == "windows" {
			return `.cursor\mcp.json of a project, or %USERPROFILE%\.cursor\mcp.json`
		}
		return ".cursor/mcp.json of a project, or ~/.cursor/mcp.json"
	case "vscode":
		return filepath.FromSlash(".vscode/mcp.json") + ` of a project, or what "MCP: Open User Configuration" opens`
	}
	return "the file with mcpServers of the host"
}

// runners start a program that an operand names.
var runners = []string{"npx", "bunx", "uvx", "pipx", "node", "bun", "deno", "python", "python3", "uv", "docker", "podman", "go"}

// subcommands come between a runner and the name of the program.
var subcommands = []string{"run", "exec", "dlx", "tool", "x"}

var notInNames = lazyregexp.New(`[^a-z0-9]+`)

// Name derives the name of a server from its program or URL: letters, digits and hyphens.
func Name(argv []string, address string) string {
	text := address
	if u, err := url.Parse(address); len(argv) == 0 && err == nil {
		text = u.Host
		if !strings.HasPrefix(text, "localhost") && !strings.Contains(text, "[") && strings.Trim(text, "0123456789.:") != "" {
			text = u.Hostname() // ports matter only where one host has many servers
		}
	}
	if len(argv) > 0 {
		text = program(argv)
	}
	if text = strings.Trim(notInNames.ReplaceAllString(strings.ToLower(text), "-"), "-"); text == "" {
		return "server"
	}
	return text
}

// program returns what names a program: its file, or the package that a runner starts.
func program(argv []string) string {
	name := base(argv[0])
	if slices.Contains(runners, name) {
		operand := slices.IndexFunc(argv[1:], func(arg string) bool {
			return !strings.HasPrefix(arg, "-") && !slices.Contains(subcommands, arg)
		})
		if operand < 0 {
			return name
		}
		name = base(argv[1+operand])
	}
	if at := strings.LastIndex(name, "@"); at > 0 {
		name = name[:at]
	}
	for _, part := range []string{"mcp-server-", "server-", "mcp-"} {
		if rest, found := strings.CutPrefix(name, part); found && rest != "" {
			return rest
		}
	}
	for _, part := range []string{"-mcp-server", "-server", "-mcp"} {
		if rest, found := strings.CutSuffix(name, part); found && rest != "" {
			return rest
		}
	}
	return name
}

// base returns the last part of a path of any system, without the ending of a program.
func base(path string) string {
	path = strings.TrimRight(path, `/\`)
	path = path[strings.LastIndexAny(path, `/\`)+1:]
	for _, ending := range []string{".exe", ".cmd", ".js", ".mjs", ".ts", ".py"} {
		if rest, found := strings.CutSuffix(path, ending); found && rest != "" {
			return rest
		}
	}
	return path
}
