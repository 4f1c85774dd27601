package toolcache

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// A list that was fetched while a caller was on its way to confirm one is current
// enough for that caller, and for those that confirm in the ten seconds after it.
func TestAListThatCameMeanwhileConfirms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Settings{})
		require.NoError(t, err)
		fetched := 0
		fetch := func(context.Context) (Listing, error) {
			fetched++
			return Listing{Tools: []mcp.Tool{{Name: "greet", InputSchema: []byte(`{"type":"object"}`)}}}, nil
		}
		key := Key{Server: "s"}
		_, err = c.Get(t.Context(), key, "greet", fetch)
		require.NoError(t, err)
		l := c.obtain(key)
		saw := l.snap.Load()
		time.Sleep(time.Hour)
		c.Renew(t.Context(), key, fetch) // for somebody else's call
		synctest.Wait()
		require.Equal(t, 2, fetched)
		_, _, err = c.refresh(t.Context(), l, fetch, saw, "greet", confirming)
		require.NoError(t, err)
		require.Equal(t, 2, fetched)
		for _, want := range []int{2, 3} {
			time.Sleep(confirmInterval / 2)
			_, err = c.Confirm(t.Context(), key, "greet", fetch)
			require.NoError(t, err)
			require.Equal(t, want, fetched)
		}
	})
}
