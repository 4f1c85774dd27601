package main

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// serve starts the peer's HTTP server and waits until it listens.
func (p *peer) serve(ctx context.Context) (stop func(), err error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	argv := p.listen(address)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	_, port, _ := strings.Cut(address, ":")
	cmd.Env = append(cmd.Environ(), "PORT="+port)
	p.log = &tail{}
	cmd.Stdout, cmd.Stderr = p.log, p.log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	for range 100 {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			p.address = address
			return stop, conn.Close()
		}
		pause(ctx, 100*time.Millisecond)
	}
	stop()
	return nil, fmt.Errorf("does not listen on %s after 10 s: %s", address, p.log)
}

func freeAddress(ctx context.Context) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// tail keeps the last of what a server logs.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailSize = 1 << 20

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if len(t.kept) > tailSize {
		t.kept = append([]byte(nil), t.kept[len(t.kept)-tailSize:]...)
	}
	return len(p), nil
}

// count returns how often text stands in it.
func (t *tail) count(text string) int { return strings.Count(t.String(), text) }

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
