package callback_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// handler is a handler of the application.
type handler struct {
	slog.Handler
	handle func(text string)
}

func (h handler) Handle(ctx context.Context, r slog.Record) error {
	h.handle(r.Message)
	return h.Handler.Handle(ctx, r)
}

func plain(to *bytes.Buffer) slog.Handler {
	return slog.NewTextHandler(to, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
}

func TestLogger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := callback.Logger(slog.New(plain(&out)), nil)
		require.Same(t, log, callback.Logger(log, nil))
		log.Debug("not enabled")
		log.With("a", 1).WithGroup("g").Warn("one", "b", 2)
		require.True(t, callback.Flush(log, time.Second))
		require.Equal(t, "level=WARN msg=one a=1 g.b=2\n", out.String())
		require.True(t, callback.Flush(log, 0), "nothing is left")
	})
	silent := slog.New(slog.DiscardHandler)
	require.Same(t, silent, callback.Logger(silent, nil))
	require.True(t, callback.Flush(silent, 0))
	require.Nil(t, callback.Logger(nil, nil))
}

// A blocking handler does not block callers, and its missed lines are counted.
func TestLoggerBlocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		free := make(chan struct{})
		log := callback.Logger(slog.New(handler{plain(&out), func(string) { <-free }}), nil)
		for i := range 100 {
			log.Warn("a fault", "n", i)
		}
		log.Info("something else")
		require.False(t, callback.Flush(log, time.Second))
		close(free)
		require.True(t, callback.Flush(log, time.Second))
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		require.Len(t, lines, 12)
		for i := range 10 {
			require.Equal(t, fmt.Sprintf(`level=WARN msg="a fault" n=%d`, i), lines[i])
		}
		require.Equal(t, `level=INFO msg="something else"`, lines[10])
		require.Equal(t, `level=WARN msg="[MCP] too many log lines of one kind; some were dropped" count=90 kind="a fault"`, lines[11])
	})
}

// During a flood of a minute there is one line and one count per second.
func TestLoggerRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := callback.Logger(slog.New(plain(&out)), nil)
		for range 6000 {
			log.Warn("a fault")
			<-time.After(10 * time.Millisecond)
		}
		require.True(t, callback.Flush(log, time.Second))
		faults, counts, dropped := 0, 0, 0
		for line := range strings.Lines(out.String()) {
			var n int
			if _, err := fmt.Sscanf(line[strings.Index(line+" count=", " count="):], " count=%d", &n); err == nil {
				counts++
				dropped += n
			} else {
				faults++
			}
		}
		require.Equal(t, 6000, faults+dropped, "each line is there or counted")
		require.LessOrEqual(t, faults+counts, 10+2*61)
		require.Greater(t, counts, 20)
	})
}

// A handler that panics or calls runtime.Goexit loses its line.
func TestLoggerFails(t *testing.T) {
	t.Parallel()
	bug := errors.New("a bug")
	for name, fail := range map[string]func(){"panic": func() { panic(bug) }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			var mu sync.Mutex
			var failures []string
			log := callback.Logger(slog.New(handler{plain(&out), func(text string) {
				if text == "bad" {
					fail()
				}
			}}), func(e *callback.Error) {
				mu.Lock()
				defer mu.Unlock()
				failures = append(failures, e.Error())
			})
			log.Info("bad")
			log.Info("good")
			log.Info("bad")
			log.Info("good")
			require.True(t, callback.Flush(log, time.Minute))
			require.Equal(t, "level=INFO msg=good\nlevel=INFO msg=good\n", out.String())
			mu.Lock()
			defer mu.Unlock()
			require.Len(t, failures, 2)
			require.Contains(t, failures[0], callback.LogHandler)
		})
	}
}
