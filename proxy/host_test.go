package proxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// rawHost writes lines to a proxy and reads its answers.
type rawHost struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *io.PipeReader
	lines *bufio.Reader
	stop  context.CancelCauseFunc
	ended chan error
}

// newRawHost starts a proxy before s, which speaks the revision server.
func newRawHost(t *testing.T, s *clienttest.Server, server mcp.Version, opts ...proxy.Option) *rawHost {
	t.Helper()
	return startHost(t, pinned(s, server), opts...)
}

// startHost starts a proxy before a server.
func startHost(t *testing.T, to proxy.Server, opts ...proxy.Option) *rawHost {
	t.Helper()
	ctx, stop := context.WithCancelCause(context.WithoutCancel(t.Context()))
	h := &rawHost{t: t, stop: stop, ended: make(chan error, 1)}
	in, inner := io.Pipe()
	outer, out := io.Pipe()
	h.in, h.out, h.lines = inner, outer, bufio.NewReader(outer)
	go func() {
		h.ended <- proxy.Stdio(ctx, in, out, to, append(opts, proxy.WithLogger(slog.New(slog.DiscardHandler)))...)
	}()
	t.Cleanup(func() {
		require.NoError(t, inner.Close())
		require.NoError(t, outer.Close())
	})
	return h
}

// send writes a message with a method and params, and an id unless that is 0.
func (h *rawHost) send(id int, method, params string) {
	h.t.Helper()
	member := ""
	if id != 0 {
		member = fmt.Sprintf(`"id":%d,`, id)
	}
	_, err := fmt.Fprintf(h.in, `{"jsonrpc":"2.0",%s"method":%q,"params":%s}`+"\n", member, method, params)
	require.NoError(h.t, err)
}

// initialize opens a session that declares these capabilities.
func (h *rawHost) initialize(capabilities string) {
	h.t.Helper()
	h.send(1, mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","clientInfo":{"name":"h","version":"1"},"capabilities":`+capabilities+`}`)
	require.Contains(h.t, h.read(), `"id":1,"result"`)
	h.send(0, mcp.MethodInitialized, `{}`)
}

// stateless sends a request of the stateless era. params begin with their first member.
func (h *rawHost) stateless(id int, method, capabilities, meta, params string) {
	h.t.Helper()
	h.send(id, method, `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":`+capabilities+meta+`}`+params+`}`)
}

func (h *rawHost) read() string {
	h.t.Helper()
	line, err := h.lines.ReadString('\n')
	require.NoError(h.t, err)
	return line
}

// close ends the input and returns what Stdio returned.
func (h *rawHost) close() error {
	h.t.Helper()
	require.NoError(h.t, h.in.Close())
	go func() { _, _ = io.Copy(io.Discard, h.lines) }()
	return <-h.ended
}

// slowTool is a tool that ends when it is cancelled.
func slowTool(c *clienttest.Call) (any, error) {
	<-c.Context().Done()
	return nil, c.Context().Err()
}

// A host whose output is closed gets nothing more: the proxy ends, and runs no further tool.
func TestOutputBreaks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.Tool("a", "", func(*clienttest.Call) (any, error) { return clienttest.Text("a"), nil })
		h := newRawHost(t, s, mcp.LatestSession)
		h.initialize(`{}`)
		require.NoError(t, h.out.CloseWithError(errors.New("gone")))
		h.send(2, mcp.MethodToolsCall, `{"name":"a"}`)
		require.ErrorContains(t, <-h.ended, "gone")
	})
}

// A host that reads late gets every answer, also more than may be queued.
func TestLateHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		large := clienttest.Text(strings.Repeat("x", 4<<20))
		s.Tool("large", "", func(*clienttest.Call) (any, error) { return large, nil })
		h := newRawHost(t, s, mcp.LatestSession)
		h.initialize(`{}`)
		for id := range 8 {
			h.send(id+2, mcp.MethodToolsCall, `{"name":"large"}`)
		}
		time.Sleep(time.Minute)
		for range 8 {
			require.Greater(t, len(h.read()), 4<<20)
		}
		require.NoError(t, h.close())
	})
}

// A server that offers a revision that nobody knows is not asked again.
func TestUnknownRevision(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.On(mcp.MethodInitialize, func(*clienttest.Call) (any, error) {
			return json.RawMessage(`{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`), nil
		})
		h := newRawHost(t, s, mcp.LatestSession)
		h.send(1, mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","clientInfo":{"name":"h","version":"1"},"capabilities":{}}`)
		require.Contains(t, h.read(), "1999-01-01")
		require.Equal(t, 1, s.Count(mcp.MethodInitialize))
		require.NoError(t, h.close())
	})
}

// A call that is open when the host closes its stream, or when the proxy is stopped, is
// answered before the end. A host that reads nothing does not delay the end.
func TestEnd(t *testing.T) {
	t.Parallel()
	errStop := errors.New("stopped")
	for name, tt := range map[string]struct {
		end    func(h *rawHost)
		within time.Duration
		want   error
	}{
		"end of input": {func(h *rawHost) { require.NoError(h.t, h.in.Close()) }, 1500 * time.Millisecond, nil},
		"stop":         {func(h *rawHost) { h.stop(errStop) }, 5 * time.Second, errStop},
	} {
		for _, reads := range []bool{true, false} {
			t.Run(fmt.Sprint(name, " read ", reads), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := clienttest.NewServer(t)
					s.Tool("slow", "", slowTool)
					h := newRawHost(t, s, mcp.LatestSession)
					h.initialize(`{}`)
					h.send(2, mcp.MethodToolsCall, `{"name":"slow"}`)
					synctest.Wait()
					began := time.Now()
					tt.end(h)
					if reads {
						require.Contains(t, h.read(), `"delivery":"unknown"`)
						require.Equal(t, tt.within, time.Since(began))
					}
					require.Equal(t, tt.want, <-h.ended)
					require.LessOrEqual(t, time.Since(began), tt.within+3*time.Second)
				})
			})
		}
	}
}

// A host that has ended its session waits for its requests, and not for what the proxy watches.
func TestEndWhileListsAreWatched(t *testing.T) {
	t.Parallel()
	for _, delay := range []time.Duration{0, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := clienttest.NewServer(t)
			s.SetCapabilities(mcp.ServerCapabilities{Tools: &mcp.ListChangedCapability{ListChanged: true}})
			h := newRawHost(t, s, mcp.Latest)
			h.initialize(`{}`)
			time.Sleep(delay)
			begun := time.Now()
			require.NoError(t, h.close())
			require.Zero(t, time.Since(begun))
		})
	}
}

// Notifications of a host reach the server in order, also those behind initialize.
func TestNotificationsInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		h := newRawHost(t, s, mcp.LatestSession)
		h.send(1, mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","clientInfo":{"name":"h","version":"1"},"capabilities":{}}`)
		for n := range 50 {
			h.send(0, "notifications/example", fmt.Sprintf(`{"n":%d}`, n))
		}
		require.Contains(t, h.read(), `"id":1,"result"`)
		synctest.Wait()
		next := 0
		for _, r := range s.Requests() {
			if r.Method == "notifications/example" {
				require.JSONEq(t, fmt.Sprintf(`{"n":%d}`, next), string(r.Params))
				next++
			}
		}
		require.Equal(t, 50, next)
		require.NoError(t, h.close())
	})
}

const elicits = `{"elicitation":{}}`

// asksName is a tool that asks the host once.
func asksName(c *clienttest.Call) (any, error) {
	answer, err := c.Ask(mcp.MethodElicitationCreate, json.RawMessage(`{"message":"Name?"}`))
	if err != nil {
		return nil, err
	}
	return clienttest.Text(string(answer)), nil
}

// question returns the requestState of a result that asks.
func question(t *testing.T, line string) string {
	t.Helper()
	var message struct {
		Result struct{ RequestState string }
	}
	require.NoError(t, json.Unmarshal([]byte(line), &message))
	require.NotEmpty(t, message.Result.RequestState, line)
	return message.Result.RequestState
}

// An answer with another trace id continues the call; one without a valid requestState is
// refused, and does not call the tool again.
func TestRounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.Tool("greet", "", func(c *clienttest.Call) (any, error) {
			result, err := asksName(c)
			c.Progress(1, "asked")
			time.Sleep(time.Second) // the progress comes before the result
			return result, err
		})
		h := newRawHost(t, s, mcp.LatestSession)
		h.stateless(1, mcp.MethodToolsCall, elicits, `,"x/trace":1,"progressToken":"first"`, `,"name":"greet"`)
		state := question(t, h.read())
		for _, wrong := range []string{``, `,"requestState":""`, `,"requestState":5`} {
			h.stateless(2, mcp.MethodToolsCall, elicits, ``, `,"name":"greet","inputResponses":{"question-1":{"action":"accept"}}`+wrong)
			require.Contains(t, h.read(), `"code":-32602`)
		}
		time.Sleep(9 * time.Minute)
		h.stateless(3, mcp.MethodToolsCall, elicits, `,"x/trace":2,"progressToken":"second"`, `,"name":"greet","inputResponses":{"question-1":{"action":"accept"}},"requestState":"`+state+`"`)
		require.Contains(t, h.read(), `"progressToken":"second"`)
		require.Contains(t, h.read(), `accept`)
		require.Equal(t, 1, s.Count(mcp.MethodToolsCall))
		require.NoError(t, h.close())
	})
}

// A question that was put to a call which ends is put to the next one.
func TestQuestionMovesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.Tool("first", "", func(*clienttest.Call) (any, error) {
			time.Sleep(30 * time.Second)
			return clienttest.Text("first"), nil
		})
		s.Tool("greet", "", asksName)
		h := newRawHost(t, s, mcp.LatestSession)
		h.stateless(1, mcp.MethodToolsCall, elicits, ``, `,"name":"first"`)
		synctest.Wait()
		h.stateless(2, mcp.MethodToolsCall, elicits, ``, `,"name":"greet"`)
		question(t, h.read()) // as part of the first call, which ends meanwhile
		state := question(t, h.read())
		h.stateless(3, mcp.MethodToolsCall, elicits, ``, `,"name":"greet","inputResponses":{"question-1":{"action":"accept"}},"requestState":"`+state+`"`)
		require.Contains(t, h.read(), `accept`)
		require.NoError(t, h.close())
	})
}

// A host is asked only what it declares, and hears only of subscriptions of its own.
func TestUndeclared(t *testing.T) {
	t.Parallel()
	for _, server := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
		synctest.Test(t, func(t *testing.T) {
			s := clienttest.NewServer(t)
			s.Tool("greet", "", asksName)
			h := newRawHost(t, s, server)
			h.initialize(`{"tasks":{"requests":{}}}`)
			h.send(2, mcp.MethodToolsCall, `{"name":"greet"}`)
			answer := h.read()
			require.Contains(t, answer, `"id":2`)
			require.NotContains(t, answer, "Name?")
			require.NotContains(t, fmt.Sprint(s.Requests()), `"tasks"`)
			require.NoError(t, h.close())
		})
	}
}

// A stateless host cannot refuse a question: what it does not declare is refused here.
func TestUndeclaredPart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, capabilities, method, params, says string }{
		{"page", elicits, mcp.MethodElicitationCreate, `{"mode":"url","message":"m","url":"https://a.example","elicitationId":"e"}`, "elicitation.url"},
		{"form", `{"elicitation":{"url":{}}}`, mcp.MethodElicitationCreate, `{"message":"m","requestedSchema":{"type":"object","properties":{}}}`, "elicitation.form"},
		{"tools", `{"sampling":{}}`, mcp.MethodSamplingCreateMessage, `{"messages":[],"maxTokens":1,"tools":[]}`, "sampling.tools"},
		{"declared", `{"sampling":{"tools":{}}}`, mcp.MethodSamplingCreateMessage, `{"messages":[],"maxTokens":1,"tools":[]}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := clienttest.NewServer(t)
				s.Tool("greet", "", func(c *clienttest.Call) (any, error) {
					_, err := c.Ask(tt.method, json.RawMessage(tt.params))
					return clienttest.Text(fmt.Sprint(err)), nil
				})
				h := newRawHost(t, s, mcp.LatestSession)
				h.stateless(1, mcp.MethodToolsCall, tt.capabilities, ``, `,"name":"greet"`)
				answer := h.read()
				if tt.says == "" {
					require.Contains(t, answer, `"input_required"`)
				} else {
					require.Contains(t, answer, "the host does not declare "+tt.says)
				}
				require.NoError(t, h.close())
			})
		})
	}
}

// Levels and spellings of the same capabilities share a server, and more sets than are kept
// replace the oldest. A message crosses only if its request wants its level.
func TestSharedServers(t *testing.T) {
	t.Parallel()
	for _, server := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
		synctest.Test(t, func(t *testing.T) {
			s := clienttest.NewServer(t)
			connected := 0
			s.OnConnect(func(int) error { connected++; return nil })
			s.SetCapabilities(mcp.ServerCapabilities{Logging: &mcp.EmptyCapability{}, Tools: &mcp.ListChangedCapability{}})
			s.Tool("log", "", func(c *clienttest.Call) (any, error) {
				c.Notify(mcp.MethodMessage, json.RawMessage(`{"level":"info","data":"here"}`))
				time.Sleep(time.Second) // the message comes before the result
				return clienttest.Text("done"), nil
			})
			h := newRawHost(t, s, server)
			for id, level := range []string{"debug", "error"} {
				h.stateless(id+1, mcp.MethodToolsCall, `{"roots":{}, "sampling":{}}`, `,"io.modelcontextprotocol/logLevel":"`+level+`"`, `,"name":"log"`)
				if level == "debug" {
					require.Contains(t, h.read(), `"here"`)
				}
				require.Contains(t, h.read(), `"done"`)
			}
			h.stateless(3, mcp.MethodToolsList, `{"sampling":{},"roots":{}}`, `,"io.modelcontextprotocol/logLevel":"info"`, ``)
			require.Contains(t, h.read(), `"tools"`)
			require.Equal(t, 1, connected)
			for n := range 20 {
				h.stateless(n+4, mcp.MethodToolsList, fmt.Sprintf(`{"experimental":{"n":{"n":%d}}}`, n), ``, ``)
				require.Contains(t, h.read(), `"tools"`)
			}
			require.NoError(t, h.close())
		})
	}
}

// A server that is slow to connect delays only the requests that need it, and they share its
// failure.
func TestConnectsApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.OnConnect(func(n int) error {
			if n == 1 {
				time.Sleep(time.Second)
				return errors.New("no such program")
			}
			return nil
		})
		h := newRawHost(t, s, mcp.LatestSession)
		h.stateless(1, mcp.MethodToolsList, `{}`, ``, ``)
		h.stateless(2, mcp.MethodToolsList, `{}`, ``, ``)
		synctest.Wait()
		h.stateless(3, mcp.MethodToolsList, elicits, ``, ``)
		require.Contains(t, h.read(), `"id":3,"result"`)
		for range 2 {
			require.Contains(t, h.read(), `no such program`)
		}
		require.NoError(t, h.close())
	})
}

// A host can subscribe again after the server has ended its subscription.
func TestSubscriptionEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.SetCapabilities(mcp.ServerCapabilities{Resources: &mcp.ResourcesCapability{Subscribe: true}})
		s.On(mcp.MethodSubscriptionsListen, func(c *clienttest.Call) (any, error) {
			return json.RawMessage(`{"resultType":"complete"}`), nil
		})
		h := newRawHost(t, s, mcp.Latest)
		h.initialize(`{}`)
		for n := range 2 {
			h.send(n+2, mcp.MethodResourcesSubscribe, `{"uri":"file:///a"}`)
			h.read()
			synctest.Wait()
			require.Equal(t, n+1, s.Count(mcp.MethodSubscriptionsListen))
		}
		require.NoError(t, h.close())
	})
}

// A request and a notification of the server with methods that nobody knows reach a session
// host, and the answer the server.
func TestUnknownMethods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.Tool("ask", "", func(c *clienttest.Call) (any, error) {
			answer, err := c.Ask("com.example/ask", json.RawMessage(`{"x":1.0}`))
			return clienttest.Text(string(answer)), err
		})
		h := newRawHost(t, s, mcp.LatestSession)
		h.initialize(`{}`)
		h.send(2, mcp.MethodToolsCall, `{"name":"ask"}`)
		asked := h.read()
		require.Contains(t, asked, `"method":"com.example/ask","params":{"x":1.0}`)
		id := asked[strings.Index(asked, `"id":`)+5:]
		id = id[:strings.Index(id, ",")]
		_, err := fmt.Fprintf(h.in, `{"jsonrpc":"2.0","id":%s,"result":{"y":2.0}}`+"\n", id)
		require.NoError(t, err)
		require.Contains(t, h.read(), `{\"y\":2.0}`)
		require.NoError(t, h.close())
	})
}

// A host that is gone during a call leaves its programs the larger part of three seconds to end.
func TestHostGoesDuringACall(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, host mcp.Era, server mcp.Version) {
		s := clienttest.NewServer(t)
		s.Tool("slow", "", slowTool)
		h := newRawHost(t, s, server)
		h.begin(host)
		if host == mcp.EraSession {
			h.send(2, mcp.MethodToolsCall, `{"name":"slow"}`)
		} else {
			h.stateless(2, mcp.MethodToolsCall, `{}`, ``, `,"name":"slow"`)
		}
		began := time.Now()
		require.NoError(t, h.close())
		require.LessOrEqual(t, time.Since(began), 1750*time.Millisecond)
	})
}
