package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	crashTimes    = 3
	crashDown     = 500 * time.Millisecond
	crashAfter    = 10 * time.Second
	crashCallTime = 5 * time.Second
)

// tally counts calls by how they ended.
type tally struct {
	mu                     sync.Mutex
	after, failed, unknown int // calls that were good before the kill do not count
	killed                 time.Time
	next                   time.Duration // from the kill to the first good answer of a call made after it
}

func (t *tally) add(began time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var rpc *rpcError
	switch {
	case err == nil && (t.killed.IsZero() || began.Before(t.killed)):
	case err == nil:
		t.after++
		if t.next == 0 {
			t.next = time.Since(t.killed)
		}
	case errors.As(err, &rpc), errors.Is(err, errToolFailed), errors.Is(err, errNoSession), strings.HasPrefix(err.Error(), "HTTP "):
		t.failed++
	default:
		t.unknown++
	}
}

func crash(ctx context.Context, s *stage, w *way, set func(values ...string)) error {
	var plays []*crashed
	for range crashTimes {
		c, err := crashOnce(ctx, s, w)
		if err != nil {
			return err
		}
		plays = append(plays, c)
	}
	of := func(figure func(*crashed) int) string {
		var all []int
		for _, c := range plays {
			all = append(all, figure(c))
		}
		return figures(all)
	}
	var next []string
	for _, c := range plays {
		text := "never"
		if c.calls.next > 0 {
			text = millis(c.calls.next)
		}
		next = append(next, text)
	}
	set(of(func(c *crashed) int { return c.calls.failed }), of(func(c *crashed) int { return c.calls.unknown }),
		of(func(c *crashed) int { return c.repeated }), strings.Join(next, ", "), of(func(c *crashed) int { return c.calls.after }),
		of(func(c *crashed) int { return c.sessions }), of(func(c *crashed) int { return c.left }))
	return nil
}

// figures lists numbers, or the one that all are.
func figures(of []int) string {
	if slices.Min(of) == slices.Max(of) {
		return count(of[0])
	}
	var text []string
	for _, n := range of {
		text = append(text, count(n))
	}
	return strings.Join(text, ", ")
}

// crashed is what one play of crash counted.
type crashed struct {
	calls                    tally
	repeated, sessions, left int
}

func crashOnce(ctx context.Context, s *stage, w *way) (*crashed, error) {
	r, err := s.setUp(ctx, w)
	defer r.close()
	if err != nil {
		return nil, err
	}
	h, err := r.host(ctx)
	if err != nil {
		return nil, err
	}
	own := r.ownProcesses(h)
	c := &crashed{sessions: 1}
	until, stop := context.WithCancel(ctx)
	defer stop()
	var callers sync.WaitGroup
	for i := range inFlight {
		callers.Go(func() { c.calls.keepCalling(ctx, until, h, i) })
	}
	wait(ctx, time.Second)
	c.calls.kill()
	err = r.killServer(ctx, syscall.SIGKILL, crashDown)
	if err == nil {
		wait(ctx, crashAfter)
	}
	stop()
	callers.Wait()
	own = append(own, r.ownProcesses(h)...)
	h.close()
	if r.proxy != nil {
		r.proxy.signal(syscall.SIGTERM)
	}
	wait(ctx, 3*time.Second)
	c.repeated = r.record().repeated()
	if u, is := h.(*urlHost); is {
		c.sessions = int(u.opened.Load())
	}
	c.left = len(living(append(own, r.programsBehind()...)))
	return c, err
}

func (t *tally) kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.killed = time.Now()
}

// keepCalling is one caller. It makes calls until the second context ends, or the proxy
// has ended: then no call of this host can succeed.
func (t *tally) keepCalling(ctx, until context.Context, h host, caller int) {
	for n := 0; until.Err() == nil; n++ {
		began := time.Now()
		call, cancel := context.WithTimeout(ctx, crashCallTime)
		err := pay(call, h, fmt.Sprintf("%d-%d", caller, n))
		cancel()
		t.add(began, err)
		if errors.Is(err, errProgramGone) || errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE) {
			return
		}
		if err != nil {
			wait(until, 50*time.Millisecond)
		}
	}
}

// killServer ends the server with a signal. One with a URL is started again after some
// time, as its owner would do it.
func (r *rig) killServer(ctx context.Context, with syscall.Signal, down time.Duration) error {
	if r.server == nil {
		for _, pid := range r.programsBehind() {
			_ = syscall.Kill(pid, with)
		}
		return nil
	}
	r.server.signal(with)
	<-r.server.ended
	wait(ctx, down)
	return r.serve(ctx, true)
}

// living are the processes that are alive, each once.
func living(pids []int) map[int]bool {
	alive := map[int]bool{}
	for _, pid := range pids {
		if isAlive(pid) {
			alive[pid] = true
		}
	}
	return alive
}

func cut(ctx context.Context, s *stage, w *way, set func(values ...string)) error {
	kinds := []string{cutReset, cutBody, cutStream}
	if w.direction != stdioURL {
		kinds = []string{cutExit}
	}
	for _, kind := range kinds {
		executions, got, err := cutOnce(ctx, s, w, kind)
		if err != nil {
			return err
		}
		set(kind, count(executions), got)
	}
	return nil
}

func cutOnce(ctx context.Context, s *stage, w *way, kind string) (executions int, got string, err error) {
	r, err := s.setUp(ctx, w, "-cut", kind)
	defer r.close()
	if err != nil {
		return 0, "", err
	}
	h, err := r.host(ctx)
	if err != nil {
		return 0, "", err
	}
	defer h.close()
	call, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	text, err := tool(call, h, "pay", map[string]any{"id": "1"})
	got = "a good answer: " + text
	if err != nil {
		got = brief(err)
		wait(ctx, 5*time.Second)
	}
	return len(r.record()["pay"]), got, nil
}

// holdHost is the subcommand "host": it starts a command, opens a session, makes a call,
// and waits to be killed.
func holdHost(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	h, err := startPipeHost(ctx, command{argv: args, log: os.DevNull})
	if err == nil {
		err = open(ctx, h)
	}
	if err == nil {
		err = echo(ctx, h)
	}
	if err != nil {
		fmt.Fprintln(stderr, "host:", err)
		return 1
	}
	fmt.Fprintln(stdout, "ready")
	<-ctx.Done()
	return 0
}

func orphans(ctx context.Context, s *stage, w *way, set func(values ...string)) error {
	var values []string
	for _, proxyToo := range []bool{false, true} {
		for _, arguments := range [][]string{nil, {"-deaf"}} {
			left := "–"
			var err error
			switch {
			case len(arguments) > 0 && w.direction == stdioURL: // its server has an owner of its own
			case w.urlFront() && proxyToo:
				left, err = proxyKilled(ctx, s, w, arguments)
			case w.urlFront(): // its proxy outlives hosts
			default:
				left, err = hostKilled(ctx, s, w, proxyToo, arguments)
			}
			if err != nil {
				return err
			}
			values = append(values, left)
		}
	}
	set(values...)
	return nil
}

// hostKilled kills a host, or the proxy that it started, and counts what is left.
func hostKilled(ctx context.Context, s *stage, w *way, proxyToo bool, arguments []string) (string, error) {
	r, err := s.setUp(ctx, w, arguments...)
	defer r.close()
	if err != nil {
		return "", err
	}
	hold := command{argv: append([]string{s.self, "host"}, r.front.argv...), env: r.front.env, log: filepath.Join(r.home, "host.log")}
	p, stdin, out, err := hold.startPiped(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = stdin.Close() }()
	if line, _ := bufio.NewReader(out).ReadString('\n'); line == "" {
		p.end(0)
		return "", errors.New("the host did not get through")
	}
	behind := tree(p.pid())[1:]
	victim := p.pid()
	if proxyToo {
		victim = behind[0]
	}
	_ = syscall.Kill(victim, syscall.SIGKILL)
	left := r.leftOf(ctx, behind)
	p.end(0)
	return left, nil
}

// proxyKilled kills a proxy that listens and counts what is left.
func proxyKilled(ctx context.Context, s *stage, w *way, arguments []string) (string, error) {
	r, err := s.setUp(ctx, w, arguments...)
	defer r.close()
	if err != nil {
		return "", err
	}
	for range 5 {
		if err := r.visit(ctx); err != nil {
			return "", err
		}
	}
	behind := tree(r.proxy.pid())
	_ = r.proxy.cmd.Process.Kill()
	return r.leftOf(ctx, behind), nil
}

// leftOf counts what is alive after 3 s, and ends it.
func (r *rig) leftOf(ctx context.Context, pids []int) string {
	wait(ctx, 3*time.Second)
	alive := living(append(pids, r.programsBehind()...))
	for pid := range alive {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	return count(len(alive))
}
