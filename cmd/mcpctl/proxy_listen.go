package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/example"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// listener is how "mcpctl proxy --listen" is reached.
type listener struct {
	address     string
	noAuth      bool
	tokenFile   string
	hosts       []string
	cert, key   string
	insecure    bool
	maxSessions int
	idleStop    time.Duration
}

func (l *listener) register(set *pflag.FlagSet) {
	set.StringVar(&l.address, "listen", "", "serve streamable HTTP at this `address`, such as :8080, instead of stdin and stdout")
	set.BoolVar(&l.noAuth, "no-auth", false, "serve every program that can connect, without a token")
	set.StringVar(&l.tokenFile, "token-file", "", "`file` of the token that hosts send; made if it is missing (default proxy-token in the configuration folder)")
	flags.Texts(set, &l.hosts, "allow-host", "`name` under which hosts reach this machine, besides localhost (repeatable)")
	set.StringVar(&l.cert, "tls-cert", "", "certificate `file` (PEM)")
	set.StringVar(&l.key, "tls-key", "", "`file` of the certificate's private key (PEM)")
	set.BoolVar(&l.insecure, "insecure", false, "allow an address that other machines reach without TLS")
	set.IntVar(&l.maxSessions, "max-sessions", 256, "`number` of sessions at once; each has a server of its own without --share, and the longest unused one ends for a new one")
	set.DurationVar(&l.idleStop, "idle-stop", 30*time.Second, "`time` after which the server of a host that left ends; its session stays for 10 minutes")
}

// endpoint is the path of the proxy.
const endpoint = "/mcp"

// check returns the address to listen at: on this machine only, unless another one is named.
func (l *listener) check() (string, error) {
	host, port, err := net.SplitHostPort(l.address)
	if err != nil {
		return "", failure.Usage("--listen: %v: write it as :8080 or 127.0.0.1:8080", err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	ip := net.ParseIP(host)
	switch local := host == "localhost" || ip != nil && ip.IsLoopback(); {
	case (l.cert == "") != (l.key == ""):
		return "", failure.Usage("--tls-cert and --tls-key belong together")
	case !local && l.cert == "" && !l.insecure:
		return "", failure.Usage("other machines can reach %s: set --tls-cert and --tls-key, or --insecure", l.address)
	case l.idleStop <= 0:
		return "", failure.Usage("--idle-stop must be more than 0; 10m keeps servers as long as their sessions")
	case l.maxSessions < 1:
		return "", failure.Usage("--max-sessions must be at least 1")
	case !local && len(l.hosts) == 0 && ip != nil && ip.IsUnspecified():
		return "", failure.Usage("set --allow-host to the name under which hosts reach this machine")
	case !local:
		l.hosts = append(l.hosts, host)
	}
	return net.JoinHostPort(host, port), nil
}

// token returns the token that hosts send, "" for none. It is kept in a file that only the user
// can read, so that hosts can be configured once.
func (l *listener) token() (token, file string, err error) {
	if l.noAuth {
		return "", "", nil
	}
	if file = l.tokenPlace(); file == "" {
		return "", "", failure.Usage("there is no folder for the token: set --token-file, or --no-auth")
	}
	raw, err := readToken(file)
	if errors.Is(err, fs.ErrNotExist) {
		raw, err = newToken(file)
	}
	if token = strings.TrimSpace(string(raw)); err == nil && token == "" {
		err = errors.New("the file is empty")
	}
	if err != nil {
		return "", "", failure.Usage("--token-file %s: %v", file, err)
	}
	return token, file, nil
}

// tokenPlace returns the file of the token, "" if there is no folder for it.
func (l *listener) tokenPlace() string {
	if l.tokenFile != "" {
		return l.tokenFile
	}
	folder, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, "mainstay", "proxy-token")
}

// readToken refuses a file that others can read. Windows has no such rights.
func readToken(file string) ([]byte, error) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, err
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("others can read it: run chmod 600 %s, and delete it first if they may have", example.Quote([]string{file}))
	}
	return operand.ReadText(file)
}

// scheme is that of the proxy's URL.
func (l *listener) scheme() string {
	if l.cert != "" {
		return "https"
	}
	return "http"
}

func newToken(file string) ([]byte, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the user names it
	if errors.Is(err, fs.ErrExist) {
		return readToken(file) // another proxy has made it just now
	}
	if err != nil {
		return nil, err
	}
	token := []byte(rand.Text() + "\n")
	_, err = f.Write(token)
	return token, errors.Join(err, f.Close())
}

// listen serves hosts over HTTP until ctx ends.
func (a *app) listen(ctx context.Context, l *listener, to proxy.Server, log *slog.Logger, opts []proxy.Option) error {
	address, err := l.check()
	if err != nil {
		return err
	}
	token, file, err := l.token()
	if err != nil {
		return err
	}
	var certificate tls.Certificate
	if l.cert != "" {
		if certificate, err = tls.LoadX509KeyPair(l.cert, l.key); err != nil {
			return failure.Usage("--tls-cert %s --tls-key %s: %v", l.cert, l.key, err)
		}
	}
	on, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return failure.New(failure.KindUnreachable, mcperrors.NotSent, "--listen: %v", err)
	}
	if l.cert != "" {
		on = tls.NewListener(on, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	}
	handler := proxy.NewHandler(to, append(opts, proxy.WithToken(token), proxy.WithAllowedHosts(l.hosts...), proxy.WithSessionLimit(l.maxSessions), proxy.WithIdleStop(l.idleStop))...)
	mux := http.NewServeMux()
	mux.Handle(endpoint, handler)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	a.console.Note("listening at " + l.scheme() + "://" + on.Addr().String() + endpoint)
	if file != "" {
		a.console.Note("hosts send the header Authorization: Bearer TOKEN with the token in " + file)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(on) }()
	select {
	case err = <-served:
		err = failure.New(failure.KindUnreachable, mcperrors.NotSent, "--listen: %v", err)
	case <-ctx.Done():
		err = failure.Shown(failure.KindTerminated) // or interrupted: its cause decides
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	_ = errors.Join(handler.Close(end), server.Shutdown(end)) // what is left ends with the process
	return err
}

// endWithin bounds the end of a proxy that listens: five seconds for open requests, and some
// for the end of the servers.
const endWithin = 7 * time.Second
