package client_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
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
		require.Equal(t, mcperrors.CodeTimeout, mcperrors.CodeOf(err))
		require.Equal(t, 10*time.Minute, time.Since(began))
		close(stop)
	})
}

// The caller's params stay unchanged and in place; the token joins the members of
// _meta.
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

// Progress that does not grow reaches its call all the same, and is
// logged once a call. Each request of a call has its own count.
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
		flagged := func() int { return strings.Count(log.text(), "progress of a call does not increase") }
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

// progressing is a server over HTTP whose tool reports progress where it is asked
// for, on the stream of the call, and answers with JSON else. It speaks both eras.
func progressing(w http.ResponseWriter, r *http.Request) {
	var req struct {
		ID     json.RawMessage
		Method string
		Params round
	}
	if json.NewDecoder(r.Body).Decode(&req) != nil || req.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	results := map[string]string{
		"initialize": initResult, "server/discover": discovered, "tools/list": oneTool, "tools/call": doneResult,
	}
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, req.ID, results[req.Method])
	token := req.Params.Meta.ProgressToken
	if req.Method != "tools/call" || token == nil {
		if req.Method == "tools/call" {
			select {
			case <-time.After(250 * time.Second):
			case <-r.Context().Done():
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for i := range 5 {
		pass(50 * time.Second)
		fmt.Fprintf(w, `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`+"\n\n", token, i)
		w.(http.Flusher).Flush()
	}
	fmt.Fprintf(w, "data: %s\n\n", answer)
}

// A tool that reports progress works, whether or not anybody listens: its calls do
// not end at the idle timeout, which is 60 s.
func TestProgressThatNobodyListensToKeepsACallAlive(t *testing.T) {
	t.Parallel()
	const works = 250 * time.Second
	overStream := func(t *testing.T, opts ...client.Option) *client.Client {
		tr, s := newFake(t)
		s.result("server/discover", discovered)
		c, err := client.Connect(t.Context(), tr, opts...)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, ignoreClosed(c.Close())) })
		s.on("tools/call", func(req jsonrpc.Request) any {
			var p round
			require.NoError(t, json.Unmarshal(req.Params, &p))
			for i := range 5 {
				pass(works / 5)
				if token := p.Meta.ProgressToken; token != nil {
					s.notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, token, i))
				}
			}
			return json.RawMessage(doneResult)
		})
		return c
	}
	overHTTP := func(t *testing.T, opts ...client.Option) *client.Client {
		mem := memhttp.New(http.HandlerFunc(progressing))
		c, err := client.Connect(t.Context(), &transport.HTTP{URL: memhttp.URL, RoundTripper: mem.Transport()}, opts...)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()); mem.Close() })
		return c
	}
	for name, connect := range map[string]func(*testing.T, ...client.Option) *client.Client{"stream": overStream, "http": overHTTP} {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c := connect(t, client.WithProtocolVersion(version))
					began := time.Now()
					require.NoError(t, callOnce(t.Context(), c))
					require.Equal(t, works, time.Since(began))
					_, err := c.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"echo","arguments":{"message":"hi"}}`))
					require.NoError(t, err)
				})
			})
			t.Run(name+" "+version+" off", func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					c := connect(t, client.WithProtocolVersion(version), client.WithResilience(client.Resilience{NoProgressTokens: true}))
					began := time.Now()
					require.Equal(t, mcperrors.CodeTimeout, mcperrors.CodeOf(callOnce(t.Context(), c)))
					require.Equal(t, time.Minute, time.Since(began))
				})
			})
		}
	}
}

// The request that waits for a task's result is kept alive by progress of the call
// that made the task.
func TestProgressOfATaskKeepsTheWaitAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		s.result("initialize", strings.Replace(initResult, `"tools"`, `"tasks":{"requests":{"tools":{"call":{}}}},"tools"`, 1))
		s.result("tools/list", taskTools)
		c, err := client.Connect(t.Context(), tr, sessionEra)
		require.NoError(t, err)
		var token string
		const task = `{"taskId":"t1","status":"input_required","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}`
		s.on("tools/call", func(req jsonrpc.Request) any {
			var p round
			require.NoError(t, json.Unmarshal(req.Params, &p))
			token = string(p.Meta.ProgressToken)
			return json.RawMessage(`{"task":` + task + `}`)
		})
		s.on("tasks/result", func(jsonrpc.Request) any {
			for range 5 {
				pass(50 * time.Second)
				s.notify("notifications/progress", `{"progressToken":`+token+`,"progress":1}`)
			}
			return json.RawMessage(doneResult)
		})
		began := time.Now()
		started, err := c.StartTool(t.Context(), "required", nil)
		require.NoError(t, err)
		_, err = started.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, s.count("tasks/result"), "it was not given up")
		require.Equal(t, 250*time.Second, time.Since(began))
		// A token is of no use once its call has ended.
		s.notify("notifications/progress", `{"progressToken":`+token+`,"progress":2}`)
		synctest.Wait()
		require.NoError(t, ignoreClosed(c.Close()))
	})
}

// A token that the caller has set stays the only one.
func TestTokenOfTheCallersOwn(t *testing.T) {
	t.Parallel()
	c, s := connected(t)
	_, err := c.CallTool(t.Context(), "echo", hello, client.WithMeta("progressToken", "mine"))
	require.NoError(t, err)
	last := s.received()[len(s.received())-1]
	require.Contains(t, last, `"_meta":{"progressToken":"mine"}`)
}
