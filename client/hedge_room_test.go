package client_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// hedgingWithin is [hedging] with limits.
func hedgingWithin(limit func(r *client.Resilience)) client.Option {
	r := client.Resilience{Hedge: client.Hedge{Share: 1, After: time.Second}}
	r.Retry = client.Retry{Attempts: 1}
	limit(&r)
	return client.WithResilience(r)
}

// A second request counts against the rate and the places in flight like any other. It
// does not wait for them: without room at once it is not sent.
func TestHedgeTakesItsTurn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		limit func(r *client.Resilience)
		want  int
	}{
		"a place":         {func(r *client.Resilience) { r.Bulkhead = client.Bulkhead{Limit: 2} }, 2},
		"no place":        {func(r *client.Resilience) { r.Bulkhead = client.Bulkhead{Limit: 1} }, 1},
		"its turn":        {func(r *client.Resilience) { r.Rate = client.Rate{PerSecond: 0.1, Burst: 2} }, 2},
		"not its turn":    {func(r *client.Resilience) { r.Rate = client.Rate{PerSecond: 0.1, Burst: 1} }, 1},
		"room in flight":  {func(r *client.Resilience) { r.Bulkhead = client.Bulkhead{Limit: 2, Queue: -1} }, 2},
		"none in flight":  {func(r *client.Resilience) { r.Bulkhead = client.Bulkhead{Limit: 1, Queue: -1} }, 1},
		"turn, no place":  {func(r *client.Resilience) { r.Rate.PerSecond, r.Rate.Burst, r.Bulkhead.Limit = 0.1, 2, 1 }, 1},
		"place, not turn": {func(r *client.Resilience) { r.Rate.PerSecond, r.Rate.Burst, r.Bulkhead.Limit = 0.1, 1, 2 }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inHedge(t, func(t *testing.T, c *client.Client, s *lone) {
				var n, most atomic.Int32
				s.on("prompts/list", func(jsonrpc.Request) any {
					most.Store(max(most.Load(), n.Add(1)))
					defer n.Add(-1)
					<-time.After(3 * time.Second)
					return json.RawMessage(`{"resultType":"complete","prompts":[]}`)
				})
				for round := 1; round <= 2; round++ { // the second finds the same room
					<-time.After(time.Minute) // what came before is paid back
					_, err := c.Call(t.Context(), "prompts/list", nil)
					require.NoError(t, err)
					require.Len(t, s.of("prompts/list"), round*tt.want)
					require.EqualValues(t, tt.want, most.Load())
					require.Zero(t, c.Health().InFlight)
				}
			}, client.WithCache(client.CacheConfig{NoPreload: true}), hedgingWithin(tt.limit))
		})
	}
}

// A call that comes while both requests are in flight finds their places taken.
func TestHedgeIsInFlight(t *testing.T) {
	t.Parallel()
	inHedge(t, func(t *testing.T, c *client.Client, s *lone) {
		s.on("tools/call", func(jsonrpc.Request) any {
			<-time.After(10 * time.Second)
			return json.RawMessage(doneResult)
		})
		hedged := make(chan error, 1)
		go func() {
			_, err := c.CallTool(t.Context(), "echo", nil, always)
			hedged <- err
		}()
		<-time.After(2 * time.Second)
		require.Equal(t, 2, c.Health().InFlight)
		_, err := c.CallTool(t.Context(), "echo", nil)
		require.Equal(t, mcperrors.KindOverloaded, mcperrors.KindOf(err))
		require.NoError(t, <-hedged)
		_, err = c.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err)
	}, hedgingWithin(func(r *client.Resilience) { r.Bulkhead = client.Bulkhead{Limit: 2, Queue: -1} }))
}

// reporting answers each call of a tool on a stream: progress as one step says, by
// request and then by second, and a result in the end.
func reporting(steps ...[]float64) answerFunc {
	var n atomic.Int32
	return func(req jsonrpc.Request) any {
		of := steps[n.Add(1)-1]
		return replyFunc(func(w http.ResponseWriter, r *http.Request) {
			var p round
			_ = json.Unmarshal(req.Params, &p)
			w.Header().Set("Content-Type", "text/event-stream")
			for _, progress := range of {
				select {
				case <-time.After(40 * time.Second):
				case <-r.Context().Done():
					return
				}
				if token := p.Meta.ProgressToken; token != nil && progress > 0 {
					fmt.Fprintf(w, `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%v}}`+"\n\n", token, progress)
					w.(http.Flusher).Flush()
				}
			}
			fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":%s}`+"\n\n", req.ID.AppendJSON(nil), doneResult)
		})
	}
}

// Both requests ask for progress, each with a token of its own. The caller hears of
// either, and each keeps its own request alive, and no other: the idle timeout is
// 60 s.
func TestHedgeProgress(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		steps [][]float64
		heard []float64
		took  time.Duration
	}{
		"the first reports":   {[][]float64{{1, 2, 3}, {0, 0, 0}}, []float64{1, 2, 3}, 120 * time.Second},
		"the second reports":  {[][]float64{{0, 0, 0, 0}, {5, 6, 7}}, []float64{5, 6, 7}, 121 * time.Second},
		"both report":         {[][]float64{{1, 2, 3}, {5, 6, 7}}, []float64{1, 5, 2, 6, 3}, 120 * time.Second},
		"neither lives on it": {[][]float64{{1, 0, 0}, {5, 0, 0}}, []float64{1, 5}, 101 * time.Second},
	} {
		for _, listened := range []bool{true, false} {
			t.Run(fmt.Sprint(name, listened), func(t *testing.T) {
				t.Parallel()
				m := &recordingMeter{}
				inHedge(t, func(t *testing.T, c *client.Client, s *lone) {
					s.on("tools/call", reporting(tt.steps...))
					opts := []client.CallOption{always}
					var heard []float64
					if listened {
						opts = append(opts, client.WithProgress(func(p mcp.ProgressParams) { heard = append(heard, p.Progress) }))
					}
					began := time.Now()
					_, err := c.CallTool(t.Context(), "echo", nil, opts...)
					require.Equal(t, name == "neither lives on it", err != nil, "%v", err)
					require.Equal(t, tt.took, time.Since(began))
					if listened {
						require.Equal(t, tt.heard, heard)
					}
					calls := s.of("tools/call")
					require.Len(t, calls, 2)
					first, second := calls[0].meta(t)["progressToken"], calls[1].meta(t)["progressToken"]
					require.NotEmpty(t, first)
					require.NotEmpty(t, second)
					require.NotEqual(t, first, second)
				}, client.WithMeter(m), hedgingWithin(func(r *client.Resilience) { r.Silence = 0 }))
			})
		}
	}
}

// If the call makes a task, the task reports progress with the token of the request
// whose answer won. The other token means nothing any more.
func TestHedgeProgressOfATask(t *testing.T) {
	t.Parallel()
	for name, second := range map[string]bool{"the first wins": false, "the second wins": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newLone(t)
				s.result("server/discover", strings.Replace(discoverAll, `"tools":`, `"extensions":{"io.modelcontextprotocol/tasks":{}},"tools":`, 1))
				c, err := s.dial(hedging(1), client.WithTasks())
				require.NoError(t, err)
				const task = `{"resultType":"task","taskId":"t1","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null}`
				var n atomic.Int32
				s.on("tools/call", func(jsonrpc.Request) any {
					if n.Add(1) == 1 && second {
						return nil // no answer
					}
					<-time.After(2 * time.Second)
					return json.RawMessage(task)
				})
				s.on("tasks/get", func(req jsonrpc.Request) any {
					calls := s.of("tools/call")
					return replyFunc(func(w http.ResponseWriter, _ *http.Request) {
						w.Header().Set("Content-Type", "text/event-stream")
						for i, call := range calls {
							fmt.Fprintf(w, `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`+"\n\n",
								call.meta(t)["progressToken"], i+1)
						}
						fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":%s}`+"\n\n", req.ID.AppendJSON(nil),
							`{"resultType":"complete","taskId":"t1","status":"completed","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null,"result":{"content":[]}}`)
					})
				})
				var heard []float64
				_, err = c.CallTool(t.Context(), "echo", nil, always, client.WithProgress(func(p mcp.ProgressParams) { heard = append(heard, p.Progress) }))
				require.NoError(t, err)
				require.Len(t, s.of("tools/call"), 2)
				want := []float64{1}
				if second {
					want = []float64{2}
				}
				require.Equal(t, want, heard)
				require.NoError(t, c.Close())
				s.mem.Close()
				time.Sleep(5 * time.Second)
			})
		})
	}
}
