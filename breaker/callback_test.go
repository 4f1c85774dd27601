package breaker_test

import (
	"context"
	"log/slog"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
)

type badHandler struct{ fail func() }

func (h badHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (h badHandler) Handle(context.Context, slog.Record) error { h.fail(); return nil }
func (h badHandler) WithAttrs([]slog.Attr) slog.Handler        { return h }
func (h badHandler) WithGroup(string) slog.Handler             { return h }

// A listener or logger that panics or ends its goroutine does not end the process, and
// receives the next transition.
func TestCallbacks(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(){"panic": func() { panic("a bug of the application") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := make(chan breaker.State, 10)
			b := breaker.New(breaker.Settings{Logger: slog.New(badHandler{fail}), OnTransition: func(tr breaker.Transition) {
				told <- tr.To
				fail()
			}})
			b.Trip("one")
			require.Equal(t, breaker.Open, <-told)
			require.True(t, b.Renewed("two"))
			require.Equal(t, breaker.Closed, <-told)
		})
	}
}
