package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

const discoverKeys = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},` +
	`"experimental":{"com.example/idempotency":{}}},"ttlMs":60000,"cacheScope":"private"}`

// A server that runs a key once would answer the second round with the question
// of the first: each round has a key of its own, which its attempts share.
func TestEachRoundHasAKey(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		lonely(t, func(t *testing.T, _ *client.Client, s *lone) {
			s.result("server/discover", discoverKeys)
			c, err := s.dial(client.WithIdempotency("com.example"))
			require.NoError(t, err)
			n := 0
			s.on("tools/call", func(jsonrpc.Request) any {
				switch n++; n {
				case 1, 4:
					return status(http.StatusBadGateway, "")
				case 2, 3:
					return json.RawMessage(`{"resultType":"input_required","requestState":"abc"}`)
				}
				return json.RawMessage(`{"resultType":"complete","content":[]}`)
			})
			opts := []client.CallOption{client.WithoutValidation()}
			if own {
				opts = append(opts, client.WithIdempotencyKey("mine"))
			}
			_, err = c.CallTool(t.Context(), "deploy", nil, opts...)
			require.NoError(t, err)
			var keys []string
			var attempts []int
			for _, p := range s.of("tools/call") {
				var params struct {
					Meta struct {
						Key     string `json:"com.example/idempotencyKey"`
						Attempt int    `json:"com.example/attempt"`
					} `json:"_meta"`
				}
				require.NoError(t, json.Unmarshal(p.req.Params, &params))
				keys, attempts = append(keys, params.Meta.Key), append(attempts, params.Meta.Attempt)
			}
			require.Equal(t, []int{1, 2, 1, 1, 2}, attempts)
			if own {
				require.Equal(t, []string{"mine", "mine", "mine#2", "mine#3", "mine#3"}, keys)
			}
			require.Equal(t, keys[0], keys[1])
			require.Equal(t, keys[3], keys[4])
			require.NotEqual(t, keys[1], keys[2])
			require.NotEqual(t, keys[2], keys[3])
			require.NoError(t, c.Close())
		})
	}
}

// With keys, all attempts of a call are one call to the server. They allow a retry only
// if the server declares that it honors them.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	for announced, want := range map[bool]int{true: 3, false: 1} {
		synctest.Test(t, func(t *testing.T) {
			s := newLone(t)
			if announced {
				s.result("server/discover", `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"experimental":{"com.example/idempotency":{}}},"ttlMs":60000,"cacheScope":"private"}`)
			}
			c, err := s.dial(client.WithIdempotency("com.example"))
			require.NoError(t, err)
			s.on("tools/call", func(jsonrpc.Request) any { return status(http.StatusBadGateway, "") })
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			_, err = c.CallTool(ctx, "deploy", nil, client.WithoutValidation())
			require.Error(t, err)
			require.Len(t, s.of("tools/call"), want)
			keys := map[string]bool{}
			for i, p := range s.of("tools/call") {
				var params struct {
					Meta map[string]any `json:"_meta"`
				}
				require.NoError(t, json.Unmarshal(p.req.Params, &params))
				keys[params.Meta["com.example/idempotencyKey"].(string)] = true
				require.EqualValues(t, i+1, params.Meta["com.example/attempt"])
				require.Positive(t, params.Meta["com.example/deadlineMs"])
				require.LessOrEqual(t, params.Meta["com.example/deadlineMs"], 30_000.0)
				require.Empty(t, p.header.Get("Idempotency-Key"))
			}
			require.Len(t, keys, 1)
			_, err = c.CallTool(ctx, "deploy", nil, client.WithoutValidation(), client.WithIdempotencyKey("mine"))
			require.Error(t, err)
			require.Contains(t, s.last("tools/call").body, `"com.example/idempotencyKey":"mine"`)
			require.NoError(t, c.Close())
			s.mem.Close()
		})
	}
	c, _ := connected(t)
	_, err := c.CallTool(t.Context(), "echo", hello, client.WithIdempotencyKey("k"))
	require.ErrorContains(t, err, "WithIdempotency")
}
