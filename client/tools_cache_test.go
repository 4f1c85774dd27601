package client_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// The options of the lists have the same effect for a schema.
func TestGetToolSchemaTakesOptions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := alone(t, client.WithCache(client.CacheConfig{NoPreload: true}))
		s.result("tools/list", `{"resultType":"complete","ttlMs":60000,"cacheScope":"private","tools":[`+aTool+`]}`)
		for _, step := range []struct {
			opt  client.CallOption
			want int // lists so far
		}{
			{client.WithCacheMode(client.CacheUse), 1},
			{client.WithCacheMode(client.CacheUse), 1},
			{client.WithTimeouts(time.Second, time.Minute), 1},
			{client.WithCacheMode(client.CacheBypass), 2},
			{client.WithMeta("example.com/who", "me"), 3},
			{client.WithCacheMode(client.CacheUse), 3},
			{client.WithCacheMode(client.CacheRefresh), 4},
			{client.WithCacheMode(client.CacheUse), 4},
		} {
			tool, err := c.GetToolSchema(t.Context(), "echo", step.opt)
			require.NoError(t, err)
			require.Equal(t, "echo", tool.Name)
			require.Len(t, s.of("tools/list"), step.want)
		}
		_, err := c.GetToolSchema(t.Context(), "none", client.WithCacheMode(client.CacheBypass))
		require.Equal(t, mcperrors.CodeToolNotFound, mcperrors.CodeOf(err))
	})
}
