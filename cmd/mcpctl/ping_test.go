package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
)

// Ctrl-C ends a long ping with what was measured so far.
func TestInterruptedPing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	w := &watcher{text: `"method":"ping"`}
	seen := 0
	again := func() {}
	again = func() {
		if seen++; seen == 3 {
			cancel(failure.ErrInterrupted)
			return
		}
		w.do = again
	}
	w.do = again
	url := serve(t, keeping{w, &again}) + "/mcp"
	got := inProcess(ctx, false, "ping", "-n", "1000000", url)
	require.Equal(t, failure.KindInterrupted.ExitCode(), got.code, got.err)
	require.NotContains(t, got.err, "bug")
	require.Regexp(t, `^fake 1\.0 answered [23] times `, got.out)
}

// keeping is a watcher whose function stays.
type keeping struct {
	*watcher
	do *func()
}

// Write implements [io.Writer].
func (k keeping) Write(p []byte) (int, error) {
	n, err := k.watcher.Write(p)
	k.watcher.mu.Lock()
	k.watcher.do = *k.do
	k.watcher.mu.Unlock()
	return n, err
}

func TestPercentiles(t *testing.T) {
	t.Parallel()
	p := &pinging{}
	for i := 1; i <= 10; i++ {
		p.trips = append(p.trips, time.Duration(i)*time.Millisecond)
	}
	require.Equal(t, 5*time.Millisecond, p.percentile(0.5))
	require.Equal(t, 9*time.Millisecond, p.percentile(0.9))
	require.Equal(t, 10*time.Millisecond, p.percentile(0.99))
	p.trips = p.trips[:1]
	require.Equal(t, time.Millisecond, p.percentile(0.5))
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	same := []time.Duration{time.Millisecond, time.Millisecond, time.Millisecond}
	require.Contains(t, histogram(same, true), "1ms      3  "+"########################################\n")
	var spread []time.Duration
	for i := 1; i <= 9; i++ {
		spread = append(spread, time.Duration(i)*time.Millisecond)
	}
	spread = append(spread, time.Second)
	require.Regexp(t, `^( +[1-7]ms +1  #{14}\n){7} +8ms +3  #{40}\n$`, histogram(spread, true))
}
