package client_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// A server that answers is there: one whose lists or resources fail goes on being
// called for its tools.
func TestAnsweredErrorsOfReadsOpenNoCircuit(t *testing.T) {
	t.Parallel()
	for _, code := range []int{-32603, -32000} {
		for method, read := range map[string]func(t *testing.T, c *client.Client) error{
			"tools/list": func(t *testing.T, c *client.Client) error {
				_, err := c.ListTools(t.Context(), nil, client.WithRetryPolicy(client.RetryNever))
				return err
			},
			"resources/list": func(t *testing.T, c *client.Client) error {
				_, err := c.ListResources(t.Context(), nil, client.WithRetryPolicy(client.RetryNever))
				return err
			},
			"resources/read": func(t *testing.T, c *client.Client) error {
				_, err := c.ReadResource(t.Context(), "x:/a", client.WithRetryPolicy(client.RetryNever))
				return err
			},
		} {
			t.Run(fmt.Sprint(method, " ", code), func(t *testing.T) {
				t.Parallel()
				everyWay(t, func(t *testing.T, p *peer) {
					p.replies = func(x *payment) bool {
						if x.Method != method {
							return false
						}
						x.reply(0, fmt.Sprintf(`{"jsonrpc":"2.0","id":ID,"error":{"code":%d,"message":"the backend is away"}}`, code))
						return true
					}
					p.pay = func(x *payment) {
						x.reply(0, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":[]}}`)
					}
					c := p.dial(client.WithCache(client.CacheConfig{NoPreload: true}))
					for range 12 {
						err := read(t, c)
						require.Equal(t, mcperrors.KindServer, mcperrors.KindOf(err), "%v", err)
						require.Equal(t, mcperrors.Answered, mcperrors.DeliveryOf(err))
					}
					require.Equal(t, 12, p.count(method))
					require.Equal(t, breaker.Closed, c.Breaker().State())
					_, err := c.CallTool(t.Context(), "pay", map[string]any{})
					require.NoError(t, err)
				})
			})
		}
	}
}

// As the test request of a circuit such an answer decides nothing: the next call
// finds out.
func TestAnsweredErrorOfAReadIsNoTestRequest(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		trip(t, c, s)
		time.Sleep(31 * time.Second)
		s.on("tools/list", func(jsonrpc.Request) any { return jsonrpc.NewError(-32603, "no", nil) })
		_, err := c.ListTools(t.Context(), nil, client.WithCacheMode(client.CacheRefresh))
		require.Equal(t, mcperrors.KindServer, mcperrors.KindOf(err), "%v", err)
		require.Equal(t, breaker.HalfOpen, c.Breaker().State())
		_, err = c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
		require.Equal(t, 1, s.count("ping"))
		require.Equal(t, breaker.Closed, c.Breaker().State())
	}, seedProfile)
}
