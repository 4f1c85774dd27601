package inbound

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// owner is the client of a table.
type owner struct {
	*ProgressTable
	log     strings.Builder
	touched []string
	failed  []string
}

func own() *owner {
	o := &owner{}
	k := &core.Core{Server: "srv", Log: slog.New(slog.NewTextHandler(&o.log, nil))}
	k.Failed = func(e *callback.Error) { o.failed = append(o.failed, e.Name) }
	k.Life.Begin()
	k.Links.Use(touched{owner: o})
	o.ProgressTable = &ProgressTable{Core: k}
	return o
}

// touched is a connection that records which requests had their idle timeout reset.
type touched struct {
	transport.Conn
	owner *owner
}

func (touched) Traits() transport.Traits { return transport.Traits{} }

func (c touched) Touch(id jsonrpc.ID) { c.owner.touched = append(c.owner.touched, id.String()) }

func (o *owner) notify(token, progress any) {
	o.Notify(jsonrpc.Notification{Params: fmt.Appendf(nil, `{"progressToken":%v,"progress":%v}`, token, progress)})
}

// Progress reaches the listener of its token and keeps its request alive, until the
// token is renewed or removed.
func TestTokens(t *testing.T) {
	t.Parallel()
	o := own()
	var seen []float64
	call := o.Add(func(p mcp.ProgressParams) { seen = append(seen, p.Progress) })
	o.notify(1, 1) // before the request is sent
	require.Empty(t, o.touched)
	call.Sending(jsonrpc.StringID("a"))
	o.notify(1, 2)
	second := o.Beside(call)
	second.Sending(jsonrpc.StringID("b"))
	o.notify(2, 3)
	o.Renew(call)
	require.Equal(t, jsonrpc.IntID(3), call.Token())
	o.notify(3, 4)
	o.Life.Await(time.Minute)
	require.Equal(t, []float64{1, 2, 3, 4}, seen)
	require.Equal(t, []string{"a", "b", "a"}, o.touched)

	o.Remove(call)
	o.notify(1, 5)
	o.notify(3, 6)
	o.Life.Await(time.Minute)
	require.Len(t, seen, 4)
	require.Equal(t, []string{"a", "b", "a", "1", "3"}, o.touched, "a token may be the id of a request")

	follower := o.Follow(jsonrpc.StringID("id"))
	follower.Sending(jsonrpc.StringID("c"))
	o.notify(`"id"`, 7)
	require.Equal(t, "c", o.touched[len(o.touched)-1])
	require.Empty(t, o.log.String())
}

func TestOddProgress(t *testing.T) {
	t.Parallel()
	o := own()
	var seen []float64
	o.Add(func(p mcp.ProgressParams) {
		seen = append(seen, p.Progress)
		panic("a bug")
	})
	for _, progress := range []any{2, 1, 1, `"x"`} {
		o.notify(1, progress)
	}
	o.Notify(jsonrpc.Notification{Params: []byte(`{"progress":1}`)})
	o.Life.Await(time.Minute)
	require.Equal(t, []float64{2, 1, 1}, seen)
	require.Equal(t, []string{"WithProgress", "WithProgress", "WithProgress"}, o.failed)
	require.Equal(t, 1, strings.Count(o.log.String(), "does not increase"))
	require.Equal(t, 2, strings.Count(o.log.String(), "cannot be read"))
}

// Finish waits for the listener, at most one second, and nothing is delivered after it.
func TestFinish(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ takes, waits time.Duration }{
		"quick":   {100 * time.Millisecond, 100 * time.Millisecond},
		"slow":    {time.Minute, time.Second},
		"at once": {0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := own()
				seen := 0
				call := o.Add(func(mcp.ProgressParams) {
					seen++
					time.Sleep(tt.takes)
				})
				o.notify(1, 1)
				synctest.Wait()
				began := time.Now()
				call.Finish(t.Context())
				require.Equal(t, tt.waits, time.Since(began))
				o.notify(1, 2)
				o.Life.Await(time.Minute)
				require.Equal(t, 1, seen)
				require.Zero(t, o.Budget.Held())
			})
		})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	own().Add(nil).Finish(ended)
}
