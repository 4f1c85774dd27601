package hostfile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKnown(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		system System
		want   []string
	}{
		"linux": {
			System{OS: "linux", Home: "/home/me", Folder: "/proj"},
			[]string{
				" /proj/mcp.json", "claude /home/me/.claude.json /proj", "claude /proj/.mcp.json", "vscode /proj/.vscode/mcp.json", "cursor /proj/.cursor/mcp.json",
				"claude /home/me/.claude.json ", "cursor /home/me/.cursor/mcp.json", "vscode /home/me/.config/Code/User/mcp.json", "claude-desktop /home/me/.config/Claude/claude_desktop_config.json",
			},
		},
		"linux with other folders": {
			System{OS: "linux", Home: "/home/me", Folder: "/", Env: func(name string) (string, bool) {
				value, ok := map[string]string{"XDG_CONFIG_HOME": "/cfg", "CLAUDE_CONFIG_DIR": "/cl"}[name]
				return value, ok
			}},
			[]string{
				" /mcp.json", "claude /cl/.claude.json /", "claude /.mcp.json", "vscode /.vscode/mcp.json", "cursor /.cursor/mcp.json",
				"claude /cl/.claude.json ", "cursor /home/me/.cursor/mcp.json", "vscode /cfg/Code/User/mcp.json", "claude-desktop /cfg/Claude/claude_desktop_config.json",
			},
		},
		"darwin, in the home folder": {
			System{OS: "darwin", Home: "/Users/me", Folder: "/Users/me"},
			[]string{
				" /Users/me/mcp.json", "claude /Users/me/.claude.json /Users/me", "claude /Users/me/.mcp.json", "vscode /Users/me/.vscode/mcp.json",
				"claude /Users/me/.claude.json ", "cursor /Users/me/.cursor/mcp.json", "vscode /Users/me/Library/Application Support/Code/User/mcp.json",
				"claude-desktop /Users/me/Library/Application Support/Claude/claude_desktop_config.json",
			},
		},
		"windows": {
			System{OS: "windows", Home: `E:\me`, Folder: `D:\p`},
			[]string{
				` D:\p\mcp.json`, `claude E:\me\.claude.json D:\p`, `claude D:\p\.mcp.json`, `vscode D:\p\.vscode\mcp.json`, `cursor D:\p\.cursor\mcp.json`,
				`claude E:\me\.claude.json `, `cursor E:\me\.cursor\mcp.json`, `vscode E:\me\AppData\Roaming\Code\User\mcp.json`,
				`claude-desktop E:\me\AppData\Roaming\Claude\claude_desktop_config.json`,
			},
		},
		"no home": {
			System{OS: "linux", Folder: "/p"},
			[]string{" /p/mcp.json", "claude /p/.mcp.json", "vscode /p/.vscode/mcp.json", "cursor /p/.cursor/mcp.json"},
		},
		"nothing": {System{OS: "linux"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, k := range tt.system.Known() {
				text := k.Host + " " + k.Path
				if k.State {
					text += " " + k.Project
				}
				require.NotEmpty(t, k.Shown)
				got = append(got, text)
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	windows := System{OS: "windows", Home: `C:\me`}
	require.Equal(t, `D:\p`, windows.Workspace(`D:\p\.vscode\mcp.json`))
	unix := System{OS: "linux", Home: "/me"}
	require.Equal(t, "/p", unix.Workspace("/p/.cursor/mcp.json"))
	require.Equal(t, "/p", unix.Workspace("/p/.mcp.json"))
	none := func(string) (string, bool) { return "", false }
	for name, want := range map[string]string{"workspaceFolder": `D:\p`, "workspaceFolderBasename": "p", "userHome": `C:\me`, "pathSeparator": `\`} {
		got, ok := windows.Variables(`D:\p`, none)(name)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	_, ok := unix.Variables("", none)("workspaceFolder")
	require.False(t, ok)
	_, ok = unix.Variables("/p", none)("OTHER")
	require.False(t, ok)
}
