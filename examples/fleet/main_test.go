package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// Without Redis the process still makes calls, and its own breaker refuses them while the
// server is down.
func TestFleetWithoutRedis(t *testing.T) {
	t.Parallel()
	server := clienttest.NewServer(t)
	server.Tool("greet", "", func(*clienttest.Call) (any, error) { return clienttest.Text("hello"), nil })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, "127.0.0.1:1", server.URL(), "greet", time.Millisecond, w)
		_ = w.Close()
		done <- err
	}()
	lines := bufio.NewScanner(r)
	until := func(beginning string) {
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), beginning) {
				return
			}
		}
		t.Fatalf("it ended without %q", beginning)
	}
	until("answered; 0 nodes")
	server.Close()
	until("failed: ")
	until("not sent: OPEN")
	stop()
	go io.Copy(io.Discard, r)
	require.NoError(t, <-done)
}
