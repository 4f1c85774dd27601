package client_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
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

// UTIL-09: progress that does not grow reaches its call all the same, and is
// logged once a call. Each request of a call has its own count (MRTR-05).
func TestProgressThatDoesNotGrow(t *testing.T) {
	t.Parallel()
	log := &lines{}
	var got []float64
	speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
		values := [][]string{{"1", "2"}, {"0.5", "1"}}
		s.on("tools/call", func(req jsonrpc.Request) any {
			var p round
			require.NoError(t, json.Unmarshal(req.Params, &p))
			for _, v := range values[0] {
				s.notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%s}`, p.Meta.ProgressToken, v))
			}
			if values = values[1:]; len(values) > 0 {
				return json.RawMessage(interim(`"later"`))
			}
			return json.RawMessage(plainResult)
		})
		call := func() {
			got = nil
			_, err := c.CallTool(t.Context(), "echo", hello, client.WithProgress(func(p mcp.ProgressParams) { got = append(got, p.Progress) }))
			require.NoError(t, err)
		}
		flagged := func() int { return strings.Count(log.text(), "progress of a call does not grow") }
		call()
		require.Equal(t, []float64{1, 2, 0.5, 1}, got)
		require.Zero(t, flagged(), "two requests")
		for i, bad := range [][]string{{"1", "1", "0", "3", "3"}, {"-1", "-2"}} {
			values = [][]string{bad}
			call()
			require.Len(t, got, len(bad))
			require.Equal(t, i+1, flagged(), "%v", bad)
		}
		require.Contains(t, log.text(), "server=")
	}, client.WithLogger(log.logger()))
}
