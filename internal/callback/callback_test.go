package callback_test

import (
	"errors"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/callback"
)

func TestRun(t *testing.T) {
	t.Parallel()
	bug := errors.New("a bug")
	for name, c := range map[string]struct {
		f     func()
		value any
		text  string
	}{
		"returns": {f: func() {}},
		"panics":  {f: func() { panic(bug) }, value: bug, text: "OnEvent panicked: a bug"},
		"Goexit":  {f: runtime.Goexit, text: "OnEvent ended its goroutine (runtime.Goexit)"},
	} {
		for way, run := range map[string]func(string, func(*callback.Error), func()) bool{"Run": callback.Run, "Aside": callback.Aside} {
			t.Run(name+" "+way, func(t *testing.T) {
				t.Parallel()
				var got *callback.Error
				returned := false
				var work sync.WaitGroup
				work.Go(func() { returned = run("OnEvent", func(e *callback.Error) { got = e }, c.f) })
				work.Wait()
				if c.text == "" {
					require.True(t, returned)
					require.Nil(t, got)
					return
				}
				require.False(t, returned)
				require.EqualError(t, got, c.text)
				require.Equal(t, c.value, got.Value)
				require.Equal(t, c.value != nil, errors.Is(got, bug))
				require.Equal(t, c.value != nil, len(got.Stack) > 0)
			})
		}
	}
}

// Only Aside protects its caller from a Goexit.
func TestGoexit(t *testing.T) {
	t.Parallel()
	var work sync.WaitGroup
	aside, run := false, false
	work.Go(func() {
		callback.Aside("f", nil, runtime.Goexit)
		aside = true
	})
	work.Go(func() {
		callback.Run("f", nil, runtime.Goexit)
		run = true
	})
	work.Wait()
	require.True(t, aside)
	require.False(t, run)
}

func TestInTurn(t *testing.T) {
	t.Parallel()
	var work sync.WaitGroup
	var seen []int
	next := func() bool {
		seen = append(seen, len(seen))
		if len(seen)%2 == 0 {
			runtime.Goexit()
		}
		return len(seen) < 5
	}
	work.Go(func() { callback.InTurn(work.Go, next) })
	work.Wait()
	require.Equal(t, []int{0, 1, 2, 3, 4}, seen)
}
