package server

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// What the families use closes after them, in reverse order: the services before the
// store that they write to.
func TestCloseEndsWhatFamiliesStandOn(t *testing.T) {
	t.Parallel()
	var order []string
	end := func(name string) func(context.Context) error {
		return func(context.Context) error { order = append(order, name); return nil }
	}
	srv, err := New(Options{Families: []string{"skills"}, Extra: []*family.Family{{Name: "one", Close: end("family")}}})
	require.NoError(t, err)
	srv.closers = append(srv.closers, closer{"store", end("store")}, closer{"services", end("services")})
	require.NoError(t, srv.Close())
	require.Equal(t, []string{"family", "services", "store"}, order)
}

func TestCloseEndsFamilies(t *testing.T) {
	t.Parallel()
	var order []string
	end := func(name string, err error) func(context.Context) error {
		return func(ctx context.Context) error {
			_, bounded := ctx.Deadline()
			require.True(t, bounded)
			order = append(order, name)
			return err
		}
	}
	srv, err := New(Options{Families: []string{"skills"}, Extra: []*family.Family{
		{Name: "one", Close: end("one", nil)}, {Name: "two", Close: end("two", errors.New("not flushed"))}, {Name: "three"},
	}})
	require.NoError(t, err)
	require.ErrorContains(t, srv.Close(), "closing family two: not flushed")
	require.Equal(t, []string{"two", "one"}, order)
	require.ErrorContains(t, srv.Close(), "not flushed", "twice is once")
	require.Len(t, order, 2)
}

// A family that ignores its context cannot block Close forever.
func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := &Server{opts: Options{ShutdownGrace: 10 * time.Second}}
		begin := time.Now()
		err := s.finish("family slow", func(context.Context) error { <-release; return nil })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 11*time.Second, time.Since(begin))
		close(release)
	})
}
