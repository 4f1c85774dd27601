package pool_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/pool"
)

// The error of a tool is read with the profile of its server.
func TestPoolToolError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.Tool("fails", "", func(*clienttest.Call) (any, error) { return nil, errors.New("no such file") })
		p, err := pool.Open(t.Context(), []pool.Server{serverAt("s", s.Transport())})
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		_, err = client.CallAs[string](t.Context(), p, "fails", nil)
		require.Equal(t, mcperrors.KindTool, mcperrors.KindOf(err))
		require.ErrorContains(t, err, "no such file")
		require.NoError(t, p.ToolError("fails", nil))
	})
}

// A server that lists slowly delays Tools for a limited time, and keeps its tools.
func TestPoolListsASilentServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := toolServer(t, "a", "one"), toolServer(t, "b", "two")
		p, err := pool.Open(t.Context(), []pool.Server{serverAt("a", a.Transport()), serverAt("b", b.Transport())})
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		list, err := p.Tools(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{"one", "two"}, toolNames(list))
		time.Sleep(6 * time.Minute) // the cache is not fresh any more
		a.Fail(1, clienttest.ErrSilent)
		began := time.Now()
		list, err = p.Tools(t.Context())
		require.NoError(t, err)
		require.Equal(t, 2*time.Second, time.Since(began), "the other has answered")
		require.Equal(t, []string{"one", "two"}, toolNames(list))
		require.Len(t, list.Failures, 1)
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(list.Failures["a"]))
		began = time.Now()
		_, err = p.CallTool(t.Context(), "nobody's", nil)
		require.Equal(t, mcperrors.KindNotFound, mcperrors.KindOf(err))
		require.LessOrEqual(t, time.Since(began), 2*time.Second)
		time.Sleep(6 * time.Minute)
		a.Fail(1, clienttest.ErrSilent)
		b.Fail(1, clienttest.ErrSilent)
		began = time.Now()
		list, err = p.Tools(t.Context())
		require.NoError(t, err)
		require.Equal(t, 10*time.Second, time.Since(began), "nobody has")
		require.Len(t, list.Failures, 2)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = p.Tools(ctx)
		require.ErrorIs(t, err, context.Canceled)
	})
}
