package pool

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/inbox"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Events that wait for a slow handler are also limited by their bytes: the oldest are
// dropped first, and one that is larger than the limit is reported.
func TestEventsAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 1<<20)
	refused := errormap.FromRPC(&jsonrpc.Error{Code: -32603, Message: text}, errormap.Options{})
	for _, e := range []Event{
		{Event: client.Connected{Server: mcp.Implementation{Name: text}}},
		{Event: client.Disconnected{Cause: refused}},
		{Event: client.ToolDrift{After: mcp.Tool{Description: text}}},
		{Event: client.ElicitationComplete{ID: text}},
		{State: Failed, Err: refused},
	} {
		var mu sync.Mutex
		var told []Event
		started, release := make(chan struct{}), make(chan struct{})
		p := &Pool{life: t.Context(), cfg: &config{onEvent: func(_ context.Context, e Event) {
			if e.Server == "first" {
				close(started)
				<-release
			}
			mu.Lock()
			defer mu.Unlock()
			told = append(told, e)
		}}}
		p.events.begin(p)
		p.emit(Event{Server: "first"})
		<-started
		for _, name := range append(append([]string{"oldest"}, make([]string, 100)...), "newest") {
			e.Server = name
			p.emit(e)
		}
		close(release)
		p.events.work.Wait()
		require.Equal(t, "newest", told[len(told)-1].Server, "%T", e.Event)
		require.NotEqual(t, "oldest", told[1].Server, "%T", e.Event)
		require.LessOrEqual(t, len(told), 1+inbox.MaxBytes/len(text), "%T", e.Event)
		require.Greater(t, len(told), 4, "%T", e.Event)
	}
	told := 0
	p := &Pool{life: t.Context(), cfg: &config{onEvent: func(context.Context, Event) { told++ }}}
	p.events.begin(p)
	p.emit(Event{Event: client.ElicitationComplete{ID: strings.Repeat("x", inbox.MaxBytes+1)}})
	p.events.work.Wait()
	p.emit(Event{State: Failed, Err: refused})
	p.events.work.Wait()
	require.Equal(t, 2, told)
}
