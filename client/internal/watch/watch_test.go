package watch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/client/internal/keeper"
	"github.com/mainstay-mcp/mainstay/client/internal/life"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/watch"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func TestMain(m *testing.M) { testmain.Run(m) }

type conn struct {
	transport.Conn
	h *house
}

func (conn) Traits() transport.Traits { return transport.Traits{} }

func (c conn) OpenStream() <-chan struct{} {
	c.h.note("stream")
	open := make(chan struct{})
	close(open)
	return open
}

// house is a watcher with its hooks, which record the steps in order.
type house struct {
	*watch.Watcher
	t    *testing.T
	core core.Core

	mu    sync.Mutex
	steps []string
	fails map[string]error // errors of requests for a URI
	ids   int
	// held are the open streams, in order.
	held []*held
}

// held is a stream that ends under control of the test.
type held struct {
	id  jsonrpc.ID
	end chan error
}

func newHouse(t *testing.T, era mcp.Era) *house {
	h := &house{t: t, fails: map[string]error{}}
	h.speak(era)
	h.core.Life.Begin()
	h.core.Log = slog.New(slog.DiscardHandler)
	h.core.Emit = func(e event.Event) {
		switch e := e.(type) {
		case event.SubscriptionGap:
			h.note("gap: %v", e.Reason)
		case event.SubscriptionEnded:
			h.note("ended")
		}
	}
	h.Watcher = watch.New(&h.core, watch.Config{Client: owner{h}, Keeper: &keeper.Holder{}})
	return h
}

// owner is the client of the watcher.
type owner struct{ h *house }

func (o owner) Send(_ context.Context, purpose link.Purpose, method, _, value string) error {
	again := ""
	if purpose == link.Restore {
		again = " again"
	}
	o.h.note("%s %s%s", method, value, again)
	o.h.mu.Lock()
	defer o.h.mu.Unlock()
	return o.h.fails[value]
}

func (o owner) Listen(f mcp.SubscriptionFilter) (watch.Request, error) { return request{o.h, f}, nil }

func (o owner) NextID() jsonrpc.ID {
	o.h.ids++
	return jsonrpc.StringID(fmt.Sprint(o.h.ids))
}

func (o owner) Meta(mcp.Version, json.RawMessage) ([]byte, error) {
	o.h.note("meta")
	return []byte("meta"), nil
}

func (owner) Needed() bool                   { return true }
func (owner) Forget()                        {}
func (owner) Unheard(mcp.SubscriptionFilter) {}

// request is a subscriptions/listen request.
type request struct {
	h *house
	f mcp.SubscriptionFilter
}

func (r request) Send(ctx context.Context, id jsonrpc.ID) error { return r.h.hold(ctx, id, r.f) }

func (r request) Repair(context.Context) (bool, error) {
	r.h.note("repair")
	return true, nil
}

// speak sets the live link to one of an era.
func (h *house) speak(era mcp.Era) {
	h.core.Links.Use(conn{h: h})
	h.core.Links.Agree(&link.Agreement{Era: era})
}

// hold is a request whose stream is acknowledged at once.
func (h *house) hold(ctx context.Context, id jsonrpc.ID, f mcp.SubscriptionFilter) error {
	h.note("listen %s", id)
	l := &held{id: id, end: make(chan error)}
	h.mu.Lock()
	h.held = append(h.held, l)
	h.mu.Unlock()
	params, err := mcp.Marshal(&mcp.SubscriptionsAcknowledgedParams{Notifications: f})
	require.NoError(h.t, err)
	h.Hear(jsonrpc.Notification{Method: mcp.MethodSubscriptionsAcknowledged, Params: params}, id)
	select {
	case err := <-l.end:
		return err
	case <-ctx.Done():
		h.note("left %s", id)
		return ctx.Err()
	}
}

func (h *house) note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps = append(h.steps, fmt.Sprintf(format, args...))
}

func (h *house) take() []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	steps := h.steps
	h.steps = nil
	return steps
}

func (h *house) subscribe(f mcp.SubscriptionFilter) *watch.Subscription {
	s, err := h.Subscribe(h.t.Context(), f, func(_ context.Context, ch watch.Change) { h.note("told %s %s %v", ch.Method, ch.URI, ch.Gap) })
	require.NoError(h.t, err)
	return s
}

// close ends the watcher with its client.
func (h *house) close() {
	h.core.Life.Move(life.Closed, nil)
	h.core.Life.End()
	h.End()
	require.True(h.t, h.core.Life.Await(time.Minute))
}

func of(uris ...string) mcp.SubscriptionFilter {
	return mcp.SubscriptionFilter{ResourceSubscriptions: uris}
}

func updated(uri string) jsonrpc.Notification {
	return jsonrpc.Notification{Method: mcp.MethodResourcesUpdated, Params: []byte(`{"uri":"` + uri + `"}`)}
}

// A session subscribes to each resource once, and unsubscribes with its last subscription.
func TestSessionSharesResources(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, mcp.EraSession)
		defer h.close()
		a := h.subscribe(of("x:/b", "x:/a", "x:/a"))
		require.Equal(t, []string{"resources/subscribe x:/a", "resources/subscribe x:/b", "stream"}, h.take())
		b := h.subscribe(of("x:/a"))
		require.Equal(t, []string{"stream"}, h.take())
		a.Close()
		require.Equal(t, []string{"resources/unsubscribe x:/b"}, h.take())
		require.True(t, h.Hear(updated("x:/a/below"), jsonrpc.ID{}))
		require.Equal(t, []string{"told notifications/resources/updated x:/a/below false"}, h.take())
		require.NoError(t, b.Update(t.Context(), of("x:/c")))
		require.Equal(t, []string{"resources/subscribe x:/c", "resources/unsubscribe x:/a"}, h.take())

		h.fails["x:/e"] = errors.New("no")
		_, err := h.Subscribe(t.Context(), of("x:/d", "x:/e"), nil)
		require.ErrorContains(t, err, "no")
		require.Equal(t, []string{"resources/subscribe x:/d", "resources/subscribe x:/e", "resources/unsubscribe x:/d"}, h.take(), "all of them or none")
		require.True(t, h.Any())
	})
}

// A new session subscribes again: at once, later if that may help, and no more if it does not.
func TestRestore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, mcp.EraSession)
		defer h.close()
		h.subscribe(of("x:/a"))
		slow, refused := h.subscribe(of("x:/b")), h.subscribe(of("x:/c"))
		h.take()
		h.speak(mcp.EraSession)
		h.fails["x:/b"] = errors.New("later")
		h.fails["x:/c"] = mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.Answered, "never", nil)
		h.Renewed()
		require.ElementsMatch(t, []string{
			"resources/subscribe x:/a again", "resources/subscribe x:/b again", "resources/subscribe x:/c again", "ended",
			"resources/unsubscribe x:/c", "stream", "gap: the server lost the session; a new one was opened", "told   true", "told   true",
		}, h.take())
		require.ErrorContains(t, refused.Err(), "never")
		h.mu.Lock()
		delete(h.fails, "x:/b")
		h.mu.Unlock()
		time.Sleep(time.Second)
		require.Equal(t, []string{"resources/subscribe x:/b again", "gap: a new session did not accept the watched resources in time", "told   true", "told   true"}, h.take())
		require.NoError(t, slow.Err())
	})
}

// A lost stream is reopened, and its subscription gets a gap. If the server refuses it
// permanently, the subscription ends.
func TestStreamsReopen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, mcp.EraStateless)
		defer h.close()
		s := h.subscribe(of("x:/a"))
		require.Equal(t, []string{"listen 1"}, h.take())
		require.False(t, h.Hear(updated("x:/a"), jsonrpc.ID{}), "it names no subscription")
		require.True(t, h.Hear(updated("x:/a"), h.held[0].id))
		require.Equal(t, []string{"told notifications/resources/updated x:/a false"}, h.take())
		h.held[0].end <- errors.New("lost")
		time.Sleep(time.Second)
		require.Equal(t, []string{"listen 2", "gap: lost", "told   true"}, h.take())

		require.NoError(t, s.Update(t.Context(), of("x:/b")))
		require.Equal(t, []string{"x:/b"}, s.Accepted().ResourceSubscriptions)
		for _, l := range h.held[1:] {
			h.Hear(updated("x:/b"), l.id)
		}
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"listen 3", "told notifications/resources/updated x:/b false", "left 2"}, h.take(), "both tell, once")
		require.NoError(t, s.Err())
	})
}

// Subscriptions move to a program of the other era.
func TestMove(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, mcp.EraSession)
		defer h.close()
		s := h.subscribe(of("x:/a"))
		h.take()
		h.speak(mcp.EraStateless)
		h.Restarted(&link.Agreement{Era: mcp.EraSession})
		require.ElementsMatch(t, []string{"listen 1", "told   true"}, h.take())
		h.speak(mcp.EraSession)
		h.Restarted(&link.Agreement{Era: mcp.EraStateless})
		require.Equal(t, "resources/subscribe x:/a again", h.take()[0])
		h.held[0].end <- errors.New("the program has ended")
		time.Sleep(time.Minute)
		require.Empty(t, h.take(), "nobody keeps a stream in a session")
		s.Close()
		require.Equal(t, []string{"resources/unsubscribe x:/a"}, h.take())
		require.False(t, h.Any())
	})
}

// The next session gets the log level, and so do requests of the stateless era.
func TestLevel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, mcp.EraSession)
		defer h.close()
		require.Nil(t, h.Level())
		h.LevelSent(mcp.LevelWarning)
		require.JSONEq(t, `"warning"`, string(h.Level()))
		h.Renewed()
		require.Equal(t, []string{"stream", "gap: the server lost the session; a new one was opened"}, h.take(), "the server has no logging")

		h.core.Links.Agree(&link.Agreement{Era: mcp.EraSession, Capabilities: mcp.ServerCapabilities{Logging: &mcp.EmptyCapability{}}})
		h.fails["warning"] = errors.New("later")
		h.Renewed()
		require.Equal(t, []string{"logging/setLevel warning again", "stream", "gap: the server lost the session; a new one was opened"}, h.take())
		h.mu.Lock()
		clear(h.fails)
		h.mu.Unlock()
		time.Sleep(time.Minute)
		require.Equal(t, []string{"logging/setLevel warning again"}, h.take())

		h.speak(mcp.EraStateless)
		h.Restarted(&link.Agreement{Era: mcp.EraStateless})
		require.Equal(t, []string{"meta"}, h.take())
		require.Equal(t, "meta", string(h.core.Links.Agreed().Meta))
	})
}
