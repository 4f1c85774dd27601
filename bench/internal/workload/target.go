package workload

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mainstay-mcp/mainstay/bench/internal/clients"
	"github.com/mainstay-mcp/mainstay/bench/internal/server"
)

// The first argument of a process that is one of our servers.
const (
	ServeStdio = "serve-stdio"
	ServeHTTP  = "serve-http"
	HoldStdout = "hold-stdout"
)

// heirLife is how long the child of a dead server holds stdout: longer than
// any workload waits.
const heirLife = patience + 2*time.Second

// Serve runs the server that args name. ok is false when they name none. A
// program that calls [Run] must call this first.
func Serve(ctx context.Context, args []string) (ok bool, err error) {
	if len(args) == 0 {
		return false, nil
	}
	switch args[0] {
	case HoldStdout:
		<-time.After(heirLife)
		return true, nil
	case ServeStdio, ServeHTTP:
	default:
		return false, nil
	}
	o, err := server.ParseArgs(args[1:])
	if err != nil {
		return true, err
	}
	if o.Pid != "" {
		if err := os.WriteFile(o.Pid, []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			return true, err
		}
	}
	if o.Heir {
		// It outlives this process, that is what it is for.
		heir := exec.CommandContext(context.WithoutCancel(ctx), os.Args[0], HoldStdout)
		heir.Stdout = os.Stdout
		if err := heir.Start(); err != nil {
			return true, err
		}
	}
	if args[0] == ServeStdio {
		return true, server.Stdio(o, os.Stdin, os.Stdout)
	}
	return true, server.HTTP(ctx, o, os.Stdin, os.Stdout)
}

// target is a server to be reached, and how.
type target struct {
	cell    Cell
	options clients.Options
	pidFile string
	dir     string
	web     *exec.Cmd
	stdin   io.Closer
}

// aim makes ready a server. Over HTTP it runs already; over stdio the client
// starts it.
func aim(ctx context.Context, c Cell, self string, o server.Options) (*target, error) {
	t := &target{cell: c}
	var err error
	if t.dir, err = os.MkdirTemp("", "mainstay-bench-"); err != nil {
		return nil, err
	}
	t.pidFile = filepath.Join(t.dir, "pid")
	o.Modern, o.SSE, o.Pid = c.Modern, c.Transport == SSE, t.pidFile
	if o.Tools == 0 {
		o.Tools = server.OwnTools
	}
	t.options = clients.Options{Modern: c.Modern, Pool: true}
	if c.Transport == Stdio {
		t.options.Argv = append([]string{self, ServeStdio}, o.Args()...)
		return t, nil
	}
	t.web = exec.CommandContext(ctx, self, append([]string{ServeHTTP}, o.Args()...)...)
	t.web.Stderr = os.Stderr
	if t.stdin, err = t.web.StdinPipe(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(t.dir))
	}
	stdout, err := t.web.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(t.dir))
	}
	if err := t.web.Start(); err != nil {
		return nil, errors.Join(err, os.RemoveAll(t.dir))
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server did not start: %w", err), t.stop())
	}
	t.options.URL = strings.TrimSpace(line)
	return t, nil
}

func (t *target) dial(ctx context.Context) (clients.Client, error) {
	return clients.Dial(ctx, floorName(t.cell), t.options)
}

// kill ends the server at once, as a crash does.
func (t *target) kill() error {
	text, err := os.ReadFile(t.pidFile)
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}

// stop ends the server of HTTP; over stdio the client's Close has.
func (t *target) stop() error {
	var err error
	if t.web != nil {
		err = errors.Join(t.stdin.Close(), t.web.Wait())
	}
	return errors.Join(err, os.RemoveAll(t.dir))
}

// stats asks the HTTP server what it has seen. It uses a connection of its own.
func (t *target) stats(ctx context.Context) (server.Stats, error) {
	var s server.Stats
	if t.web == nil {
		return s, nil
	}
	url := strings.TrimSuffix(t.options.URL, "/mcp") + "/stats"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return s, err
	}
	own := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: own}).Do(req)
	if err != nil {
		return s, err
	}
	err = json.NewDecoder(resp.Body).Decode(&s)
	s.Connections-- // this one
	return s, errors.Join(err, resp.Body.Close())
}

// patience is how long a workload waits for what may never come.
const patience = 3 * time.Second

// closing closes a client whose Close may hang: some do while calls are in
// flight, and that is not what is measured.
func closing(c interface{ Close() error }) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Close() // the server may be dead by now
	}()
	select {
	case <-done:
	case <-time.After(patience):
	}
}
