package conform

import (
	"encoding/json"
	"os"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks"
)

func newConformInitCmd(s *suite) *cobra.Command {
	return &cobra.Command{
		Use:   "init [SERVER]",
		Short: "Write a file of calls for conform server --calls",
		Long: `Write a file of calls to standard output: for each tool whether it may be
called, and arguments that its schema allows. Only tools with the annotation
readOnlyHint may be called until you set "call" to true. Replace the arguments
by ones with which the tool succeeds; conform server --calls FILE fails if it
does not. Add "changes": ["URI", …] to a tool whose calls change resources.

Nothing is called.`,
		Example: `  mcpctl conform init -- ./my-server > calls.json
  mcpctl conform init https://api.example.com/mcp
  mcpctl conform server --calls calls.json -- ./my-server`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, rest, err := s.Server(target.NewLine(cmd, args))
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return failure.Usage("conform init takes only a server: unexpected operand %s", rest[0])
			}
			return s.init(cmd, t)
		},
	}
}

func (s *suite) init(cmd *cobra.Command, t target.Target) error {
	opts, err := s.conformOptions(cmd, conformOptions{outcomeOptions: outcomeOptions{repeat: 1}})
	if err != nil {
		return err
	}
	subject, done, err := s.subject(cmd.Context(), t, "auto", false)
	if err != nil {
		return err
	}
	defer done()
	live := s.newLive("starting")
	opts.OnProgress = live.progress
	calls, err := checks.Examples(cmd.Context(), subject, opts)
	live.End()
	if err != nil {
		return s.conformFailure(cmd.Context(), t, err)
	}
	text, err := json.MarshalIndent(calls, "", "  ")
	if err != nil {
		return err
	}
	permitted := 0
	for _, tool := range calls.Tools {
		if *tool.Call {
			permitted++
		}
	}
	s.Console.Step("%d of %d tools may be called: those with the annotation readOnlyHint", permitted, len(calls.Tools))
	return s.Console.Print(string(text) + "\n")
}

// readCalls reads a file of calls; an empty name means none.
func readCalls(name string) (conformance.Calls, error) {
	if name == "" {
		return conformance.Calls{}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return conformance.Calls{}, failure.Usage("--calls: %v", err)
	}
	calls, err := conformance.ReadCalls(name, f)
	_ = f.Close() // it was only read
	if err != nil {
		return calls, failure.Usage("--calls: %v", err)
	}
	return calls, nil
}
