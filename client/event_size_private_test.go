package client

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// longEvents are events in which a server has a long text.
func longEvents(text string) []Event {
	refused := mcperrors.Map(&jsonrpc.Error{Code: -32603, Message: text}, mcperrors.MapOptions{})
	data := mcperrors.Map(&jsonrpc.Error{Code: -32603, Data: []byte(`"` + text + `"`)}, mcperrors.MapOptions{})
	died := mcperrors.New(mcperrors.E201, mcperrors.KindTransport, mcperrors.Unknown, "it ended", nil)
	died.Process = &mcperrors.ProcessEvidence{Stderr: []string{text}}
	shown := mcperrors.FromHTTP(mcperrors.HTTPEvidence{Status: 500, Body: text}, 0)
	server, tool := mcp.Implementation{Name: text}, mcp.Tool{Description: text}
	return []Event{
		Connected{Server: server},
		Restarted{Server: server},
		Restarted{Cause: died},
		Reinitialized{Server: server},
		Disconnected{Cause: refused},
		ListFailed{Reason: data},
		LivenessFailed{Reason: refused},
		SubscriptionGap{Reason: shown},
		SubscriptionEnded{Reason: fmt.Errorf("it ended: %w", data)},
		ElicitationComplete{ID: text},
		ToolDrift{After: tool},
		ToolDrift{Before: &tool},
	}
}

// What an event keeps of a server's words is known, whatever the event.
func TestSizeOfEvents(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 10_000)
	for _, e := range longEvents(text) {
		size := item{event: e}.size()
		require.GreaterOrEqual(t, size, len(text), "%T", e)
		require.Less(t, size, 2*len(text)+2_000, "%T", e)
	}
	require.Zero(t, item{event: LivenessFailed{}}.size())
}

// The events of a pool that wait for a slow handler are bounded by their bytes, too:
// the oldest go first, and one that is larger than all of that is told.
func TestPoolEventsAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 1<<20)
	for _, e := range longEvents(text) {
		var mu sync.Mutex
		var told []PoolEvent
		started, release := make(chan struct{}), make(chan struct{})
		p := &Pool{life: t.Context(), cfg: &poolConfig{onEvent: func(_ context.Context, e PoolEvent) {
			if e.Server == "first" {
				close(started)
				<-release
			}
			mu.Lock()
			defer mu.Unlock()
			told = append(told, e)
		}}}
		p.tell(PoolEvent{Server: "first"})
		<-started
		p.tell(PoolEvent{Server: "oldest", Event: e})
		for range 100 {
			p.tell(PoolEvent{Server: "a", Event: e})
		}
		p.tell(PoolEvent{Server: "newest", Event: e})
		close(release)
		p.events.work.Wait()
		require.Equal(t, "newest", told[len(told)-1].Server, "%T", e)
		require.NotEqual(t, "oldest", told[1].Server, "%T", e)
		require.LessOrEqual(t, len(told), 1+inboxBytes/len(text), "%T", e)
		require.Greater(t, len(told), 4, "%T", e)
	}
	told := 0
	p := &Pool{life: t.Context(), cfg: &poolConfig{onEvent: func(context.Context, PoolEvent) { told++ }}}
	p.tell(PoolEvent{Event: ElicitationComplete{ID: strings.Repeat("x", inboxBytes+1)}})
	p.events.work.Wait()
	p.tell(PoolEvent{State: ServerFailed, Err: longEvents(text)[4].(Disconnected).Cause})
	p.events.work.Wait()
	require.Equal(t, 2, told)
	require.Zero(t, p.events.bytes)
}
