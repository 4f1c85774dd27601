package client_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// peerAdded is a tool that a peer lists from some moment on.
var peerAdded = strings.ReplaceAll(peerTool, "echo", "added")

// page is a page of the peer's list.
func (p *listPeer) page(next string, tools ...string) string {
	members := `"tools":[` + strings.Join(tools, ",") + `]`
	if next != "" {
		members += `,"nextCursor":"` + next + `"`
	}
	if p.version >= "2026" {
		members += `,"resultType":"complete","ttlMs":300000,"cacheScope":"private"`
	}
	return `"result":{` + members + `}`
}

// byName are the ways to use a tool by its name.
var byName = map[string]func(ctx context.Context, c *client.Client) error{
	"CallTool": func(ctx context.Context, c *client.Client) error {
		_, err := c.CallTool(ctx, "added", hello)
		return err
	},
	"GetToolSchema": func(ctx context.Context, c *client.Client) error {
		_, err := c.GetToolSchema(ctx, "added")
		return err
	},
	"GetToolSchema with a refresh": func(ctx context.Context, c *client.Client) error {
		_, err := c.GetToolSchema(ctx, "added", client.WithCacheMode(client.CacheRefresh))
		return err
	},
	"GetToolSchema with _meta": func(ctx context.Context, c *client.Client) error {
		_, err := c.GetToolSchema(ctx, "added", client.WithMeta("example.com/a", 1))
		return err
	},
}

// A server may say that its tools have changed while their list is under way
// (server/tools#list-changed-notification). Such a list is fetched again before a name
// is called unknown, once, however the notification comes: on a pipe, on the stream of a
// session, or on that of subscriptions/listen.
func TestListOutdatedOnItsWay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// list answers the n-th request for the list, from 1. second is that for the
		// second page.
		list    func(p *listPeer, n int, second bool) string
		missing bool
		asked   int
	}{
		"before the answer": {asked: 2, list: func(p *listPeer, n int, _ bool) string {
			if n > 1 {
				return p.page("", peerTool, peerAdded)
			}
			p.changed()
			return p.page("", peerTool)
		}},
		"between two pages": {asked: 4, list: func(p *listPeer, n int, second bool) string {
			switch {
			case second && n > 2:
				return p.page("", peerAdded)
			case second:
				p.changed()
				return p.page("")
			}
			return p.page("2", peerTool)
		}},
		"between two pages, with cursors that end": {asked: 4, list: func(p *listPeer, n int, _ bool) string {
			switch n {
			case 1:
				return p.page("2", peerTool)
			case 2:
				p.changed()
				return `"error":{"code":-32602,"message":"Invalid cursor"}`
			case 3:
				return p.page("", peerTool)
			}
			return p.page("", peerTool, peerAdded)
		}},
		"before two answers": {missing: true, asked: 2, list: func(p *listPeer, _ int, _ bool) string {
			p.changed()
			return p.page("", peerTool)
		}},
		"never": {missing: true, asked: 1, list: func(p *listPeer, _ int, _ bool) string { return p.page("", peerTool) }},
	} {
		for way, use := range byName {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				inBubbleEachWay(t, func(t *testing.T, p *listPeer) {
					c, err := p.dial(client.OnListChanged(func(context.Context, string) {}))
					require.NoError(t, err)
					synctest.Wait() // the stream is open
					n := 0
					p.answer("tools/list", func(params json.RawMessage) string {
						n++
						answer := tt.list(p, n, strings.Contains(string(params), "cursor"))
						synctest.Wait() // what was said on another stream has come
						return answer
					})
					began := time.Now()
					err = use(t.Context(), c)
					require.Equal(t, tt.asked, n)
					require.Less(t, time.Since(began), 3*time.Second)
					if !tt.missing {
						require.NoError(t, err)
						return
					}
					require.Equal(t, mcperrors.KindNotFound, mcperrors.KindOf(err), "%v", err)
					require.Zero(t, p.count("tools/call"))
				})
			})
		}
	}
}

// The list that Connect fetches is outdated on its way, or the server says that its
// tools have changed before anyone has asked for them.
func TestListOutdatedFromTheStart(t *testing.T) {
	t.Parallel()
	for way, use := range byName {
		t.Run("while connecting/"+way, func(t *testing.T) {
			t.Parallel()
			inBubbleEachWay(t, func(t *testing.T, p *listPeer) {
				if p.http {
					return // the stream is opened after that
				}
				first := true
				p.answer("tools/list", func(json.RawMessage) string {
					if !first {
						return p.page("", peerTool, peerAdded)
					}
					first = false
					p.changed()
					return p.page("", peerTool)
				})
				c, err := p.dial()
				require.NoError(t, err)
				require.NoError(t, use(t.Context(), c))
			})
		})
		t.Run("before the first/"+way, func(t *testing.T) {
			t.Parallel()
			inBubbleEachWay(t, func(t *testing.T, p *listPeer) {
				c, err := p.dial(client.OnListChanged(func(context.Context, string) {}), client.WithCache(client.CacheConfig{NoPreload: true}))
				require.NoError(t, err)
				synctest.Wait()
				p.changed()
				synctest.Wait()
				p.list(peerTool + "," + peerAdded)
				require.NoError(t, use(t.Context(), c))
				require.LessOrEqual(t, p.count("tools/list"), 1, "the answer was made after the change")
			})
		})
	}
}

// Callers that wait for the same outdated list share the request that follows, whether
// they came before the notification or after it.
func TestListOutdatedOnItsWayIsFetchedOnceForAll(t *testing.T) {
	t.Parallel()
	inBubbleEachWay(t, func(t *testing.T, p *listPeer) {
		c, err := p.dial(client.OnListChanged(func(context.Context, string) {}))
		require.NoError(t, err)
		synctest.Wait()
		var n atomic.Int64
		p.answer("tools/list", func(json.RawMessage) string {
			if n.Add(1) > 1 {
				return p.page("", peerTool, peerAdded)
			}
			time.Sleep(time.Second)
			p.changed()
			time.Sleep(time.Second)
			return p.page("", peerTool)
		})
		var wg sync.WaitGroup
		for i := range 40 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 45 * time.Millisecond)
				if _, err := c.CallTool(t.Context(), "added", hello); err != nil {
					t.Errorf("call %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		require.EqualValues(t, 2, n.Load())
	})
}
