package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/refserver"
)

// Exit codes: a clean end, a failure while serving, wrong usage.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

const usage = `usage: refserver [flags]

The reference MCP server, over stdin and stdout or, with --http, over
streamable HTTP at /mcp. Logs are JSON lines on stderr.

flags:
  --http ADDR         serve HTTP on ADDR, such as 127.0.0.1:8090 (port 0: a free one);
                      without a host only this machine is served
  --families LIST     the tool families to serve, comma separated (default: %s)
  --data DIR          keep data in DIR (default: a temporary folder, removed at the end)
  --allow-host NAMES  host names accepted in Host and Origin besides this machine's own
  --debug             log at debug level

environment:
  ARTIFACTS_BASE_DIR        where store_artifact writes (default: DIR/artifacts)
  VALIDATION_RESOURCES_DIR  where validate_artifact finds its checklists (default: built in)
`

// config is what the command line and the environment ask for.
type config struct {
	http  string
	debug bool
	opts  refserver.Options
}

// run is the program: it returns the exit code when the input ends, ctx is
// done, or serving fails.
func run(ctx context.Context, args []string, env func(string) (string, bool), stdin io.Reader, stdout, stderr io.Writer) int {
	cfg, err := parse(args, env)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(stderr, usage, strings.Join(refserver.Families(), ","))
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "refserver: %v\nrefserver --help shows the flags\n", err)
		return exitUsage
	}
	level := slog.LevelInfo
	if cfg.debug {
		level = slog.LevelDebug
	}
	log := refserver.NewLogger(stderr, level)
	cfg.opts.Logger = log
	srv, err := refserver.New(cfg.opts)
	if err != nil {
		fmt.Fprintf(stderr, "refserver: %v\n", err)
		return exitFailed
	}
	dir, temporary := srv.DataDir()
	log.Info("server_started", "name", refserver.Name, "version", refserver.Version, "data_dir", dir, "temporary", temporary)
	err = serve(ctx, srv, cfg, log, stdin, stdout)
	if cerr := srv.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		log.Error("server_failed", "error", err.Error())
		return exitFailed
	}
	log.Info("server_stopped")
	return exitOK
}

func serve(ctx context.Context, srv *refserver.Server, cfg *config, log *slog.Logger, stdin io.Reader, stdout io.Writer) error {
	if cfg.http == "" {
		log.Info("standalone mode: serving stdio")
		return srv.ServeStdio(ctx, stdin, stdout)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", cfg.http)
	if err != nil {
		return err
	}
	log.Info("listening", "url", "http://"+l.Addr().String()+refserver.Path)
	return srv.Serve(ctx, l)
}

// parse reads flags and environment. A flag wins over a variable.
func parse(args []string, env func(string) (string, bool)) (*config, error) {
	fs := flag.NewFlagSet("refserver", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // run prints the error
	var (
		addr     = fs.String("http", "", "")
		families = fs.String("families", strings.Join(refserver.Families(), ","), "")
		data     = fs.String("data", "", "")
		hosts    = fs.String("allow-host", "", "")
		debug    = fs.Bool("debug", false, "")
	)
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	cfg := &config{debug: *debug, opts: refserver.Options{DataDir: *data, Families: list(*families)}}
	if err := refserver.CheckFamilies(cfg.opts.Families); err != nil {
		return nil, err
	}
	cfg.opts.AllowedHosts = list(strings.ToLower(*hosts))
	cfg.opts.ArtifactsDir, _ = env("ARTIFACTS_BASE_DIR")
	cfg.opts.ChecklistDir, _ = env("VALIDATION_RESOURCES_DIR")
	if *addr == "" {
		return cfg, nil
	}
	host, port, err := net.SplitHostPort(*addr)
	if err != nil {
		return nil, fmt.Errorf("--http: %w", err)
	}
	if host == "" {
		host = "127.0.0.1" // ":8090" would open the server to the network (X-SEC-02)
	}
	cfg.http = net.JoinHostPort(host, port)
	if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() {
		cfg.opts.AllowedHosts = append(cfg.opts.AllowedHosts, strings.ToLower(host))
	}
	return cfg, nil
}

// list splits a comma separated flag; empty parts do not count.
func list(s string) []string {
	out := []string{}
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}
