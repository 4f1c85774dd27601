package main

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/watch"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// watcherFlags are how a proxy is observed.
type watcherFlags struct {
	log       string
	arguments bool
	health    string
}

func (w *watcherFlags) register(set *pflag.FlagSet) {
	set.StringVar(&w.log, "log", "", "append a line of JSON to this `file` for each request of a host")
	set.BoolVar(&w.arguments, "log-arguments", false, "add the arguments to --log, with secrets hidden")
	set.StringVar(&w.health, "health", "", "serve /livez, /readyz, /metrics at an `address` such as :9090, or unix:PATH")
}

// observer watches a proxy: with options for it, and through the targets of its servers.
type observer struct {
	opts   []proxy.Option
	target func(name string, to proxy.Target) proxy.Target
	end    func()
}

// observe starts what the flags ask for.
func (a *app) observe(ctx context.Context, w *watcherFlags) (*observer, error) {
	var add []func(context.Context, proxy.Record)
	out := &observer{end: func() {}, target: func(_ string, to proxy.Target) proxy.Target { return to }}
	if w.arguments && w.log == "" {
		return nil, failure.Usage("--log-arguments needs --log")
	}
	if w.log != "" {
		f, err := os.OpenFile(w.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, failure.Usage("--log: %v", err)
		}
		log := &watch.Log{Arguments: w.arguments, Safe: a.dial.Secrets.Safe, Warn: a.console.Warn}
		log.Open(f)
		add = append(add, log.Add)
		out.end = func() {
			log.Close()
			_ = f.Close() // each line was written at once
		}
	}
	if w.health != "" {
		health := &watch.Health{Safe: a.dial.Secrets.Safe}
		end, err := a.serveHealth(ctx, w.health, health)
		if err != nil {
			out.end()
			return nil, err
		}
		out.target = health.Watch
		add, out.opts = append(add, health.Add), append(out.opts, proxy.WithStats(&health.Stats))
		closeLog := out.end
		out.end = func() {
			end()
			closeLog()
		}
	}
	if add != nil {
		out.opts = append(out.opts, proxy.OnRequest(func(ctx context.Context, r proxy.Record) {
			for _, f := range add {
				f(ctx, r)
			}
		}))
	}
	return out, nil
}

// serveHealth serves the health at an address of this machine, or at a socket.
func (a *app) serveHealth(ctx context.Context, address string, health *watch.Health) (end func(), err error) {
	var network, at string
	if path, named := strings.CutPrefix(address, "unix:"); named || strings.ContainsAny(address, `/\`) {
		network, at = "unix", path
	} else {
		network = "tcp"
		host, port, err := net.SplitHostPort(address)
		switch {
		case err != nil:
			return nil, failure.Usage("--health: %v: write it as :9090, 127.0.0.1:9090 or unix:PATH", err)
		case host == "":
			host = "127.0.0.1"
		case !watch.Loopback(host):
			return nil, failure.Usage("--health: other machines could reach %s: use an address of this machine, or a socket", address)
		}
		at = net.JoinHostPort(host, port)
	}
	on, err := listenAt(ctx, network, at)
	if err != nil {
		return nil, failure.New(failure.KindUnreachable, mcperrors.NotSent, "--health: %v", err)
	}
	if network == "unix" {
		if err := os.Chmod(at, 0o600); err != nil {
			return nil, errors.Join(failure.Usage("--health: %v", err), on.Close())
		}
	}
	server := &http.Server{
		Handler: health.Handler(network == "tcp"), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second,
		WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(on) // ends by Close
	}()
	a.console.Note("health at " + on.Addr().String())
	return func() {
		_ = server.Close() // a check that is under way has no answer
		<-served
	}, nil
}

// listenAt listens. A socket that a proxy left behind is replaced, one that is in use is not.
func listenAt(ctx context.Context, network, at string) (net.Listener, error) {
	var config net.ListenConfig
	on, err := config.Listen(ctx, network, at)
	if network != "unix" || !errors.Is(err, syscall.EADDRINUSE) {
		return on, err
	}
	info, statErr := os.Lstat(at)
	if statErr != nil || info.Mode()&fs.ModeSocket == 0 {
		return nil, err
	}
	dialer := net.Dialer{Timeout: time.Second}
	if c, dialErr := dialer.DialContext(ctx, network, at); dialErr == nil {
		return nil, errors.Join(err, c.Close())
	}
	if removeErr := os.Remove(at); removeErr != nil {
		return nil, err
	}
	return config.Listen(ctx, network, at)
}
