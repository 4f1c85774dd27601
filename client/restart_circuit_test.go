package client_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const initWatched = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{},"resources":{"subscribe":true}},"serverInfo":{"name":"fake","version":"1"}}`

// Failures of the old program do not count against the new one, whose handshake
// succeeded: it gets calls at once, on probation. A Retry-After continues.
func TestRestartRenewsTheClientsOwnCircuit(t *testing.T) {
	supervised(t, nil, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
		for n := 2; n < 4; n++ {
			c.Breaker().Trip("a test")
			p.last().crash()
			pass(5 * time.Second)
			require.Equal(t, n, p.count())
			require.True(t, c.Breaker().Snapshot().Probation)
			require.NoError(t, callOnce(t.Context(), c))
			require.False(t, c.Breaker().Snapshot().Probation)
		}
		c.Breaker().Trip("a test")
		c.Breaker().Throttle(time.Minute, "Retry-After")
		p.last().crash()
		pass(10 * time.Second)
		require.Equal(t, breaker.Closed, c.Breaker().State())
		require.ErrorIs(t, callOnce(t.Context(), c), breaker.ErrOpen)
		require.Zero(t, p.last().count("tools/call"))
	})
}

// A circuit that is shared has learnt of more than this program. What a new
// program is given of the old one's waits for no circuit, as its handshake does
// not, and is said again until it is taken.
func TestRestartRestoresUnderAnOpenCircuit(t *testing.T) {
	refusals := 0
	shared := client.Resilience{Breaker: breaker.New(breaker.Settings{Cooldown: time.Hour})}
	supervised(t, func(n int, s *fakeServer) error {
		s.result("initialize", initWatched)
		s.result("resources/subscribe", `{}`)
		s.on("logging/setLevel", func(jsonrpc.Request) any {
			if n == 2 && refusals < 2 {
				refusals++
				return jsonrpc.NewError(jsonrpc.CodeInternalError, "not yet", nil)
			}
			return struct{}{}
		})
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
		var changes record
		_, err := c.Subscribe(t.Context(), toolsAndX, changes.change)
		require.NoError(t, err)
		require.NoError(t, c.SetLogLevel(t.Context(), "warning"))
		c.Breaker().Trip("a test")
		p.last().crash()
		pass(10 * time.Second)
		require.Equal(t, breaker.Open, c.Breaker().State())
		require.Equal(t, 1, p.last().count("resources/subscribe"))
		require.Equal(t, 3, p.last().count("logging/setLevel"))
		pass(time.Minute)
		require.Equal(t, 3, p.last().count("logging/setLevel"), "it is set")
		require.Equal(t, breaker.Open, c.Breaker().State())
	}, client.WithResilience(shared))
}

// A program that sends nothing, not even an answer to the probe of its circuit, is
// killed when no call can still succeed, and not before. A program that continues in
// time is not killed.
func TestProgramThatHangsIsStartedAgain(t *testing.T) {
	for _, tt := range []struct {
		hung   time.Duration
		after  time.Duration // at which it answers again; 0 for never
		within [2]time.Duration
	}{
		{0, 0, [2]time.Duration{time.Minute, 210 * time.Second}},
		{20 * time.Second, 0, [2]time.Duration{20 * time.Second, 170 * time.Second}},
		{0, 40 * time.Second, [2]time.Duration{}},
		{-1, 0, [2]time.Duration{}},
	} {
		t.Run(fmt.Sprint(tt.hung, " ", tt.after), func(t *testing.T) {
			supervised(t, nil, func(t *testing.T, c *client.Client, p *fakePrograms, _ *happenings) {
				hang(p.last())
				began := time.Now()
				var ended time.Duration
				for ended == 0 && time.Since(began) < 5*time.Minute {
					if tt.after > 0 && time.Since(began) > tt.after {
						heal(p.last())
					}
					_ = callOnce(t.Context(), c)
					pass(time.Second)
					if p.count() > 1 {
						ended = time.Since(began)
					}
				}
				if tt.within == [2]time.Duration{} {
					require.Equal(t, 1, p.count())
					return
				}
				require.Greater(t, ended, tt.within[0])
				require.Less(t, ended, tt.within[1])
				pass(time.Minute)
				require.NoError(t, callOnce(t.Context(), c))
				require.Equal(t, 2, p.count())
			}, client.WithResilience(client.Resilience{Restart: client.Restart{Hung: tt.hung}}))
		})
	}
}

// While a slow program restores what the previous one had, its silence is watched, and
// subscribers learn at once that changes may have been missed.
func TestRestoringIsBounded(t *testing.T) {
	supervised(t, func(n int, s *fakeServer) error {
		s.result("initialize", initWatched)
		s.on("resources/subscribe", func(jsonrpc.Request) any {
			if n == 2 {
				return nil // says nothing
			}
			return struct{}{}
		})
		return nil
	}, func(t *testing.T, c *client.Client, p *fakePrograms, h *happenings) {
		var changes record
		_, err := c.Subscribe(t.Context(), toolsAndX, changes.change)
		require.NoError(t, err)
		p.last().crash()
		pass(5 * time.Second)
		require.Equal(t, 2, p.count())
		require.Contains(t, h.take(), "gap")
		require.NoError(t, callOnce(t.Context(), c))
		p.last().crash()
		pass(5 * time.Second)
		require.Equal(t, 3, p.count(), "its end was seen")
		require.Equal(t, 1, p.last().count("resources/subscribe"))
	})
}

// What a new program asks before it is the client's is judged by what was agreed
// with it, not with the one before.
func TestQuestionOfAProgramThatIsBeingOpened(t *testing.T) {
	asked := false
	supervised(t, func(n int, s *fakeServer) error {
		if n == 2 {
			s.on("initialize", func(jsonrpc.Request) any {
				s.request(7, "sampling/createMessage", askSample)
				return nil
			})
		}
		return nil
	}, func(t *testing.T, _ *client.Client, p *fakePrograms, _ *happenings) {
		p.last().crash()
		pass(5 * time.Second)
		require.Equal(t, 2, p.count())
		require.Contains(t, p.last().told(7), "Method not found")
		require.False(t, asked)
	}, client.OnSampling(func(ctx context.Context, r client.SamplingRequest) (*mcp.CreateMessageResult, error) {
		asked = true
		return sampleYes(ctx, r)
	}))
}
