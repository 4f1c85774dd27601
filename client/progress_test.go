package client_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Progress reaches the call that asked, in order, all of it before the call
// returns, and keeps the call alive.
func TestProgress(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		s.on("tools/call", func(req jsonrpc.Request) any {
			var p struct {
				Meta struct {
					ProgressToken json.RawMessage `json:"progressToken"`
				} `json:"_meta"`
			}
			require.NoError(t, json.Unmarshal(req.Params, &p))
			for i := range 5 {
				time.Sleep(50 * time.Second) // the idle timeout is 60 s
				s.notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":5}`, p.Meta.ProgressToken, i+1))
			}
			s.notify("notifications/progress", `{"progressToken":"nobody's","progress":1}`)
			return json.RawMessage(`{"content":[]}`)
		})
		var got []float64
		_, err := c.CallTool(t.Context(), "echo", hello, client.WithProgress(func(p mcp.ProgressParams) {
			got = append(got, p.Progress)
		}))
		require.NoError(t, err)
		require.Equal(t, []float64{1, 2, 3, 4, 5}, got)
	})
}

// Ten minutes are the end, whatever comes.
func TestMaxTimeHoldsInSpiteOfProgress(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		stop := make(chan struct{})
		s.on("tools/call", func(jsonrpc.Request) any {
			for {
				select {
				case <-stop:
					return nil
				case <-time.After(30 * time.Second):
					s.notify("notifications/progress", `{"progressToken":1,"progress":1}`)
				}
			}
		})
		began := time.Now()
		_, err := c.CallTool(t.Context(), "echo", hello, client.WithProgress(func(mcp.ProgressParams) {}))
		require.Equal(t, mcperrors.E202, mcperrors.CodeOf(err))
		require.Equal(t, 10*time.Minute, time.Since(began))
		close(stop)
	})
}

// What the caller put into params stays as it is and where it is; the token
// joins the members of _meta.
func TestProgressTokenJoinsParams(t *testing.T) {
	t.Parallel()
	c, s := connected(t)
	s.on("custom", func(req jsonrpc.Request) any { return req.Params })
	progress := client.WithProgress(func(mcp.ProgressParams) {})
	for params, want := range map[string]string{
		``:                                   `{"_meta":{"progressToken":N}}`,
		`{}`:                                 `{"_meta":{"progressToken":N}}`,
		`{"b":1.0,"a":2}`:                    `{"b":1.0,"a":2,"_meta":{"progressToken":N}}`,
		`{"_meta":{},"b":1}`:                 `{"b":1,"_meta":{"progressToken":N}}`,
		`{"b":1,"_meta":{"x/y":[1] },"c":2}`: `{"b":1,"c":2,"_meta":{"progressToken":N,"x/y":[1]}}`,
	} {
		got, err := c.Call(t.Context(), "custom", json.RawMessage(params), progress)
		if params == "" {
			got, err = c.Call(t.Context(), "custom", nil, progress)
		}
		require.NoError(t, err)
		require.Equal(t, want, tokens.ReplaceAllString(string(got), `"progressToken":N`))
	}
}

var tokens = regexp.MustCompile(`"progressToken":\d+`)
