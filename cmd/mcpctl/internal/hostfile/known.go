package hostfile

import (
	"cmp"
	"strings"
)

// System is what decides where the files of hosts are.
type System struct {
	OS string
	// Home is the home folder, Folder the current one; "" for none.
	Home, Folder string
	// Env looks up a variable of the environment.
	Env func(name string) (string, bool)
}

// ClaudeCodeState is the name of the file in which Claude Code keeps everything.
const ClaudeCodeState = ".claude.json"

// Known is a file in which a host looks for servers.
type Known struct {
	// Host is claude, claude-desktop, cursor or vscode, and "" for the ./mcp.json of no host.
	Host string
	// Path is the whole path, and Shown its short form for people.
	Path, Shown string
	// Own is set for files of the user, which no project can change.
	Own bool
	// State is set for the file in which Claude Code keeps everything; Project is the folder whose
	// servers are meant, "" for those of all projects.
	State   bool
	Project string
}

// Known returns the files in the order in which names are looked up: those of the current folder
// first. A host's own files are in the order in which that host prefers them.
func (s System) Known() []Known {
	home := s.Home
	config := s.variable("XDG_CONFIG_HOME", s.join(home, ".config"))
	switch s.OS {
	case "darwin":
		config = s.join(home, "Library", "Application Support")
	case "windows":
		config = s.variable("APPDATA", s.join(home, "AppData", "Roaming"))
	}
	claude := s.join(s.variable("CLAUDE_CONFIG_DIR", home), ClaudeCodeState)
	all := []Known{
		{Path: s.join(s.Folder, "mcp.json"), Shown: "mcp.json"},
		{Host: "claude", Path: claude, Own: true, State: true, Project: s.Folder}, // the servers that only this user has there
		{Host: "claude", Path: s.join(s.Folder, ".mcp.json"), Shown: ".mcp.json"},
		{Host: "vscode", Path: s.join(s.Folder, ".vscode", "mcp.json"), Shown: s.join(".vscode", "mcp.json")},
		{Host: "cursor", Path: s.join(s.Folder, ".cursor", "mcp.json"), Shown: s.join(".cursor", "mcp.json")},
		{Host: "claude", Path: claude, Own: true, State: true},
		{Host: "cursor", Path: s.join(home, ".cursor", "mcp.json"), Own: true},
		{Host: "vscode", Path: s.join(config, "Code", "User", "mcp.json"), Own: true},
		{Host: "claude-desktop", Path: s.join(config, "Claude", "claude_desktop_config.json"), Own: true},
	}
	own := map[string]bool{}
	for _, k := range all {
		own[k.Path] = own[k.Path] || k.Own
	}
	var out []Known
	for _, k := range all {
		switch {
		case k.Path == "":
			continue // there is no such folder
		case !k.Own && own[k.Path]:
			continue // the current folder is the home folder
		}
		k.Shown = cmp.Or(k.Shown, k.Path)
		out = append(out, k)
	}
	return out
}

func (s System) variable(name, otherwise string) string {
	if s.Env != nil {
		if value, ok := s.Env(name); ok && value != "" {
			return value
		}
	}
	return otherwise
}

// join returns a path of the system, "" below a folder that there is not.
func (s System) join(folder string, names ...string) string {
	if folder == "" {
		return ""
	}
	return strings.TrimRight(folder, s.separator()) + s.separator() + strings.Join(names, s.separator())
}

func (s System) separator() string {
	if s.OS == "windows" {
		return `\`
	}
	return "/"
}

// Variables adds those that editors set to a lookup. workspace is the folder of the project.
func (s System) Variables(workspace string, lookup func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		switch name {
		case "workspaceFolder":
			return workspace, workspace != ""
		case "workspaceFolderBasename":
			return workspace[strings.LastIndex(workspace, s.separator())+1:], workspace != ""
		case "userHome":
			return s.Home, s.Home != ""
		case "pathSeparator":
			return s.separator(), true
		}
		return lookup(name)
	}
}

// Workspace returns the folder of the project of a file, which has its whole path.
func (s System) Workspace(path string) string {
	separator := s.separator()
	folder := path[:max(0, strings.LastIndex(path, separator))]
	for _, host := range []string{".vscode", ".cursor"} {
		folder = strings.TrimSuffix(folder, separator+host)
	}
	return folder
}
