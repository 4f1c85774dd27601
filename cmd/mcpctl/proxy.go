package main

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/hostfile"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/proxy"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

func newProxyCmd(a *app) *cobra.Command {
	var o proxyOptions
	cmd := &cobra.Command{
		Use:   "proxy [SERVER]",
		Short: "Stand between a host and a server, as the server of its mcp.json",
		Long: `Proxy is the server that a host starts, such as a desktop assistant or an
editor. It passes everything to the real server, a URL or a program, and gives
the host what mcpctl has: a server that dies is started again, a lost session is
reopened, a person is logged in, and nothing that may have run is repeated. The
host may speak another era than the server. Put this into the mcp.json of the
host:

  {"mcpServers": {"NAME": {"command": "mcpctl",
                           "args": ["proxy", "https://h/mcp"]}}}

--print-config prints these lines for your host and changes nothing.

Logins are those of "mcpctl auth login". If there is none, the first call of a
tool asks you to log in: through the host if it can open a page, else in your
browser. All proxies together ask once, and not again for ten minutes if you
refuse. --login changes that.

With --config one proxy has all servers of a file, such as an mcp.json. Names of
tools and prompts then begin with the name of their server and two underscores.
A server that is down fails its own calls only.

The description and the lists of servers are kept in the cache folder of the
user, so that the host gets them at once at the next start;
MCPCTL_PROXY_CACHE names another folder, and --no-cache keeps nothing.

Stdin and stdout carry messages only. Warnings go to stderr, and so do errors,
whose form -o chooses. --max-time and --timeout are refused: a host decides how
long it waits.

With --listen hosts reach the proxy by a URL instead. Only this machine can
connect, with a token that is kept in a file. Each session has a server of its
own, unless --share says that one may serve all hosts: then it can ask none of
them for anything. Headers of the hosts' requests reach a server behind a URL if
--forward-header names them.`,
		Example: `  mcpctl proxy https://api.example.com/mcp
  mcpctl proxy -- npx -y @modelcontextprotocol/server-everything stdio
  mcpctl proxy --config mcp.json
  mcpctl proxy --print-config vscode https://api.example.com/mcp
  mcpctl proxy --log requests.ndjson --health :9090 https://api.example.com/mcp
  mcpctl proxy --listen :8080 -- npx -y @modelcontextprotocol/server-everything stdio`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range []string{"max-time", "timeout"} {
				if cmd.Flags().Changed(name) {
					return failure.Usage("proxy has no --%s: the host decides how long it waits", name)
				}
			}
			if o.hostTimeout < 0 {
				return failure.Usage("--host-timeout must not be negative")
			}
			if err := o.checkForward(); err != nil {
				return err
			}
			if o.config != "" {
				if len(args) > 0 {
					return failure.Usage("with --config the servers are those of the file: unexpected operand %s", args[0])
				}
				if o.printFor != "" {
					return failure.Usage("--print-config prints the lines for one server: leave out --config")
				}
				if typed := o.login.flags.typed(); len(typed) > 0 {
					return failure.Usage("%s is for one server: leave out --config", typed[0][0])
				}
				return a.proxyFile(cmd.Context(), &o)
			}
			t, rest, err := a.dial.Server(target.NewLine(cmd, args))
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return failure.Usage("proxy takes only a server: unexpected operand %s", rest[0])
			}
			if o.printFor != "" {
				return a.printConfig(cmd, t, &o)
			}
			return a.proxyTo(cmd.Context(), &o, []target.Named{{Target: t}})
		},
	}
	cmd.Flags().StringVar(&o.config, "config", "", "`file` of servers, such as an mcp.json: all of them, instead of SERVER")
	cmd.Flags().BoolVar(&o.noCache, "no-cache", false, "do not keep the lists of the server for the next start")
	cmd.Flags().DurationVar(&o.hostTimeout, "host-timeout", 0, "`time` after which the host gives up, such as 60s; the proxy answers before it")
	cmd.Flags().Var(flags.Choice(&o.printFor, "", hostfile.Hosts...), "print-config", "print the lines for the file of a `host` and exit: claude, cursor, vscode or generic")
	cmd.Flags().BoolVar(&o.share, "share", false, "one server for all hosts; it can ask none of them for anything")
	cmd.Flags().BoolVar(&o.checkArgs, "check-arguments", false, "check the arguments of tools before they are sent")
	flags.Texts(cmd.Flags(), &o.forward, "forward-header", "`name` of a header of the hosts' requests that a server behind a URL gets, with --listen (repeatable)")
	o.watcherFlags.register(cmd.Flags())
	o.listener.register(cmd.Flags())
	o.login.register(cmd.Flags())
	return cmd
}

// proxyOptions are the flags of "mcpctl proxy".
type proxyOptions struct {
	listener
	watcherFlags
	login            proxyLogin
	config, printFor string
	noCache          bool
	share, checkArgs bool
	forward          []string
	hostTimeout      time.Duration
	opts             []proxy.Option // of --forward-header
}

// checkForward reads --forward-header.
func (o *proxyOptions) checkForward() error {
	if len(o.forward) == 0 {
		return nil
	}
	if o.address == "" {
		return failure.Usage("--forward-header needs --listen: a host sends no headers over stdin")
	}
	opt, err := proxy.WithForwardedHeaders(o.forward...)
	if err != nil {
		return failure.Usage("--forward-header: %v", err)
	}
	o.opts = append(o.opts, opt)
	return nil
}

// proxyFile puts all servers of a file behind one proxy.
func (a *app) proxyFile(ctx context.Context, o *proxyOptions) error {
	servers, err := a.dial.File(o.config)
	if err != nil {
		return err
	}
	return a.proxyTo(ctx, o, servers)
}

// proxyTo opens the way to one server without a name, or to several.
func (a *app) proxyTo(ctx context.Context, o *proxyOptions, servers []target.Named) error {
	if len(o.forward) > 0 {
		if !slices.ContainsFunc(servers, func(s target.Named) bool { return s.Target.Argv == nil }) {
			return failure.Usage("--forward-header is for a server behind a URL: a program gets no headers")
		}
		a.dial.Forward = proxy.ForwardedHeaders
	}
	watch, err := a.observe(ctx, &o.watcherFlags)
	if err != nil {
		return err
	}
	defer watch.end()
	var all []proxy.Named
	var store toolcache.Store // of all of them
	var closers []func()
	defer func() {
		for _, done := range closers {
			done()
		}
	}()
	for _, s := range servers {
		if err := o.login.prepare(a, s.Target); err != nil {
			return err
		}
		open, done, err := a.dial.Behind(ctx, s.Target, s.Name)
		if err != nil {
			return err
		}
		closers = append(closers, done)
		named := proxy.Named{Name: s.Name, Target: watch.target(s.Name, open)}
		if !o.noCache {
			kept, identity, err := a.dial.Answers(s.Target)
			if err != nil {
				return err
			}
			if kept != nil {
				store, named.Identity = kept, identity
			}
		}
		all = append(all, named)
	}
	opts := append(append(watch.opts, o.opts...), proxy.WithHostTimeout(o.hostTimeout))
	if o.share {
		opts = append(opts, proxy.WithSharedServer())
	}
	if o.checkArgs {
		opts = append(opts, proxy.WithArgumentCheck())
	}
	if store != nil {
		opts = append(opts, proxy.WithCache(store, all[0].Identity))
	}
	if len(all) != 1 || all[0].Name != "" {
		return a.proxy(ctx, proxy.Servers(all...), o, opts)
	}
	return a.proxy(ctx, all[0].Target, o, opts)
}

// proxy serves the host until it closes stdin, or all hosts until ctx ends.
func (a *app) proxy(ctx context.Context, to proxy.Server, o *proxyOptions, opts []proxy.Option) error {
	log := slog.New(slog.NewTextHandler(a.console.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
	opts = append(opts, proxy.WithLogger(log))
	if o.address != "" {
		return a.listen(ctx, &o.listener, to, log, opts)
	}
	in, out, restore := a.hostStreams()
	defer restore()
	err := proxy.Stdio(ctx, in, out, to, opts...)
	switch {
	case ctx.Err() != nil: // hosts end their servers by a signal
		return failure.Shown(failure.KindTerminated) // or interrupted: its cause decides
	case err != nil:
		return failure.New(failure.KindOutput, a.dial.Sent.Delivery, "%s", err)
	}
	return nil
}
