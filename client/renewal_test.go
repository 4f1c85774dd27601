package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// sessionSite is a server of sessions over HTTP in memory, which can forget
// them. reply answers before it where it returns true.
type sessionSite struct {
	*memhttp.Server
	reply func(w http.ResponseWriter, r *http.Request, req jsonrpc.Request) bool

	mu      sync.Mutex
	opened  int
	session string // the one it knows
	version string
	// capabilities are what initialize is answered with, refuse is how many
	// notifications/initialized are refused, nameless: sessions have no id.
	capabilities string
	refuse       int
	nameless     bool
	down         bool          // initialize is refused
	hold         chan struct{} // initialize waits for it
	got          []string      // "method@session" of each message, "GET@session", "DELETE@session"
	ids          []jsonrpc.ID
	streams      []chan string // of GETs
}

const siteCapabilities = `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{},"logging":{}}`

func newSessionSite(t *testing.T) *sessionSite {
	t.Helper()
	s := &sessionSite{version: "2025-11-25", capabilities: siteCapabilities}
	s.Server = memhttp.New(onWire(t, s))
	t.Cleanup(s.Close)
	return s
}

// dial connects to the site; both are closed with the test's bubble.
func (s *sessionSite) dial(t *testing.T, opts ...client.Option) *client.Client {
	t.Helper()
	h := &transport.HTTP{URL: memhttp.URL, RoundTripper: s.Transport()}
	c, err := client.Connect(t.Context(), h, append([]client.Option{sessionEra}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (s *sessionSite) locked(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// restart forgets the session and breaks what is open.
func (s *sessionSite) restart() { s.locked(func() { s.session = "" }) }

func (s *sessionSite) count(what string) int {
	n := 0
	s.locked(func() {
		for _, g := range s.got {
			if strings.HasPrefix(g, what) {
				n++
			}
		}
	})
	return n
}

func (s *sessionSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get("Mcp-Session-Id")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m, err := jsonrpc.Decode(body)
	req, ok := m.(jsonrpc.Request)
	name := r.Method
	switch m := m.(type) {
	case jsonrpc.Request:
		name = m.Method
	case jsonrpc.Notification:
		name = m.Method
	}
	s.mu.Lock()
	s.got = append(s.got, name+"@"+session)
	if ok {
		s.ids = append(s.ids, req.ID)
	}
	known, down, hold := session == s.session && (session != "" || s.nameless), s.down, s.hold
	refused := name == "notifications/initialized" && s.refuse > 0
	if refused {
		s.refuse--
	}
	s.mu.Unlock()
	switch {
	case req.Method == "initialize":
		if hold != nil {
			select {
			case <-hold:
			case <-r.Context().Done():
				return
			}
		}
		if down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s.mu.Lock()
		s.opened++
		if !s.nameless {
			s.session = fmt.Sprintf("s%d", s.opened)
			w.Header().Set("Mcp-Session-Id", s.session)
		}
		s.mu.Unlock()
		writeJSON(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"site","version":"1"}}}`,
			req.ID.AppendJSON(nil), s.version, s.capabilities))
	case !known:
		w.WriteHeader(http.StatusNotFound)
	case refused:
		w.WriteHeader(http.StatusServiceUnavailable)
	case r.Method == http.MethodGet:
		s.stream(w, r)
	case err != nil: // DELETE
		w.WriteHeader(http.StatusNoContent)
	case !ok:
		w.WriteHeader(http.StatusAccepted)
	case s.reply != nil && s.reply(w, r, req):
	default:
		writeJSON(w, siteAnswer(req))
	}
}

func siteAnswer(req jsonrpc.Request) string {
	switch req.Method {
	case "resources/subscribe", "resources/unsubscribe", "logging/setLevel":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, req.ID.AppendJSON(nil))
	}
	return wellAnswered(req)
}

// stream is the server's own stream: its texts are sent until the client leaves, or
// until an empty text ends the stream.
func (s *sessionSite) stream(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	flush(w, ": hello\n\n")
	said := make(chan string, 100)
	s.locked(func() { s.streams = append(s.streams, said) })
	for {
		select {
		case text := <-said:
			if text == "" {
				return
			}
			flush(w, "data: "+text+"\n\n")
		case <-r.Context().Done():
			return
		}
	}
}

// say sends a notification on the stream opened last; endStream ends that.
func (s *sessionSite) say(method, params string) {
	s.last() <- fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
}

func (s *sessionSite) endStream() { s.last() <- "" }

func (s *sessionSite) last() chan string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[len(s.streams)-1]
}

// record collects events as text.
type record struct {
	mu  sync.Mutex
	got []string
}

func (r *record) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, fmt.Sprintf(format, args...))
}

func (r *record) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func (r *record) events() client.Option {
	return client.OnEvent(func(_ context.Context, e client.Event) {
		switch e.(type) {
		case client.Reinitialized, client.SubscriptionGap, client.SubscriptionEnded, client.LivenessFailed:
			r.note("%T", e)
		}
	})
}

// change records a change of a subscription.
func (r *record) change(_ context.Context, ch client.Change) {
	switch {
	case ch.Gap:
		r.note("gap")
	case ch.URI != "":
		r.note("updated %s", ch.URI)
	default:
		r.note("%s", ch.Method)
	}
}

// A session that is gone is opened
// once for everybody, and no call notices.
func TestSessionLostFiftyCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessionSite(t)
		var r record
		c := s.dial(t, r.events())
		s.restart()
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				_, err := c.CallTool(t.Context(), "echo", message)
				if err != nil {
					t.Errorf("a call noticed: %v", err)
				}
			})
		}
		all.Wait()
		require.Equal(t, 1, s.count("initialize@")-1, "one more session")
		require.Equal(t, 50, s.count("tools/call@s2"), "each is made once in it")
		require.Equal(t, 0, s.count("initialize@s"), "initialize has no id")
		require.Equal(t, 1, s.count("notifications/initialized@s2"))
		synctest.Wait()
		require.Equal(t, []string{"event.Reinitialized"}, r.all())
		s.locked(func() {
			require.Len(t, slices.Compact(slices.SortedFunc(slices.Values(s.ids), func(a, b jsonrpc.ID) int {
				return strings.Compare(a.String(), b.String())
			})), len(s.ids), "ids never repeat (RPC-05)")
		})
		require.NoError(t, c.Close())
		require.Equal(t, 1, s.count("DELETE@s2"))
		require.Equal(t, 0, s.count("DELETE@s1"))
	})
}

// Settings of the old session are restored in the new one.
func TestSessionLostRestores(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessionSite(t)
		var r, changes record
		lists := 0
		c := s.dial(t, r.events(), client.OnListChanged(func(context.Context, string) { lists++ }))
		require.NoError(t, c.SetLogLevel(t.Context(), mcp.LevelWarning))
		sub, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true, ResourceSubscriptions: []string{"x:/b", "x:/a"}}, changes.change)
		require.NoError(t, err)
		_, err = c.GetToolSchema(t.Context(), "echo")
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, 1, s.count("GET@s1"))
		s.restart()
		require.NoError(t, c.Ping(t.Context()))
		synctest.Wait()
		require.Equal(t, 1, s.count("logging/setLevel@s2"))
		require.Equal(t, 2, s.count("resources/subscribe@s2"))
		require.Equal(t, 1, s.count("GET@s2"))
		require.Equal(t, []string{"event.Reinitialized", "event.SubscriptionGap"}, r.all())
		require.Equal(t, []string{"gap"}, changes.all())
		require.Equal(t, 2, lists, "of tools and resources, which tell of changes")
		listed := s.count("tools/list")
		_, err = c.GetToolSchema(t.Context(), "echo")
		require.NoError(t, err)
		require.Equal(t, listed+1, s.count("tools/list"), "caches are dropped")
		s.say("notifications/resources/updated", `{"uri":"x:/a"}`)
		synctest.Wait()
		require.Equal(t, []string{"gap", "updated x:/a"}, changes.all())
		require.NoError(t, sub.Close())
		synctest.Wait()
		require.Equal(t, 2, s.count("resources/unsubscribe@s2"))
		require.NoError(t, c.Close())
	})
}

// The stream of GET detects a lost session without a call.
func TestSessionLostFoundByTheStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessionSite(t)
		var r, changes record
		c := s.dial(t, r.events())
		_, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"x:/a"}}, changes.change)
		require.NoError(t, err)
		synctest.Wait()
		s.locked(func() { s.session, s.down = "", true })
		s.endStream()
		time.Sleep(10 * time.Minute) // down, and nobody calls
		tries := s.count("initialize@")
		require.Greater(t, tries, 5, "it goes on")
		require.Less(t, tries, 100, "and is no storm (pain 11)")
		s.locked(func() { s.down = false })
		time.Sleep(2 * time.Minute)
		require.Equal(t, 1, s.count("resources/subscribe@s2"))
		require.Equal(t, 1, s.count("GET@s2"))
		require.Equal(t, []string{"gap"}, changes.all())
		require.NoError(t, c.Close())
	})
}

// If a session cannot be opened, all waiting calls fail at once with the reason. The
// next call tries again, but not in a storm.
func TestSessionLostForGood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessionSite(t)
		c := s.dial(t, client.WithResilience(client.Resilience{Off: true, IdleTimeout: time.Minute}))
		s.locked(func() { s.session, s.down = "", true })
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				_, err := c.CallTool(t.Context(), "echo", message)
				if mcperrors.KindOf(err) != mcperrors.KindSessionLost || !mcperrors.SafeToRetry(err) || !mcperrors.Retryable(err) ||
					!strings.Contains(err.Error(), "no new one could be opened") {
					t.Errorf("%v", err)
				}
			})
		}
		all.Wait()
		require.LessOrEqual(t, s.count("initialize@"), 1+3, "a few for twenty")
		for range 1000 {
			require.Error(t, c.Ping(t.Context()))
			time.Sleep(100 * time.Millisecond)
		}
		require.Less(t, s.count("initialize@"), 40, "no storm in 100 s")
		s.locked(func() { s.down = false })
		time.Sleep(time.Minute)
		require.NoError(t, c.Ping(t.Context()))
		require.NoError(t, c.Close())
	})
}

// A server that forgets every session at once sees few of them.
func TestSessionLostEveryTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessionSite(t)
		c := s.dial(t)
		s.reply = func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Request) bool {
			w.WriteHeader(http.StatusNotFound)
			return true
		}
		for range 600 {
			err := c.Ping(t.Context())
			require.Equal(t, mcperrors.KindSessionLost, mcperrors.KindOf(err))
			require.True(t, mcperrors.SafeToRetry(err))
			time.Sleep(100 * time.Millisecond)
		}
		require.Less(t, s.count("initialize@"), 40)
		require.NoError(t, c.Close())
	})
}

// Close in the middle of it ends everybody, and nothing is left.
func TestSessionLostClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessionSite(t)
		c := s.dial(t)
		s.locked(func() { s.session, s.hold = "", make(chan struct{}) })
		done := make(chan error, 10)
		for range cap(done) {
			go func() { done <- c.Ping(t.Context()) }()
		}
		time.Sleep(time.Second)
		require.Equal(t, 2, s.count("initialize@"))
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { done <- c.Notify(ctx, "notifications/custom", nil) }()
		synctest.Wait()
		cancel(errors.New("had enough"))
		err := <-done
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err), "a canceled call returns")
		began := time.Now()
		require.NoError(t, c.Close())
		require.Less(t, time.Since(began), 2*time.Second)
		for range cap(done) {
			require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(<-done))
		}
	})
}

// The revision is checked again, and the gate follows it; notifications are not
// lost with the session either.
func TestSessionLostOtherServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessionSite(t)
		c := s.dial(t)
		s.locked(func() { s.session, s.version = "", "2025-06-18" })
		require.NoError(t, c.Notify(t.Context(), "notifications/custom", nil))
		require.Equal(t, 1, s.count("notifications/custom@s2"))
		require.Equal(t, mcp.Version2025_06_18, c.ProtocolVersion())
		s.locked(func() { s.session, s.version = "", "1999-01-01" })
		err := c.Ping(t.Context())
		require.Equal(t, mcperrors.KindSessionLost, mcperrors.KindOf(err))
		var mismatch *client.VersionError
		require.ErrorAs(t, err, &mismatch)
		require.Equal(t, mcperrors.Rejected, mcperrors.DeliveryOf(err))
		require.NoError(t, c.Close())
	})
}

// A call that was under way in the session that is gone fails, and is not
// made again: it may have been executed. Who listens gets a new session.
func TestSessionLostInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessionSite(t)
		broken := make(chan struct{})
		s.reply = func(w http.ResponseWriter, _ *http.Request, req jsonrpc.Request) bool {
			if req.Method != "tools/call" {
				return false
			}
			w.Header().Set("Content-Type", "text/event-stream")
			flush(w, "id: 1\ndata:\n\n")
			<-broken
			return true
		}
		var changes record
		c := s.dial(t)
		_, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, changes.change)
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() {
			_, err := c.CallTool(t.Context(), "echo", message)
			done <- err
		}()
		synctest.Wait()
		s.restart()
		close(broken)
		err = <-done
		require.Equal(t, mcperrors.KindSessionLost, mcperrors.KindOf(err))
		require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err))
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		require.True(t, e.Retryable, "the next call has a session")
		require.Equal(t, 1, s.count("tools/call"))
		time.Sleep(time.Minute)
		require.Equal(t, 1, s.count("GET@s2"))
		require.Equal(t, []string{"gap"}, changes.all())
		require.NoError(t, c.Close())
	})
}
