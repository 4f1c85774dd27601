package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/proxy"
)

func newProxyCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "proxy [SERVER]",
		Short: "Stand between a host and a server, as the server of its mcp.json",
		Long: `Proxy is the server that a host starts, such as a desktop assistant or an editor. It
passes everything to the real server, a URL or a program, and gives the host what mcpctl
has: a server that dies is started again, a lost session is reopened, logins are those of
"mcpctl auth login", and nothing that may have run is repeated. The host may speak another
era than the server. Put this into the mcp.json of the host:

  {"mcpServers": {"name": {"command": "mcpctl", "args": ["proxy", "https://host/mcp"]}}}

Stdin and stdout carry messages only. Warnings go to stderr. --max-time and --timeout do not
apply: a host decides how long it waits.`,
		Example: `  mcpctl proxy https://api.example.com/mcp
  mcpctl proxy -- npx -y @modelcontextprotocol/server-everything stdio`,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, rest, err := a.dial.Server(target.NewLine(cmd, args))
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return failure.Usage("proxy takes only a server: unexpected operand %s", rest[0])
			}
			return a.proxy(cmd.Context(), t)
		},
	}
}

// proxy serves the host until it closes stdin.
func (a *app) proxy(ctx context.Context, t target.Target) error {
	open, done, err := a.dial.Behind(ctx, t)
	if err != nil {
		return err
	}
	defer done()
	log := slog.New(slog.NewTextHandler(a.console.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	err = proxy.Stdio(ctx, closer(a.console.In), closingWriter{a.console.Out}, open, proxy.WithLogger(log))
	switch {
	case ctx.Err() != nil: // hosts end their servers by a signal
		return failure.Shown(failure.KindTerminated) // or interrupted: its cause decides
	case err != nil:
		return failure.New(failure.KindOutput, a.dial.Sent.Delivery, "%s", err)
	}
	return nil
}

// closer returns r with a Close, which ends reading where r has one.
func closer(r io.Reader) io.ReadCloser {
	if c, ok := r.(io.ReadCloser); ok {
		return c
	}
	return io.NopCloser(r)
}

// closingWriter leaves stdout open: what is printed after the proxy has ended is on stderr.
type closingWriter struct{ io.Writer }

// Close implements [io.Closer].
func (closingWriter) Close() error { return nil }
