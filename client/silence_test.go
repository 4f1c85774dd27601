package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// hang makes a server take everything and answer nothing.
func hang(s *fakeServer) {
	for _, method := range []string{"tools/call", "tools/list", "ping", "server/discover"} {
		s.on(method, func(jsonrpc.Request) any { return nil })
	}
}

// heal makes it answer again.
func heal(s *fakeServer) {
	s.result("tools/call", `{"content":[],"resultType":"complete"}`)
	s.result("tools/list", oneTool)
	s.result("ping", `{}`)
	s.result("server/discover", discoverResult)
}

// One caller who makes one call after the other finds a hung server, even if each ends
// early: behind a pipe within 15 s from the end of the calls that began in the first 10
// s. After the server has healed, it gets calls again within the cooldown, 5 s and a
// call.
func TestHungServerIsFoundAndUsedAgain(t *testing.T) {
	t.Parallel()
	for _, patience := range []time.Duration{time.Minute, 10 * time.Second, 3 * time.Second} {
		for _, version := range []string{"2025-11-25", "2026-07-28"} {
			t.Run(fmt.Sprint(patience, " ", version), func(t *testing.T) {
				t.Parallel()
				m := &recordingMeter{}
				synctest.Test(t, func(t *testing.T) {
					tr, s := newFake(t)
					heal(s)
					c, err := client.Connect(t.Context(), tr, client.WithProtocolVersion(version), client.WithMeter(m))
					require.NoError(t, err)
					_, err = c.CallTool(t.Context(), "echo", hello)
					require.NoError(t, err)
					hang(s)
					began := time.Now()
					var opened time.Duration
					for opened == 0 {
						ctx, cancel := context.WithTimeout(t.Context(), patience)
						stop := context.AfterFunc(ctx, func() {})
						done := make(chan struct{})
						go func() {
							defer close(done)
							_, _ = c.CallTool(ctx, "echo", hello)
						}()
						for waiting := true; waiting && opened == 0; {
							select {
							case <-done:
								waiting = false
							case <-time.After(100 * time.Millisecond):
							}
							if c.Breaker().State() == breaker.Open {
								opened = time.Since(began)
							}
						}
						cancel()
						<-done
						stop()
						require.Less(t, time.Since(began), 2*time.Minute)
					}
					t.Logf("open after %v", opened)
					synctest.Wait() // until the event, too
					require.LessOrEqual(t, opened, 10*time.Second+patience+15*time.Second)
					require.Equal(t, 2, m.count(client.SilenceProbed))
					require.Equal(t, 1, m.count(client.Silent))

					sent := len(s.received())
					_, err = c.CallTool(t.Context(), "echo", hello)
					require.ErrorIs(t, err, mcperrors.ErrCircuitOpen)
					time.Sleep(10 * time.Second)
					require.LessOrEqual(t, len(s.received()), sent+1, "at most the word that the call was given up")

					heal(s)
					healed := time.Now()
					for {
						if _, err = c.CallTool(t.Context(), "echo", hello); err == nil {
							break
						}
						require.ErrorIs(t, err, mcperrors.ErrCircuitOpen)
						time.Sleep(time.Second)
						require.LessOrEqual(t, time.Since(healed), 35*time.Second)
					}
					require.NoError(t, c.Close())
				})
			})
		}
	}
}

// A server at a URL that takes its time for a call and lives is asked whether it
// does, and nothing else happens.
func TestSlowServerIsNotSilent(t *testing.T) {
	t.Parallel()
	m := &recordingMeter{}
	synctest.Test(t, func(t *testing.T) {
		c, s := alone(t, client.WithMeter(m))
		s.on("tools/call", func(jsonrpc.Request) any {
			time.Sleep(55 * time.Second)
			return json.RawMessage(doneResult)
		})
		asked := func() int { return len(s.of("server/discover")) - 1 } // one opened the conversation
		require.NoError(t, callOnce(t.Context(), c))
		require.Equal(t, breaker.Closed, c.Breaker().State())
		require.Equal(t, m.count(client.SilenceProbed), asked())
		require.InDelta(t, 5, asked(), 1, "one every 10 s")
		require.Zero(t, m.count(client.Silent))
		all := len(s.received())
		time.Sleep(time.Hour) // nobody looks while nothing is under way
		require.Len(t, s.received(), all)
	})
}

// If silence is off or there is no circuit, no probe is sent.
func TestSilenceOff(t *testing.T) {
	t.Parallel()
	quiet := client.Resilience{Silence: -1}
	for _, r := range []client.Resilience{quiet, {Off: true, Silence: time.Second}} {
		inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
			hang(s)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := c.CallTool(ctx, "echo", hello)
			require.Error(t, err)
			require.Zero(t, s.count("ping"))
		}, client.WithResilience(r))
	}
}

// A half-open circuit is probed by a harmless request with its own bound. A caller that
// leaves before does not end the probe, and other callers are refused meanwhile.
func TestProbeOfTheCircuit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		trip(t, c, s)
		time.Sleep(31 * time.Second)
		hang(s)
		calls := s.count("tools/call")
		began := time.Now()
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.CallTool(short, "echo", hello)
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(began))
		_, err = c.CallTool(t.Context(), "echo", hello)
		require.ErrorIs(t, err, mcperrors.ErrCircuitOpen, "the probe is still out")
		require.Equal(t, breaker.HalfOpen, c.Breaker().State())
		time.Sleep(4*time.Second + time.Millisecond)
		require.Equal(t, breaker.Open, c.Breaker().State(), "5 s and it has failed")
		require.Equal(t, 1, s.count("ping"))

		time.Sleep(31 * time.Second)
		s.on("ping", func(jsonrpc.Request) any { return jsonrpc.NewError(-32601, "what?", nil) })
		s.on("tools/call", func(jsonrpc.Request) any { return jsonrpc.NewError(-32603, "no", nil) })
		_, err = c.CallTool(t.Context(), "echo", hello)
		require.Equal(t, mcperrors.KindServer, mcperrors.KindOf(err), "any proper answer counts")
		require.Equal(t, calls+1, s.count("tools/call"), "no call was the canary")
		require.Equal(t, breaker.Closed, c.Breaker().State())
		require.True(t, c.Breaker().Snapshot().Probation, "a ping proves little")

		_, err = c.Call(t.Context(), ownMethod, nil)
		require.Error(t, err)
		require.Equal(t, breaker.Open, c.Breaker().State(), "one failure in probation")

		time.Sleep(31 * time.Second)
		s.result("tools/list", oneTool)
		pings := s.count("ping")
		_, err = c.ListTools(t.Context(), nil, client.WithCacheMode(client.CacheRefresh))
		require.NoError(t, err)
		require.Equal(t, pings, s.count("ping"), "a read is the probe itself")
		require.Equal(t, breaker.Closed, c.Breaker().State())
	}, seedProfile)
}

// In the stateless era the probe is server/discover, past the cache.
func TestProbeOfTheCircuitStateless(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		heal(s)
		c, err := client.Connect(t.Context(), tr, client.WithProtocolVersion("2026-07-28"))
		require.NoError(t, err)
		c.Breaker().Trip("test")
		time.Sleep(31 * time.Second)
		before := s.count("server/discover")
		_, err = c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
		require.Equal(t, before+1, s.count("server/discover"))
		require.Zero(t, s.count("ping"))
		require.NoError(t, c.Close())
	})
}

// One bad tool does not close the server to the others, and the probe of a
// tool's circuit is the tool itself.
func TestCircuitOfATool(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		bad := true
		s.on("tools/call", func(req jsonrpc.Request) any {
			var p struct{ Name string }
			require.NoError(t, json.Unmarshal(req.Params, &p))
			if bad && p.Name == "bad" {
				return jsonrpc.NewError(-32603, "no", nil)
			}
			return json.RawMessage(`{"content":[]}`)
		})
		require.Nil(t, c.ToolBreakers(), "none before a tool fails")
		for range 5 {
			_, err := c.CallTool(t.Context(), "bad", nil)
			require.Equal(t, mcperrors.KindServer, mcperrors.KindOf(err))
		}
		sent := s.count("tools/call")
		_, err := c.CallTool(t.Context(), "bad", nil)
		require.ErrorIs(t, err, mcperrors.ErrCircuitOpen)
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, mcperrors.CodeUnavailable, e.Code)
		require.Equal(t, "bad", e.Tool)
		require.Equal(t, 30*time.Second, e.RetryAfter)
		require.Contains(t, e.Message, "circuit of the tool")
		require.Equal(t, sent, s.count("tools/call"))
		_, err = c.CallTool(t.Context(), "good", nil)
		require.NoError(t, err)
		require.Nil(t, c.ToolBreakers().Find("good"))
		require.Zero(t, c.Breaker().Snapshot().ConsecutiveFailures)

		time.Sleep(31 * time.Second)
		bad = false
		_, err = c.CallTool(t.Context(), "bad", nil)
		require.NoError(t, err)
		require.Equal(t, breaker.Closed, c.ToolBreakers().Find("bad").State())
		require.Zero(t, s.count("ping"))
	}, seedProfile, client.WithCache(client.CacheConfig{NoPreload: true}))
}

// Names come from the peer, or from a model.
func TestCircuitsOfToolsAreBounded(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		s.on("tools/call", func(jsonrpc.Request) any { return jsonrpc.NewError(-32603, "no", nil) })
		tools := 3000
		if testmain.Race { // over the bound is enough
			tools = 1100
		}
		for i := range tools {
			_, err := c.CallTool(t.Context(), fmt.Sprint("t", i), nil)
			require.Error(t, err)
		}
		require.LessOrEqual(t, len(c.ToolBreakers().Snapshots()), 1024)
	}, seedProfile, client.WithCache(client.CacheConfig{NoPreload: true}))
}

// Callers in a hurry say nothing about a server that is well.
func TestHurriedCallersDoNotOpenTheCircuit(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		s.on("tools/call", func(req jsonrpc.Request) any {
			go func() {
				time.Sleep(200 * time.Millisecond)
				s.reply(req, json.RawMessage(`{"content":[]}`))
			}()
			return nil
		})
		for range testmain.Fewer(1000, 10) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			_, err := c.CallTool(ctx, "echo", hello)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded)
			_, err = c.CallTool(t.Context(), "echo", hello, client.WithTimeouts(5*time.Millisecond, -1))
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		require.Equal(t, breaker.Closed, c.Breaker().State())
		require.Zero(t, c.Breaker().Snapshot().ConsecutiveFailures)
		require.Nil(t, c.ToolBreakers())
		time.Sleep(time.Second)
	})
}

// Nothing is sent while the circuit is open, however many ask.
func TestNothingIsSentWhileOpen(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		trip(t, c, s)
		sent := len(s.received())
		for range testmain.Fewer(20_000, 10) {
			_, err := c.CallTool(t.Context(), "echo", hello)
			if !errors.Is(err, mcperrors.ErrCircuitOpen) {
				t.Fatal(err)
			}
		}
		require.Len(t, s.received(), sent)
		require.EqualValues(t, testmain.Fewer(20_000, 10), c.Breaker().Snapshot().Refused)
	}, seedProfile)
}
