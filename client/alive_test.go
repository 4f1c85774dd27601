package client_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// Alive sends the probe of each era. Any answer counts, and neither an open circuit nor
// a full client prevents the probe.
func TestAlive(t *testing.T) {
	t.Parallel()
	inBubbleEachWay(t, func(t *testing.T, p *listPeer) {
		question := "ping"
		if p.version >= "2026" {
			question = "server/discover"
		}
		r := client.Resilience{Breaker: breaker.New(breaker.Settings{})}
		c, err := p.dial(client.WithResilience(r))
		require.NoError(t, err)
		before := p.count(question)
		require.NoError(t, c.Alive(t.Context()))
		require.Equal(t, before+1, p.count(question))
		p.answer(question, func(json.RawMessage) string { return `"error":{"code":-32601,"message":"Method not found"}` })
		require.NoError(t, c.Alive(t.Context()), "who refuses answers")
		r.Breaker.Force(breaker.ForcedOpen)
		require.NoError(t, c.Alive(t.Context()), "the circuit is open, and the server there")
		require.Equal(t, before+3, p.count(question))

		p.answer(question, func(json.RawMessage) string { time.Sleep(time.Hour); return `"result":{}` })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		require.ErrorIs(t, c.Alive(ctx), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		err = c.Alive(t.Context())
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(err), "%v", err)
		require.Equal(t, 31*time.Second, time.Since(start))
		time.Sleep(2 * time.Hour)
		synctest.Wait()

		require.NoError(t, ignoreClosed(c.Close()))
		require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(c.Alive(t.Context())))
	})
}

// A server that is away answers no probe.
func TestAliveOfAServerThatIsAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		c, err := client.Connect(t.Context(), tr, sessionEra)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		require.NoError(t, s.conn.Close())
		synctest.Wait()
		require.Equal(t, mcperrors.KindTransport, mcperrors.KindOf(c.Alive(t.Context())))
	})
}

// Bytes are JSON, as they are wherever else Go has JSON in bytes.
func TestBytesAreJSON(t *testing.T) {
	t.Parallel()
	inBubbleEachWay(t, func(t *testing.T, p *listPeer) {
		var got []string
		p.answer("tools/call", func(params json.RawMessage) string {
			var call struct{ Arguments json.RawMessage }
			require.NoError(t, json.Unmarshal(params, &call))
			got = append(got, string(call.Arguments))
			return `"result":` + peerReturn
		})
		c, err := p.dial()
		require.NoError(t, err)
		_, err = c.CallTool(t.Context(), "echo", []byte(`{"message":"é"}`))
		require.NoError(t, err)
		_, err = c.Call(t.Context(), "tools/call", []byte(`{"name":"echo","arguments":{"message":"é"}}`))
		require.NoError(t, err)
		require.Equal(t, []string{`{"message":"é"}`, `{"message":"é"}`}, got)
		for _, bad := range [][]byte{[]byte("aGk="), []byte(`"text"`), {}} {
			_, err = c.CallTool(t.Context(), "echo", bad)
			require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err), "%s: %v", bad, err)
			require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		}
	})
}

// After a typed result that cannot be decoded, the client checks the tool's definition:
// the error and the event report that it has changed.
func TestCallAsReportsDrift(t *testing.T) {
	t.Parallel()
	inBubbleEachWay(t, func(t *testing.T, p *listPeer) {
		var drift []client.ToolDrift
		c, err := p.dial(seenEvents(&drift))
		require.NoError(t, err)
		p.list(`{"name":"echo","description":"counts in words","inputSchema":{"type":"object"}}`)
		p.mu.Lock()
		p.result = `{"resultType":"complete","content":[],"structuredContent":{"count":"three"}}`
		p.mu.Unlock()
		type out struct {
			Count int `json:"count"`
		}
		_, err = client.CallAs[out](t.Context(), c, "echo", hello)
		require.Equal(t, mcperrors.KindProtocol, mcperrors.KindOf(err))
		require.Equal(t, mcperrors.Answered, mcperrors.DeliveryOf(err))
		require.ErrorContains(t, err, "the tool has changed since it was listed: description, inputSchema")
		synctest.Wait()
		require.Len(t, drift, 1)

		_, err = client.CallAs[out](t.Context(), c, "echo", hello)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "has changed")
		synctest.Wait()
		require.Len(t, drift, 1)
	})
}
