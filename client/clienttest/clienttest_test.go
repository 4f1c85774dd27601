package clienttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func TestMain(m *testing.M) { testmain.Run(m) }

var versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// everyWay runs f with a client in every revision, in memory in virtual time and
// over HTTP.
func everyWay(t *testing.T, setup func(*clienttest.Server), f func(t *testing.T, c *client.Client, s *clienttest.Server), opts ...client.Option) {
	t.Helper()
	for _, version := range versions {
		opts := append([]client.Option{client.WithProtocolVersion(version)}, opts...)
		t.Run(version+" in memory", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := clienttest.NewServer(t)
				setup(s)
				c, err := client.Connect(t.Context(), s.Transport(), opts...)
				require.NoError(t, err)
				defer c.Close() //nolint:errcheck // a pipe
				f(t, c, s)
			})
		})
		if version == versions[0] {
			continue // had another transport over HTTP
		}
		t.Run(version+" over HTTP", func(t *testing.T) {
			t.Parallel()
			s := clienttest.NewServer(t)
			setup(s)
			c, err := client.Dial(t.Context(), s.URL(), opts...)
			require.NoError(t, err)
			defer c.Close() //nolint:errcheck // not what is tested
			f(t, c, s)
		})
	}
}

func features(s *clienttest.Server) {
	s.Tool("echo", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, func(call *clienttest.Call) (any, error) {
		var args struct {
			Text string `json:"text"`
		}
		if err := call.Bind(&args); err != nil {
			return nil, err
		}
		call.Progress(1, "half")
		return clienttest.Text(args.Text), nil
	})
	s.Tool("fails", "", func(*clienttest.Call) (any, error) { return nil, errors.New("no luck") })
	s.Resource("test://a", "text/plain", "A")
	s.Prompt(mcp.Prompt{Name: "hello"}, func(call *clienttest.Call) (any, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: string(call.Arguments)}}}}, nil
	})
	s.On("acme/sum", func(call *clienttest.Call) (any, error) { return map[string]any{"method": call.Method}, nil })
}

func TestFeatures(t *testing.T) {
	t.Parallel()
	everyWay(t, features, func(t *testing.T, c *client.Client, s *clienttest.Server) {
		ctx := t.Context()
		var progress atomic.Int64
		res, err := c.CallTool(ctx, "echo", map[string]any{"text": "hi"}, client.WithProgress(func(mcp.ProgressParams) { progress.Add(1) }))
		require.NoError(t, err)
		require.Equal(t, "hi", res.Text())
		require.EqualValues(t, 1, progress.Load())
		res, err = c.CallTool(ctx, "fails", nil)
		require.NoError(t, err)
		require.True(t, res.IsError)
		_, err = c.CallTool(ctx, "nowhere", nil, client.WithoutValidation())
		require.Equal(t, mcperrors.KindNotFound, mcperrors.KindOf(err))

		read, err := c.ReadResource(ctx, "test://a")
		require.NoError(t, err)
		require.Equal(t, "A", *read.Contents[0].Text)
		_, err = c.ReadResource(ctx, "test://b")
		require.Equal(t, mcperrors.KindNotFound, mcperrors.KindOf(err))
		got, err := c.GetPrompt(ctx, "hello", map[string]string{"who": "you"})
		require.NoError(t, err)
		require.Len(t, got.Messages, 1)
		raw, err := c.Call(ctx, "acme/sum", nil)
		require.NoError(t, err)
		require.Contains(t, string(raw), `"method":"acme/sum"`)

		require.Equal(t, 3, s.Count("tools/call"))
		requests := s.Requests()
		require.Equal(t, "acme/sum", requests[len(requests)-1].Method)
	})
}

// A handler asks in the words of either era, and runs twice in the stateless
// one.
func TestAsk(t *testing.T) {
	t.Parallel()
	setup := func(s *clienttest.Server) {
		s.Tool("delete", "", func(call *clienttest.Call) (any, error) {
			for range 2 {
				answer, err := call.Ask(mcp.MethodElicitationCreate, map[string]any{
					"message": "Sure?", "requestedSchema": map[string]any{"type": "object", "properties": map[string]any{}},
				})
				if err != nil {
					return nil, err
				}
				var said mcp.ElicitResult
				if err := json.Unmarshal(answer, &said); err != nil || said.Action != mcp.ElicitAccept {
					return clienttest.Text("kept"), err
				}
			}
			return clienttest.Text("deleted"), nil
		})
	}
	var asked atomic.Int64
	everyWay(t, setup, func(t *testing.T, c *client.Client, _ *clienttest.Server) {
		if !c.ProtocolVersion().AtLeast("2025-06-18") {
			return // had no elicitation
		}
		res, err := c.CallTool(t.Context(), "delete", nil)
		require.NoError(t, err)
		require.Equal(t, "deleted", res.Text())
	}, client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
		asked.Add(1)
		return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
	}))
}

// Fail makes as many requests fail as the test asks for.
func TestFail(t *testing.T) {
	t.Parallel()
	everyWay(t, features, func(t *testing.T, c *client.Client, s *clienttest.Server) {
		s.Fail(2, jsonrpc.NewError(-32603, "broken", nil))
		s.Fail(1, clienttest.ErrSilent)
		for range 2 {
			_, err := c.Call(t.Context(), "acme/sum", nil)
			require.Equal(t, mcperrors.KindServer, mcperrors.KindOf(err))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := c.Call(ctx, "acme/sum", nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = c.Call(t.Context(), "acme/sum", nil)
		require.NoError(t, err)
		s.Fail(1, clienttest.ErrCut)
		_, err = c.Call(t.Context(), "acme/sum", nil)
		require.Equal(t, mcperrors.KindTransport, mcperrors.KindOf(err), "%v", err)
	})
}

// Notifications reach the clients that listen for them.
func TestNotify(t *testing.T) {
	t.Parallel()
	changed := make(chan string, 100)
	everyWay(t, features, func(t *testing.T, c *client.Client, s *clienttest.Server) {
		for s.Listening(mcp.MethodToolsListChanged) == 0 {
			wait(t)
		}
		_, err := c.GetToolSchema(t.Context(), "echo")
		require.NoError(t, err)
		before := s.Count("tools/list")
		s.Tool("new", "", func(*clienttest.Call) (any, error) { return clienttest.Text("new"), nil })
		s.Notify(mcp.MethodToolsListChanged, nil)
		for {
			if _, err := c.GetToolSchema(t.Context(), "new"); err == nil {
				break
			}
			wait(t)
		}
		require.Greater(t, s.Count("tools/list"), before)
	}, client.OnListChanged(func(_ context.Context, method string) {
		select {
		case changed <- method:
		default:
		}
	}))
}

// wait lets others run, no matter whether time is virtual.
func wait(t *testing.T) {
	t.Helper()
	timer := time.NewTimer(5 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatal("the test is over")
	}
}

// A server may ask outside of calls, in the session era.
func TestServerAsks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		_, err := s.Ask(t.Context(), mcp.MethodPing, nil)
		require.Error(t, err, "nobody is there")
		c, err := client.Connect(t.Context(), s.Transport(), client.WithProtocolVersion("2025-11-25"))
		require.NoError(t, err)
		defer c.Close() //nolint:errcheck // a pipe
		synctest.Wait()
		answer, err := s.Ask(t.Context(), mcp.MethodPing, nil)
		require.NoError(t, err)
		require.Equal(t, `{}`, string(answer))
		_, err = s.Ask(t.Context(), "roots/list", nil)
		var rpc *jsonrpc.Error
		require.ErrorAs(t, err, &rpc)
		require.EqualValues(t, jsonrpc.CodeMethodNotFound, rpc.Code)
	})
}

// Giving a call up ends its handler's context; closing ends everything.
func TestEnds(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 100)
	setup := func(s *clienttest.Server) {
		s.Tool("slow", "", func(call *clienttest.Call) (any, error) {
			<-call.Context().Done()
			ended <- struct{}{}
			return nil, call.Context().Err()
		})
	}
	everyWay(t, setup, func(t *testing.T, c *client.Client, s *clienttest.Server) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := c.CallTool(ctx, "slow", nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		s.Close()
		_, err = c.CallTool(t.Context(), "slow", nil)
		require.Error(t, err)
	})
}

// The test prepares each connection in memory, and can tell their messages apart.
func TestConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		missing := errors.New("no such program")
		s.OnConnect(func(n int) error {
			if n == 3 {
				return missing
			}
			s.On("acme/run", func(*clienttest.Call) (any, error) { return map[string]int{"run": n}, nil })
			return nil
		})
		c, err := client.Connect(t.Context(), s.Transport(), client.WithProtocolVersion("2025-11-25"))
		require.NoError(t, err)
		for n := range 2 {
			raw, err := c.Call(t.Context(), "acme/run", nil)
			require.NoError(t, err)
			require.JSONEq(t, fmt.Sprintf(`{"run":%d}`, n+1), string(raw))
			if n == 0 {
				s.Exit()
				synctest.Wait()
			}
		}
		require.NoError(t, c.Close())
		runs := map[int]int{}
		for _, r := range s.Requests() {
			if r.Method == "initialize" || r.Method == "acme/run" {
				runs[r.Connection]++
			}
		}
		require.Equal(t, map[int]int{1: 2, 2: 2}, runs)
		_, err = client.Connect(t.Context(), s.Transport())
		require.ErrorIs(t, err, missing)
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
	})
}

// A client does not start a byte stream again.
func TestStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		c, err := client.Connect(t.Context(), s.Stream())
		require.NoError(t, err)
		_, err = c.ListTools(t.Context(), nil)
		require.NoError(t, err)
		s.Exit()
		<-c.Done()
		require.Equal(t, client.StateEnded, c.State())
		require.NoError(t, c.Close())
	})
}

// A message of the test is sent as it is, and a raw result gets no members.
func TestRaw(t *testing.T) {
	t.Parallel()
	everyWay(t, features, func(t *testing.T, c *client.Client, s *clienttest.Server) {
		s.On("acme/raw", func(*clienttest.Call) (any, error) { return json.RawMessage("{\n\t\"a\": 1\n}"), nil })
		raw, err := c.Call(t.Context(), "acme/raw", nil)
		require.NoError(t, err)
		require.Equal(t, `{"a":1}`, string(raw))
		s.On("acme/raw", func(*clienttest.Call) (any, error) {
			return clienttest.Raw(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}`), nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err = c.Call(ctx, "acme/raw", nil)
		require.Error(t, err)
	})
}
