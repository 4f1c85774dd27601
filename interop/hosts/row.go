package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mainstay-mcp/mainstay/interop/hosts/orders"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The fronts of the proxy.
const (
	direct   = "none"
	stdio    = "stdio"
	overHTTP = "HTTP"
)

// row is a host in front of a server.
type row struct {
	where   places
	host    host
	server  server
	front   string
	control *row // the same without the proxy; nil for that one
	cells   []cell

	mark     string // in the environment of everything that the row starts
	driver   *driver
	revision string
	proxy    *exec.Cmd // of the HTTP front
	url      string
	// What the server answered, to compare with the control.
	names  []string
	errors []orders.Answer
}

func (r *row) name() string { return r.host.name + ", " + r.front + ", " + r.server.name }

// cell is the outcome of a step.
type cell struct {
	verdict verdict
	remark  string
}

type verdict string

const (
	ok     verdict = "ok"
	failed verdict = "FAIL"
	none   verdict = "–"    // the host cannot do it, or there is nothing to do
	flawed verdict = "host" // it fails, and the host is to blame
)

// errNone is why a host has nothing to show in a step.
type errNone string

// Error implements error.
func (e errNone) Error() string { return string(e) }

// patience bounds a step.
const patience = 20 * time.Second

// play plays all steps. One that fails does not stop the others: what they say then is
// evidence too.
func (r *row) play(ctx context.Context) {
	r.mark = newMark()
	defer r.end(ctx)
	for i, s := range steps {
		r.cells = append(r.cells, r.judge(i, r.step(ctx, s)))
	}
}

func (r *row) step(ctx context.Context, s step) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	if slices.Contains(r.host.lacks, s.name) {
		return errNone("this host has no command for it")
	}
	if s.name != "start" && r.driver == nil {
		return errors.New("the host did not start")
	}
	return s.play(ctx, r)
}

func (r *row) judge(step int, err error) cell {
	var nothing errNone
	known := slices.IndexFunc(flaws, func(f flaw) bool { return f.of(r, steps[step].name) })
	switch {
	case errors.As(err, &nothing):
		return cell{none, err.Error()}
	case err == nil && known >= 0:
		return cell{failed, "it works, and is listed as a flaw: " + flaws[known].why}
	case err == nil:
		return cell{verdict: ok}
	case known >= 0:
		return cell{flawed, flaws[known].why}
	}
	return cell{failed, err.Error()}
}

// argv is the server as the host's configuration has it.
func (r *row) argv() []string {
	if r.front == direct {
		return r.server.command
	}
	return append(r.proxied(), append([]string{"--"}, r.server.command...)...)
}

func (r *row) proxied(flags ...string) []string {
	argv := append([]string{filepath.Join(r.where.bin, "mcpctl"), "proxy", "--server-stderr", r.log()}, r.server.flags...)
	return append(argv, flags...)
}

// log is the file with what the server says on stderr.
func (r *row) log() string { return filepath.Join(r.where.work, r.mark+".log") }

// connect starts the host and lets it connect.
func (r *row) connect(ctx context.Context) (*driver, orders.Answer, error) {
	if r.front == overHTTP && r.proxy == nil {
		if err := r.listen(ctx); err != nil {
			return nil, orders.Answer{}, err
		}
	}
	d, err := start(r.host.command, r.mark, filepath.Join(r.where.work, r.mark+".host.log"))
	if err != nil {
		return nil, orders.Answer{}, err
	}
	o := orders.Order{Do: "connect", URL: r.url}
	if r.host.session {
		o.Pinned = string(mcp.LatestSession)
	}
	if r.url == "" {
		o.Command = r.argv()
	}
	a, err := d.order(ctx, o)
	return d, a, err
}

// listen starts the proxy of the HTTP front.
func (r *row) listen(ctx context.Context) error {
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	argv := append(r.proxied("--listen", address, "--no-auth", "--"), r.server.command...)
	log, err := os.Create(filepath.Join(r.where.work, r.mark+".proxy.log"))
	if err != nil {
		return err
	}
	defer log.Close()                            //nolint:errcheck // the program has its own handle
	r.proxy = exec.Command(argv[0], argv[1:]...) //nolint:noctx // end stops it
	r.proxy.Env = append(os.Environ(), markName+"="+r.mark)
	r.proxy.Stdout, r.proxy.Stderr = log, log
	if err := r.proxy.Start(); err != nil {
		return err
	}
	r.url = "http://" + address + "/mcp"
	return eventually(ctx, patience, func() error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			said, _ := os.ReadFile(log.Name())
			return fmt.Errorf("the proxy does not listen: %w %s", err, strings.TrimSpace(string(said)))
		}
		return conn.Close()
	})
}

// stopProxy ends the proxy of the HTTP front as a service manager does.
func (r *row) stopProxy() {
	if r.proxy != nil {
		_ = r.proxy.Process.Signal(syscall.SIGTERM)
		go r.proxy.Wait() //nolint:errcheck // its exit code says nothing: gone looks for it
		r.proxy = nil
	}
}

// end leaves nothing behind, whatever failed.
func (r *row) end(ctx context.Context) {
	if r.driver != nil {
		r.driver.close()
	}
	r.stopProxy()
	_ = eventually(ctx, r.where.leftTime(), func() error { return gone(r.mark) })
	r.clear()
}

// clear kills what the row has left.
func (r *row) clear() {
	for _, p := range marked(r.mark) {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// eventually tries until there is no error, for as long as it may take.
func eventually(ctx context.Context, most time.Duration, try func() error) error {
	until := time.Now().Add(most)
	for {
		err := try()
		if err == nil || time.Now().After(until) {
			return err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}
