package client_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// A server that comes back without its sessions already reports that to the probe: it
// works, and the call that probed opens a new session.
func TestProbeFindsTheSessionLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedServer("2025-11-25")
		s.answer = func(_ context.Context, n int, req transport.Request) (transport.Answer, error) {
			switch {
			case req.Method == "initialize":
				return resultOf(req, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"a","version":"1"}}`)
			case s.count("initialize") < 2:
				return transport.Answer{}, noSession()
			}
			return resultOf(req, toolDone)
		}
		c := s.opened(t)
		before := s.count("tools/call")
		errs := make([]error, 10)
		var callers sync.WaitGroup
		for i := range errs {
			callers.Go(func() { errs[i] = useTool(t.Context(), c) })
		}
		callers.Wait()
		done := 0
		for _, err := range errs {
			if err == nil {
				done++
				continue
			}
			require.Equal(t, mcperrors.KindCircuitOpen, mcperrors.KindOf(err), "%v", err)
		}
		require.Positive(t, done, "who probed has made its call")
		require.GreaterOrEqual(t, s.count("tools/call")-before, done)
		require.Equal(t, 1, s.count("ping"))
		require.Equal(t, 2, s.count("initialize"))
		require.NoError(t, useTool(t.Context(), c))
		require.Equal(t, breaker.Closed, c.Breaker().State())
	})
}

// What a server answers easily proves little about its tools: closed by its own
// probe, the circuit is in probation.
func TestProtocolReadProbes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedServer("2025-11-25")
		s.answer = func(_ context.Context, _ int, req transport.Request) (transport.Answer, error) {
			if req.Method == "ping" {
				return resultOf(req, `{}`)
			}
			return transport.Answer{}, noConnection()
		}
		c := s.opened(t)
		require.NoError(t, c.Ping(t.Context()))
		require.True(t, c.Breaker().Snapshot().Probation)
		require.Error(t, useTool(t.Context(), c))
		require.Equal(t, breaker.Open, c.Breaker().State())
	})
}

// A call that waits for the probe fails as closed when the client is closed.
func TestCloseDuringTheProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScriptedServer("2025-11-25")
		s.answer = func(ctx context.Context, _ int, req transport.Request) (transport.Answer, error) {
			return unansweredRequest(ctx, req)
		}
		c := s.opened(t)
		done := make(chan error, 1)
		go func() { done <- useTool(t.Context(), c) }()
		synctest.Wait()
		require.NoError(t, c.Close())
		err := <-done
		require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(err), "%v", err)
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
	})
}

// A probe that fails sends away who waits for a place behind it: none of them gets
// one first.
func TestFailedProbeEmptiesTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, m := newScriptedServer("2025-11-25"), &recordingMeter{}
		s.answer = func(_ context.Context, _ int, req transport.Request) (transport.Answer, error) {
			if req.Method == "ping" {
				time.Sleep(200 * time.Millisecond)
				return transport.Answer{}, noConnection()
			}
			time.Sleep(31500 * time.Millisecond)
			return resultOf(req, toolDone)
		}
		c := s.dial(t, callsAtOnce(1), client.WithMeter(m))
		before := make(chan error, 1) // holds the only place while the circuit opens
		go func() { before <- useTool(t.Context(), c) }()
		synctest.Wait()
		c.Breaker().Trip("test")
		time.Sleep(31 * time.Second)
		errs := make(chan error, 2)
		for range cap(errs) {
			go func() { errs <- useTool(t.Context(), c) }()
		}
		synctest.Wait()
		require.Empty(t, errs, "all wait for the place")
		require.NoError(t, <-before)
		for range cap(errs) {
			err := <-errs
			require.Equal(t, mcperrors.KindCircuitOpen, mcperrors.KindOf(err), "%v", err)
			require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		}
		require.Equal(t, 1, m.count(client.Probed))
		require.Equal(t, 1, m.count(client.Queued), "the place was for who probed, and for nobody after that")
		require.Equal(t, 1, s.count("tools/call"))
	})
}
