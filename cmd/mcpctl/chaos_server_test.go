//go:build unix

package main

import (
	"bufio"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
)

// payProcess is a server over HTTP, behind a relay at an address that stays.
type payProcess struct {
	c    *chaos
	on   net.Listener
	copy sync.WaitGroup

	mu    sync.Mutex
	cmd   *exec.Cmd
	at    string
	conns map[net.Conn]bool
}

func newPayProcess(c *chaos) *payProcess {
	on, err := new(net.ListenConfig).Listen(c.t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(c.t, err)
	s := &payProcess{c: c, on: on, conns: map[net.Conn]bool{}}
	s.start()
	c.t.Cleanup(func() { _ = s.cmd.Process.Kill() }) // if the test fails: else it has ended
	c.ends, c.settled = append(c.ends, s.end), s.cut
	s.copy.Go(func() {
		for {
			near, err := on.Accept()
			if err != nil {
				return
			}
			s.copy.Go(func() { s.relay(near) })
		}
	})
	return s
}

func (s *payProcess) url() string { return "http://" + s.on.Addr().String() + "/mcp" }

// kills are what can be broken of it.
func (s *payProcess) kills() []kill {
	return []kill{{func(*rand.Rand) { s.kill() }, true}, {func(*rand.Rand) { s.cut() }, true}}
}

// start starts a server. s.mu is held, or nobody else has s.
func (s *payProcess) start() {
	s.cmd = exec.Command("payserver", "http")
	s.cmd.Env = append(os.Environ(), s.c.env()...)
	_, err := s.cmd.StdinPipe() // it ends with this process, however that ends
	require.NoError(s.c.t, err)
	stdout, err := s.cmd.StdoutPipe()
	require.NoError(s.c.t, err)
	require.NoError(s.c.t, s.cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(s.c.t, err)
	s.at = strings.TrimSpace(line)
}

// relay copies both ways until one ends.
func (s *payProcess) relay(near net.Conn) {
	defer func() { _ = near.Close() }()
	s.mu.Lock()
	at := s.at
	s.mu.Unlock()
	far, err := new(net.Dialer).DialContext(s.c.t.Context(), "tcp", at)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.conns[near], s.conns[far] = true, true
	s.mu.Unlock()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(near, far)
		_ = near.Close()
	})
	_, _ = io.Copy(far, near)
	_ = far.Close()
	back.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, near)
	delete(s.conns, far)
}

// cut breaks the connections of the server.
func (s *payProcess) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		_ = conn.Close()
	}
}

// kill kills the server and starts another.
func (s *payProcess) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	s.start()
}

func (s *payProcess) stop() {
	require.NoError(s.c.t, s.cmd.Process.Kill())
	_ = s.cmd.Wait() // it was killed
}

func (s *payProcess) end() {
	require.NoError(s.c.t, s.on.Close())
	s.cut()
	s.stop()
	within(s.c, all(&s.copy))
}
