package client_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// A handler learns from the client which server asks, and for which call.
func TestHandlersLearnWhoAsks(t *testing.T) {
	t.Parallel()
	var got []client.Requester
	opt := client.OnElicitForm(func(_ context.Context, r client.FormRequest) (*mcp.ElicitResult, error) {
		got = append(got, r.From)
		return client.AcceptForm(map[string]string{"name": "x"})
	})
	speaking(t, "2025-11-25", func(t *testing.T, _ *client.Client, s *fakeServer) {
		s.request(1, "elicitation/create", askForm)
		require.NotEmpty(t, s.told(1))
	}, opt, client.WithName("files"))
	speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
		s.askFirst(map[string]string{"elicitation/create": askForm})
		_, err := c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
	}, opt, client.WithName("files"))
	require.Len(t, got, 2)
	for _, from := range got {
		require.Equal(t, "files", from.Server)
		require.Equal(t, "fake", from.Claimed.Name)
	}
	require.Empty(t, got[0].Method)
	require.Equal(t, "tools/call", got[1].Method)
	require.Equal(t, "echo", got[1].Tool)
}

// The server withdraws: the handler's context ends, nothing is
// answered, and nobody else is disturbed.
func TestServerWithdraws(t *testing.T) {
	t.Parallel()
	var ended atomic.Int32
	speaking(t, "2025-11-25", func(t *testing.T, _ *client.Client, s *fakeServer) {
		s.request(1, "sampling/createMessage", askSample)
		s.request(2, "sampling/createMessage", askSample)
		synctest.Wait()
		s.notify("notifications/cancelled", `{"requestId":99}`)
		s.notify("notifications/cancelled", `{"requestId":"1"}`)
		synctest.Wait()
		require.Zero(t, ended.Load())
		s.notify("notifications/cancelled", `{"requestId":1,"reason":"done"}`)
		synctest.Wait()
		require.Equal(t, int32(1), ended.Load())
		require.Empty(t, s.told(1))
		require.Empty(t, s.told(2))
	}, client.OnSampling(func(ctx context.Context, _ client.SamplingRequest) (*mcp.CreateMessageResult, error) {
		<-ctx.Done()
		ended.Add(1)
		return nil, ctx.Err()
	}))
	require.Equal(t, int32(2), ended.Load(), "Close ends the other")
}

// Handlers that block hold up neither pings nor calls, and one
// that does not even listen to its context holds up Close for a second only.
func TestHandlersBlockNobody(t *testing.T) {
	t.Parallel()
	var release chan struct{}
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		release = make(chan struct{})
		c, err := client.Connect(t.Context(), tr, client.WithProtocolVersion("2025-11-25"),
			client.OnSampling(func(context.Context, client.SamplingRequest) (*mcp.CreateMessageResult, error) {
				<-release
				return nil, nil
			}))
		require.NoError(t, err)
		for id := range 90 {
			s.request(id, "sampling/createMessage", askSample)
		}
		s.request(1000, "ping", `{}`)
		require.Equal(t, `{}`, s.told(1000))
		_, err = c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
		began := time.Now()
		require.NoError(t, c.Close())
		require.LessOrEqual(t, time.Since(began), 1300*time.Millisecond)
		close(release)
	})
}

// Pain 18: a handler may call the server, which may ask again meanwhile.
func TestHandlerMayCallTheServer(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		var c *client.Client
		depth := 0
		speaking(t, version, func(t *testing.T, connected *client.Client, s *fakeServer) {
			c = connected
			if version == "2025-11-25" {
				s.request(1, "sampling/createMessage", askSample)
				require.JSONEq(t, saidSample, s.told(1))
				return
			}
			ask := fmt.Sprintf(`{"resultType":"input_required","inputRequests":{"q":{"method":"sampling/createMessage","params":%s}}}`, askSample)
			s.script(ask, ask, plainResult)
			_, err := c.CallTool(t.Context(), "echo", hello)
			require.NoError(t, err)
			require.Equal(t, 2, depth)
		}, client.WithServerLimits(client.ServerLimits{Handlers: 2}),
			client.OnSampling(func(ctx context.Context, r client.SamplingRequest) (*mcp.CreateMessageResult, error) {
				depth++
				if _, err := c.CallTool(ctx, "echo", hello); err != nil {
					return nil, err
				}
				return sampleYes(ctx, r)
			}))
	}
}

// A question without an answer ends when a call would.
func TestQuestionsAreNotOpenForEver(t *testing.T) {
	t.Parallel()
	forever := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	speaking(t, "2025-11-25", func(t *testing.T, _ *client.Client, s *fakeServer) {
		s.request(1, "sampling/createMessage", askSample)
		s.request(2, "elicitation/create", askForm)
		pass(10*time.Minute + time.Second)
		require.Equal(t, "-32603 No answer in time", s.told(1))
		require.Equal(t, `{"action":"cancel"}`, s.told(2))
	}, client.OnSampling(func(ctx context.Context, _ client.SamplingRequest) (*mcp.CreateMessageResult, error) {
		return nil, forever(ctx)
	}), client.OnElicitForm(func(ctx context.Context, _ client.FormRequest) (*mcp.ElicitResult, error) {
		return nil, forever(ctx)
	}))
}

// A flood reaches handlers drop by drop, and all of it is
// refused or answered.
func TestFlood(t *testing.T) {
	t.Parallel()
	var running, most, ran atomic.Int32
	speaking(t, "2025-11-25", func(t *testing.T, c *client.Client, s *fakeServer) {
		for id := range 1000 {
			s.request(id, "sampling/createMessage", askSample)
		}
		pass(time.Minute)
		require.LessOrEqual(t, most.Load(), int32(4))
		require.LessOrEqual(t, ran.Load(), int32(50))
		require.Positive(t, ran.Load())
		_, err := c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
		s.request(5000, "sampling/createMessage", askSample)
		require.Empty(t, s.told(5000))
		pass(time.Second)
		require.JSONEq(t, saidSample, s.told(5000), "a minute later it may ask again")
	}, client.WithServerLimits(client.ServerLimits{Handlers: 4, QuestionsPerMinute: 50}),
		client.OnSampling(func(ctx context.Context, r client.SamplingRequest) (*mcp.CreateMessageResult, error) {
			now := running.Add(1)
			defer running.Add(-1)
			most.Store(max(most.Load(), now))
			ran.Add(1)
			pass(time.Second)
			return sampleYes(ctx, r)
		}))
}

// An id that is open cannot be used again.
func TestDuplicateIDs(t *testing.T) {
	t.Parallel()
	var release chan struct{}
	speaking(t, "2025-11-25", func(t *testing.T, _ *client.Client, s *fakeServer) {
		release = make(chan struct{})
		s.request(1, "sampling/createMessage", askSample)
		synctest.Wait()
		s.request(1, "sampling/createMessage", askSample)
		require.Equal(t, "-32600 This id is in use", s.told(1))
		close(release)
	}, client.OnSampling(func(context.Context, client.SamplingRequest) (*mcp.CreateMessageResult, error) {
		<-release
		return nil, nil
	}))
}

// In the stateless era a request of the server gets no answer, not even
// a ping.
func TestStatelessRequestsAreDropped(t *testing.T) {
	t.Parallel()
	logs := &lines{}
	speaking(t, "2026-07-28", func(t *testing.T, _ *client.Client, s *fakeServer) {
		before := len(s.received())
		for id, method := range []string{"sampling/createMessage", "roots/list", "foo"} {
			s.request(id, method, `{}`)
		}
		synctest.Wait()
		require.Len(t, s.received(), before, "the server gets no answer; over stdio only ping has one")
	}, append(everything, client.WithLogger(logs.logger()))...)
	require.Contains(t, logs.text(), "dropped")
}

// The server may ask as soon as it gets notifications/initialized, which may be before
// the client has finished sending it.
func TestServerAsksAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		c, err := client.Connect(t.Context(), tr, append(everything, client.WithProtocolVersion("2025-11-25"),
			client.WithTrace(transport.Trace{Sent: func(frame []byte) {
				if strings.Contains(string(frame), "notifications/initialized") {
					s.request(1, "roots/list", `{}`)
					pass(time.Second)
				}
			}}))...)
		require.NoError(t, err)
		require.JSONEq(t, saidRoots, s.told(1))
		require.NoError(t, c.Close())
	})
}

// Nobody is asked for a server that is gone.
func TestLostServerEndsItsHandlers(t *testing.T) {
	t.Parallel()
	ended := false
	speaking(t, "2025-11-25", func(t *testing.T, _ *client.Client, s *fakeServer) {
		s.request(1, "sampling/createMessage", askSample)
		synctest.Wait()
		require.NoError(t, s.conn.Close())
		synctest.Wait()
		require.True(t, ended)
	}, client.OnSampling(func(ctx context.Context, _ client.SamplingRequest) (*mcp.CreateMessageResult, error) {
		<-ctx.Done()
		ended = true
		return nil, ctx.Err()
	}))
}
