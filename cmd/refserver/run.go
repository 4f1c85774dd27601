package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families"
	"github.com/mainstay-mcp/mainstay/conformance/server"
)

//go:embed usage.txt
var usage string

// Exit codes: a clean end, a failure while serving, wrong usage.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// config is the command line and the environment, parsed.
type config struct {
	http  string
	debug bool
	opts  families.Options

	users    []string      // of --login; nil without it
	lifetime time.Duration // of their access tokens
}

// run is the program. It returns the exit code when the input ends, ctx is done,
// or serving fails.
func run(ctx context.Context, args []string, env func(string) (string, bool), stdin io.Reader, stdout, stderr io.Writer) int {
	cfg, err := parse(args, env)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(stdout, usage, strings.Join(families.Names(), ","))
		return exitOK
	}
	if err != nil {
		fmt.Fprintf(stderr, "refserver: %v\nsee refserver --help\n", err)
		return exitUsage
	}
	level := slog.LevelInfo
	if cfg.debug {
		level = slog.LevelDebug
	}
	log := server.NewLogger(stderr, level)
	cfg.opts.Logger = log
	var l net.Listener
	if cfg.http != "" { // first, because the address is in the tokens of --login
		if l, err = listen(ctx, cfg); err != nil {
			log.Error("server_failed", "error", err.Error())
			return exitFailed
		}
		defer l.Close() //nolint:errcheck // the server has closed it, unless there is none
	}
	srv, err := families.New(cfg.opts)
	if err != nil {
		fmt.Fprintf(stderr, "refserver: %v\n", err)
		return exitFailed
	}
	dir, temporary := srv.DataDir()
	log.Info("server_started", "name", server.Name, "version", server.Version, "data_dir", dir, "temporary", temporary)
	if cfg.users != nil {
		fmt.Fprint(stderr, cfg.invitation())
	}
	err = serve(ctx, srv, cfg, l, stdin, stdout)
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

// listen opens the address of --http, and has the server want logins if there is --login.
func listen(ctx context.Context, cfg *config) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", cfg.http)
	if err != nil || cfg.users == nil {
		return l, err
	}
	if err := cfg.protect("http://" + l.Addr().String()); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func serve(ctx context.Context, srv *server.Server, cfg *config, l net.Listener, stdin io.Reader, stdout io.Writer) error {
	log := cfg.opts.Logger
	if l == nil {
		log.Info("standalone mode: serving stdio")
		return srv.ServeStdio(ctx, stdin, stdout)
	}
	log.Info("listening", "url", "http://"+l.Addr().String()+server.Path, "families", cfg.opts.Families)
	return srv.Serve(ctx, l)
}
