package completion

import (
	_ "embed"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
)

// The scripts are not those of Cobra: these evaluate what was typed, and insert unquoted what is
// common to several words. With the names of a stranger's tools that would run commands.
var (
	//go:embed mcpctl.bash
	bash string
	//go:embed mcpctl.zsh
	zsh string
	//go:embed mcpctl.fish
	fish string
)

// New returns the command that prints the script of a shell.
func New(c *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print the script that completes command lines in a shell",
		Long: `Print the script that completes command lines in a shell: commands, flags, the
servers that mcpctl server ls knows, and the tools, arguments, values, resources
and prompts of a server. It needs no other package. To load it in every new
shell:

  bash        cd ~/.local/share/bash-completion/completions
              mcpctl completion bash > mcpctl
              or, without the package bash-completion, in ~/.bashrc:
              source <(mcpctl completion bash)
  zsh         mcpctl completion zsh > "${fpath[1]}/_mcpctl"
  fish        mcpctl completion fish > ~/.config/fish/completions/mcpctl.fish
  PowerShell  mcpctl completion powershell | Out-String | Invoke-Expression

What a server offers is known from its last list: mcpctl ls SERVER, or a call,
writes it to mainstay/completion in your cache folder. MCPCTL_COMPLETION_CACHE
names another folder; off turns it off. A program is never started to complete a
line, so one after -- is not known. A server that is typed as a URL, and was
never listed, is asked for its list without your login or headers, for at most
150 ms.`,
		Example: `  mcpctl completion bash
  mcpctl completion zsh
  mcpctl completion fish`,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return failure.Usage("name one shell: bash, zsh, fish or powershell")
			}
			if args[0] == "powershell" { // Cobra's script escapes the words
				return cmd.Root().GenPowerShellCompletionWithDesc(c.Out)
			}
			script, known := map[string]string{"bash": bash, "zsh": zsh, "fish": fish}[args[0]]
			if !known {
				return failure.Usage("there is no script for %s: name bash, zsh, fish or powershell", args[0])
			}
			return c.Print(script)
		},
	}
}
