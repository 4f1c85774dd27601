package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// listens are the subscriptions a fake server of the stateless era has seen,
// over HTTP or a pipe.
type listens struct {
	pipe *fakeServer // nil over HTTP
	site *lone       // nil over a pipe

	mu   sync.Mutex
	all  []*listen
	skip int // so many are acknowledged and ended at once, -1 for all
	// honor changes what is acknowledged; refuse answers instead.
	honor  func(filter string) string
	refuse any
}

type listen struct {
	id     jsonrpc.ID
	filter string
	began  time.Time
	say    chan string   // over HTTP; an empty text drops the stream
	gone   chan struct{} // closed when the client has left, over HTTP
}

// listenOver returns a client and what it listens to, over either transport.
func listenOver(t *testing.T, over string, opts ...client.Option) (*client.Client, *listens) {
	t.Helper()
	ls := &listens{}
	opts = append([]client.Option{statelessEra}, opts...)
	if over == "pipe" {
		tr, s := newFake(t)
		ls.pipe = s
		s.result("server/discover", discoverAll)
		s.result("tools/list", listing(aTool))
		s.on("subscriptions/listen", ls.answer)
		c, err := client.Connect(t.Context(), tr, opts...)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, ignoreClosed(c.Close())) })
		return c, ls
	}
	s := newLone(t)
	ls.site = s
	t.Cleanup(s.mem.Close)
	s.on("subscriptions/listen", ls.answer)
	c, err := s.dial(opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c, ls
}

func (ls *listens) answer(req jsonrpc.Request) any {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	var p struct{ Notifications json.RawMessage }
	if err := json.Unmarshal(req.Params, &p); err != nil {
		return jsonrpc.NewError(jsonrpc.CodeInvalidParams, err.Error(), nil)
	}
	l := &listen{id: req.ID, filter: string(p.Notifications), began: time.Now(), say: make(chan string, 2000), gone: make(chan struct{})}
	ls.all = append(ls.all, l)
	if ls.refuse != nil {
		return ls.refuse
	}
	honored := l.filter
	if ls.honor != nil {
		honored = ls.honor(honored)
	}
	first := notice(l.id, "notifications/subscriptions/acknowledged", `"notifications":`+honored)
	brief := ls.skip != 0
	if ls.skip > 0 {
		ls.skip--
	}
	if ls.pipe != nil {
		if brief {
			first += "\n" + graceful(l.id)
		}
		return rawLine(first)
	}
	return replyFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(l.gone)
		w.Header().Set("Content-Type", "text/event-stream")
		flush(w, "data: "+first+"\n\n")
		if brief {
			flush(w, "data: "+graceful(l.id)+"\n\n")
			return
		}
		for {
			select {
			case text := <-l.say:
				if text == "" {
					return
				}
				flush(w, "data: "+text+"\n\n")
			case <-r.Context().Done():
				return
			}
		}
	})
}

func notice(id jsonrpc.ID, method, members string) string {
	if members != "" {
		members += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, method, members, id.AppendJSON(nil))
}

func graceful(id jsonrpc.ID) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":%[1]s}}}`, id.AppendJSON(nil))
}

// nth waits for nobody: it is there, or the test fails.
func (ls *listens) nth(t *testing.T, n int) *listen {
	t.Helper()
	ls.mu.Lock()
	defer ls.mu.Unlock()
	require.Greater(t, len(ls.all), n)
	return ls.all[n]
}

func (ls *listens) count() int {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return len(ls.all)
}

// say sends a line on a subscription's stream, or on the one there is.
func (ls *listens) say(l *listen, line string) {
	if ls.pipe != nil {
		ls.pipe.write(line)
	} else {
		l.say <- line
	}
}

func bothWays(t *testing.T, f func(t *testing.T, over string)) {
	for _, over := range []string{"http", "pipe"} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { f(t, over) })
		})
	}
}

var toolsAndX = mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"x:/a"}}

const updatedA = `"uri":"x:/a"`

// A stream is asked for with a filter, waits for
// its acknowledgement, tells its own subscription, and ends with it.
func TestSubscribeStateless(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, over string) {
		c, ls := listenOver(t, over)
		var one, two record
		ls.honor = func(string) string { return `{"toolsListChanged":true}` }
		a, err := c.Subscribe(t.Context(), toolsAndX, one.change)
		require.NoError(t, err)
		require.Equal(t, `{"toolsListChanged":true,"resourceSubscriptions":["x:/a"]}`, ls.nth(t, 0).filter)
		require.True(t, a.Accepted().ToolsListChanged)
		require.Empty(t, a.Accepted().ResourceSubscriptions, "less than was asked for (CHG-04)")
		ls.honor = nil
		b, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"x:/a"}}, two.change)
		require.NoError(t, err)
		ls.say(ls.nth(t, 1), notice(ls.nth(t, 1).id, "notifications/resources/updated", updatedA))
		ls.say(ls.nth(t, 0), notice(ls.nth(t, 0).id, "notifications/tools/list_changed", ""))
		synctest.Wait()
		require.Equal(t, []string{"notifications/tools/list_changed"}, one.all())
		require.Equal(t, []string{"updated x:/a"}, two.all())
		require.NoError(t, a.Close())
		require.NoError(t, a.Close())
		<-a.Done()
		require.NoError(t, a.Err())
		synctest.Wait()
		if over == "http" {
			<-ls.nth(t, 0).gone // the stream is closed
		} else {
			require.Equal(t, []jsonrpc.ID{ls.nth(t, 0).id}, cancelledIDs(t, ls.pipe.received()))
		}
		ls.say(ls.nth(t, 1), notice(ls.nth(t, 1).id, "notifications/resources/updated", updatedA))
		synctest.Wait()
		require.Len(t, two.all(), 2, "the other goes on")
		require.NoError(t, c.Close())
		<-b.Done()
		require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(b.Err()))
		require.Equal(t, 2, ls.count())
	})
}

// A stream has no timeout, is no call in flight, and is not counted.
func TestSubscriptionIsNoCall(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, over string) {
		res := client.Resilience{Bulkhead: client.Bulkhead{Limit: 1, Queue: -1}}
		c, ls := listenOver(t, over, client.WithResilience(res))
		var r record
		_, err := c.Subscribe(t.Context(), toolsAndX, r.change)
		require.NoError(t, err)
		_, err = c.CallTool(t.Context(), "echo", message)
		require.NoError(t, err, "there is room for a call")
		pass(24 * time.Hour)
		ls.say(ls.nth(t, 0), notice(ls.nth(t, 0).id, "notifications/tools/list_changed", ""))
		synctest.Wait()
		require.Equal(t, []string{"notifications/tools/list_changed"}, r.all())
		require.Equal(t, 1, ls.count())
	})
}

// A stream that ended for any reason is opened again, later if it ended in good order,
// and the gap is reported.
func TestSubscriptionOpensAgain(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, over string) {
		for name, tt := range map[string]struct {
			end         func(ls *listens, l *listen)
			least, most time.Duration
			only        string
		}{
			"result":    {func(ls *listens, l *listen) { ls.say(l, graceful(l.id)) }, 5 * time.Second, 10 * time.Second, ""},
			"cancelled": {func(ls *listens, l *listen) { ls.say(l, cancelledBy(l.id)) }, 5 * time.Second, 10 * time.Second, ""},
			"dropped":   {func(_ *listens, l *listen) { l.say <- "" }, 0, 500 * time.Millisecond, "http"},
			"error": {func(ls *listens, l *listen) {
				ls.say(l, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no"}}`, l.id.AppendJSON(nil)))
			}, 0, 500 * time.Millisecond, ""},
		} {
			if tt.only != "" && tt.only != over {
				continue
			}
			var events, changes record
			c, ls := listenOver(t, over, events.events())
			s, err := c.Subscribe(t.Context(), toolsAndX, changes.change)
			require.NoError(t, err)
			_, err = c.GetToolSchema(t.Context(), "echo")
			require.NoError(t, err)
			pass(time.Hour)
			ended := time.Now()
			tt.end(ls, ls.nth(t, 0))
			pass(time.Minute)
			require.Equal(t, 2, ls.count(), name)
			wait := ls.nth(t, 1).began.Sub(ended)
			require.GreaterOrEqual(t, wait, tt.least, name)
			require.LessOrEqual(t, wait, tt.most+time.Second, name)
			require.NotEqual(t, ls.nth(t, 0).id, ls.nth(t, 1).id)
			require.Equal(t, ls.nth(t, 0).filter, ls.nth(t, 1).filter)
			require.Equal(t, []string{"event.SubscriptionGap"}, events.all(), name)
			require.Equal(t, []string{"gap"}, changes.all(), name)
			select {
			case <-s.Done():
				require.Fail(t, "a lost stream is not the end")
			default:
			}
			ls.say(ls.nth(t, 1), notice(ls.nth(t, 1).id, "notifications/tools/list_changed", ""))
			synctest.Wait()
			require.Equal(t, []string{"gap", "notifications/tools/list_changed"}, changes.all(), name)
			require.NoError(t, s.Close())
		}
	})
}

func cancelledBy(id jsonrpc.ID) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id.AppendJSON(nil))
}

// Pain 11: a server that ends every stream at once sees few of them.
func TestSubscriptionIsNoStorm(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, over string) {
		c, ls := listenOver(t, over)
		var r record
		ls.skip = -1
		s, err := c.Subscribe(t.Context(), toolsAndX, r.change)
		require.NoError(t, err)
		pass(time.Hour)
		require.Greater(t, ls.count(), 5)
		require.Less(t, ls.count(), 60)
		require.NoError(t, s.Close())
		n := ls.count()
		pass(time.Hour)
		require.Equal(t, n, ls.count(), "closed is closed")
	})
}

// A refusal is a typed error; a later one ends the subscription with that error.
func TestSubscriptionRefused(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, over string) {
		var events, changes record
		c, ls := listenOver(t, over, events.events())
		ls.refuse = jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found", nil)
		_, err := c.Subscribe(t.Context(), toolsAndX, changes.change)
		require.Equal(t, mcperrors.KindUnsupported, mcperrors.KindOf(err))
		ls.refuse = nil
		s, err := c.Subscribe(t.Context(), toolsAndX, changes.change)
		require.NoError(t, err)
		ls.mu.Lock()
		ls.refuse = jsonrpc.NewError(jsonrpc.CodeMethodNotFound, "Method not found", nil)
		ls.mu.Unlock()
		ls.say(ls.nth(t, 1), graceful(ls.nth(t, 1).id))
		<-s.Done()
		require.Equal(t, mcperrors.KindUnsupported, mcperrors.KindOf(s.Err()))
		synctest.Wait()
		require.Equal(t, []string{"event.SubscriptionEnded"}, events.all())
		require.Error(t, s.Update(t.Context(), toolsAndX))
		pass(time.Hour)
		require.Equal(t, 3, ls.count())
	})
}

// A server that does not acknowledge is not waited for without end, nor beyond
// the caller's patience.
func TestSubscriptionNotAcknowledged(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, over string) {
		c, ls := listenOver(t, over)
		ls.refuse = replyFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		if over == "pipe" {
			ls.refuse = rawLine("")
		}
		began := time.Now()
		_, err := c.Subscribe(t.Context(), toolsAndX, (&record{}).change)
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(err))
		require.Equal(t, 30*time.Second, time.Since(began))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		_, err = c.Subscribe(ctx, toolsAndX, (&record{}).change)
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(err))
		require.Equal(t, time.Second, time.Since(began))
		synctest.Wait()
		if over == "pipe" {
			require.Len(t, cancelledIDs(t, ls.pipe.received()), 2)
		}
	})
}

// For another set of URIs the client opens a new stream before it closes the old one. A
// change on both is reported once.
func TestSubscriptionUpdate(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, over string) {
		var events, changes record
		c, ls := listenOver(t, over, events.events())
		s, err := c.Subscribe(t.Context(), toolsAndX, changes.change)
		require.NoError(t, err)
		require.NoError(t, s.Update(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"x:/b", "x:/a", "x:/b"}}))
		old, now := ls.nth(t, 0), ls.nth(t, 1)
		require.Equal(t, `{"resourceSubscriptions":["x:/a","x:/b"]}`, now.filter)
		require.Equal(t, []string{"x:/a", "x:/b"}, s.Accepted().ResourceSubscriptions)
		ls.say(old, notice(old.id, "notifications/resources/updated", updatedA))
		synctest.Wait()
		ls.say(now, notice(now.id, "notifications/resources/updated", updatedA))
		synctest.Wait()
		require.Equal(t, []string{"updated x:/a"}, changes.all(), "told once")
		pass(2 * time.Second)
		if over == "http" {
			<-old.gone
		} else {
			require.Equal(t, []jsonrpc.ID{old.id}, cancelledIDs(t, ls.pipe.received()))
		}
		ls.say(now, notice(now.id, "notifications/resources/updated", updatedA))
		synctest.Wait()
		require.Len(t, changes.all(), 2)
		pass(time.Hour)
		require.Equal(t, 2, ls.count(), "the old one is not opened again")
		require.Empty(t, events.all())
		// After a failed change everything is as it was.
		ls.mu.Lock()
		ls.refuse = jsonrpc.NewError(jsonrpc.CodeInternalError, "no", nil)
		ls.mu.Unlock()
		require.Error(t, s.Update(t.Context(), toolsAndX))
		ls.say(now, notice(now.id, "notifications/resources/updated", updatedA))
		synctest.Wait()
		require.Len(t, changes.all(), 3)
	})
}

// If Update is quicker than the reopening of a lost stream, the gap is still reported.
func TestSubscriptionUpdateAfterLoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var events, changes record
		c, ls := listenOver(t, "http", events.events())
		s, err := c.Subscribe(t.Context(), toolsAndX, changes.change)
		require.NoError(t, err)
		ls.say(ls.nth(t, 0), graceful(ls.nth(t, 0).id)) // opened again in 5 s, at the soonest
		synctest.Wait()
		require.NoError(t, s.Update(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}))
		pass(time.Minute)
		require.Equal(t, []string{"gap"}, changes.all())
		require.Equal(t, []string{"event.SubscriptionGap"}, events.all())
		require.Equal(t, 2, ls.count())
	})
}

// A notice that names no subscription, or another, belongs to
// the stream it came on; on stdio it is dropped.
func TestSubscriptionForeignNotice(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, over string) {
		var changes, seen record
		c, ls := listenOver(t, over, client.OnNotification(func(_ context.Context, n jsonrpc.Notification) { seen.note("%s", n.Method) }))
		_, err := c.Subscribe(t.Context(), toolsAndX, changes.change)
		require.NoError(t, err)
		synctest.Wait()
		before := len(seen.all())
		ls.say(ls.nth(t, 0), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		ls.say(ls.nth(t, 0), notice(jsonrpc.StringID("another"), "notifications/resources/updated", updatedA))
		synctest.Wait()
		if over == "http" {
			require.Equal(t, []string{"notifications/tools/list_changed", "updated x:/a"}, changes.all())
		} else {
			require.Empty(t, changes.all())
			require.Len(t, seen.all(), before)
		}
	})
}

// OnListChanged works in both eras: with it the client listens for the changes that the
// server declares, without it never, and a lost stream is reopened.
func TestListHandlerListens(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, over string) {
		_, ls := listenOver(t, over)
		synctest.Wait()
		require.Equal(t, 0, ls.count(), "nobody is there to hear it")
	})
	bothWays(t, func(t *testing.T, over string) {
		var lists, events record
		var c *client.Client
		var ls *listens
		ready := make(chan struct{})
		c, ls = listenOver(t, over, events.events(), client.OnListChanged(func(ctx context.Context, method string) {
			<-ready
			_, err := c.ListTools(ctx, nil) // in the handler
			lists.note("%s %v", method, err)
		}))
		close(ready)
		synctest.Wait()
		l := ls.nth(t, 0)
		require.Equal(t, `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}`, l.filter)
		ls.say(l, notice(l.id, "notifications/tools/list_changed", ""))
		pass(time.Second) // since the list was last asked for
		synctest.Wait()
		require.Equal(t, []string{"notifications/tools/list_changed <nil>"}, lists.all())
		ls.say(l, graceful(l.id))
		pass(time.Minute)
		require.Equal(t, 2, ls.count())
		require.Equal(t, []string{"event.SubscriptionGap"}, events.all())
		require.Len(t, lists.all(), 4, "all may have changed")
	})
}

// A thousand notifications cost one fetch, over any stream and in either era, and a
// handler is called once or twice.
func TestThousandNotices(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, over string) {
		c, ls := listenOver(t, over)
		let := make(chan struct{})
		told := 0
		_, err := c.Subscribe(t.Context(), toolsAndX, func(context.Context, client.Change) {
			told++
			<-let
		})
		require.NoError(t, err)
		_, err = c.GetToolSchema(t.Context(), "echo")
		require.NoError(t, err)
		listed := ls.lists()
		for range testmain.Fewer(1000, 10) {
			ls.say(ls.nth(t, 0), notice(ls.nth(t, 0).id, "notifications/tools/list_changed", ""))
		}
		synctest.Wait()
		require.Equal(t, listed, ls.lists(), "nobody asked")
		_, err = c.GetToolSchema(t.Context(), "echo")
		require.NoError(t, err)
		close(let)
		synctest.Wait()
		require.LessOrEqual(t, told, 2)
	})
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		let := make(chan struct{})
		told := 0
		c, err := client.Connect(t.Context(), tr, sessionEra, client.OnListChanged(func(context.Context, string) {
			told++
			<-let
		}))
		require.NoError(t, err)
		before := s.count("tools/list")
		s.notify("notifications/tools/list_changed", `{}`)
		synctest.Wait() // the handler runs: a change now calls it once more
		for range 999 {
			s.notify("notifications/tools/list_changed", `{}`)
		}
		synctest.Wait()
		require.Equal(t, before, s.count("tools/list"), "a refetch is lazy")
		for range 10 {
			_, err = c.GetToolSchema(t.Context(), "echo")
			require.NoError(t, err)
		}
		require.Equal(t, before+1, s.count("tools/list"))
		close(let)
		synctest.Wait()
		require.Equal(t, 2, told)
		require.NoError(t, c.Close())
	})
}

// lists counts the tools/list requests the server has seen.
func (ls *listens) lists() int {
	if ls.pipe == nil {
		return len(ls.site.of("tools/list"))
	}
	return ls.pipe.count("tools/list")
}

// A slow handler gets a gap in place of the changes that it was too slow for.
func TestSubscriptionSlowHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, ls := listenOver(t, "pipe")
		let := make(chan struct{})
		var r record
		_, err := c.Subscribe(t.Context(), toolsAndX, func(ctx context.Context, ch client.Change) {
			<-let
			r.change(ctx, ch)
		})
		require.NoError(t, err)
		for i := range 1000 {
			ls.say(nil, notice(ls.nth(t, 0).id, "notifications/resources/updated", fmt.Sprintf(`"uri":"x:/a/%d"`, i)))
		}
		synctest.Wait()
		close(let)
		synctest.Wait()
		require.Equal(t, "updated x:/a/0", r.all()[0])
		require.Equal(t, "gap", r.all()[1])
		require.Less(t, len(r.all()), 600)
	})
}

func TestSubscribeBadFilters(t *testing.T) {
	t.Parallel()
	c, s := connected(t, sessionEra) // which has tools only
	for name, tt := range map[string]struct {
		filter mcp.SubscriptionFilter
		code   mcperrors.Code
	}{
		"nothing":            {mcp.SubscriptionFilter{}, mcperrors.CodeInvalidRequest},
		"an empty URI":       {mcp.SubscriptionFilter{ResourceSubscriptions: []string{""}}, mcperrors.CodeInvalidRequest},
		"not declared":       {mcp.SubscriptionFilter{PromptsListChanged: true}, mcperrors.CodeMissingCapability},
		"resource, likewise": {mcp.SubscriptionFilter{ResourceSubscriptions: []string{"x:/"}}, mcperrors.CodeMissingCapability},
	} {
		_, err := c.Subscribe(t.Context(), tt.filter, (&record{}).change)
		require.Equal(t, tt.code, mcperrors.CodeOf(err), name)
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err), name)
	}
	_, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, nil)
	require.Equal(t, mcperrors.CodeInvalidRequest, mcperrors.CodeOf(err))
	for _, m := range s.methods() {
		require.False(t, strings.HasPrefix(m, "resources/") || strings.HasPrefix(m, "subscriptions/"), m)
	}
	require.NoError(t, c.Close())
	_, err = c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, (&record{}).change)
	require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(err))
}
