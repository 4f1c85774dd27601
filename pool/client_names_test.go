package pool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/pool"
)

// noted are the names of servers that the application gets, by source.
type noted struct {
	client.NoMeter
	mu    sync.Mutex
	names map[string]map[string]bool
	more  chan struct{} // has a token once there is another name somewhere
}

func (n *noted) note(where, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.names == nil {
		n.names = map[string]map[string]bool{}
	}
	if n.names[where] == nil {
		n.names[where] = map[string]bool{}
	}
	n.names[where][name] = true
	select {
	case n.more <- struct{}{}:
	default:
	}
}

// await waits until handlers, which run on other goroutines, have got as many names. It
// gives up after a minute.
func (n *noted) await(want map[string][]string) {
	late := time.After(time.Minute)
	for got := n.all(); !maps.EqualFunc(want, got, func(a, b []string) bool { return len(a) <= len(b) }); got = n.all() {
		select {
		case <-n.more:
		case <-late:
			return
		}
	}
}

func (n *noted) all() map[string][]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	out := map[string][]string{}
	for where, names := range n.names {
		out[where] = slices.Sorted(maps.Keys(names))
	}
	return out
}

// CallEnded implements [client.Meter].
func (n *noted) CallEnded(r client.CallRecord) { n.note("meter: call", r.Server) }

// AttemptEnded implements [client.Meter].
func (n *noted) AttemptEnded(r client.AttemptRecord) { n.note("meter: attempt", r.Server) }

// Write implements [io.Writer] for a log of JSON.
func (n *noted) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		var record struct{ Server, Breaker string }
		if err := json.Unmarshal(line, &record); err != nil {
			return 0, err
		}
		if record.Server != "" {
			n.note("log", record.Server)
		}
		if record.Breaker != "" {
			n.note("log: breaker", record.Breaker)
		}
	}
	return len(p), nil
}

// options are the same for all servers.
func (n *noted) options() pool.Option {
	return pool.WithClientOptions(
		sessionEra,
		client.WithLogger(slog.New(slog.NewJSONHandler(n, nil))),
		client.WithMeter(n),
		client.WithMiddleware(func(next client.Next) client.Next {
			return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
				n.note("middleware", inv.Server)
				return next(ctx, inv)
			}
		}),
		client.OnEvent(func(_ context.Context, e client.Event) { n.note("client event", e.ServerName()) }),
		client.OnElicitForm(func(_ context.Context, r client.FormRequest) (*mcp.ElicitResult, error) {
			n.note("question", r.From.Server)
			return client.AcceptForm(nil)
		}))
}

// Three servers of a file that run the same program have three names, wherever the
// application meets them.
func TestServersOfOneProgramHaveNames(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	names := []string{"calendar", "git", "mail"}
	argv := programArgv("asks")
	entries := map[string]any{}
	for _, name := range names {
		entries[name] = map[string]any{"command": argv[0], "args": argv[1:], "env": map[string]any{"GORACE": "atexit_sleep_ms=0"}}
	}
	text, err := json.Marshal(map[string]any{"mcpServers": entries})
	require.NoError(t, err)
	n := &noted{more: make(chan struct{}, 1)}
	p, err := pool.Load(t.Context(), serverFile(t, string(text)), n.options(), pool.WithRequiredServers(names...),
		pool.OnEvent(func(_ context.Context, e pool.Event) {
			n.note("pool event", e.Server)
			if e.Event != nil {
				n.note("event of a pool event", e.Event.ServerName())
			}
		}))
	require.NoError(t, err)
	defer p.Close() //nolint:errcheck // closed below, unless the test fails
	for _, name := range names {
		c, err := p.Client(name)
		require.NoError(t, err)
		res, err := c.CallTool(t.Context(), "echo", map[string]any{"message": "ask"})
		require.NoError(t, err)
		require.Equal(t, "done", res.Text())
		_, err = c.CallTool(t.Context(), "echo", map[string]any{"message": "fail"})
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		n.note("error", e.Server)
		require.ErrorContains(t, err, "server "+name+")")
		n.note("negotiated", c.Negotiated().ServerName())
		n.note("breaker", c.Breaker().Name())
		c.Breaker().Trip("test")
		h := c.Health()
		n.note("health", h.Server)
		require.Equal(t, argv[0], h.Address)
	}
	want := map[string][]string{}
	for _, where := range []string{
		"question", "error", "client event", "pool event", "event of a pool event", "negotiated", "log", "log: breaker", "breaker", "health",
		"meter: call", "meter: attempt", "middleware",
	} {
		want[where] = names
	}
	n.await(want)
	require.NoError(t, p.Close())
	require.Equal(t, want, n.all())
}

// The pool's own errors have the name, too.
func TestSlowListNamesItsServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := toolServer(t, "a", "one")
		p, err := pool.Open(t.Context(), []pool.Server{serverAt("mine", s.Transport())}, pool.WithClientOptions(client.WithCache(client.CacheConfig{NoPreload: true})))
		require.NoError(t, err)
		defer func() { require.NoError(t, p.Close()) }()
		s.Fail(1, clienttest.ErrSilent)
		list, err := p.Tools(t.Context())
		require.NoError(t, err)
		var e *mcperrors.Error
		require.ErrorAs(t, list.Failures["mine"], &e)
		require.Equal(t, mcperrors.KindTimeout, e.Kind)
		require.Equal(t, "mine", e.Server)
	})
}

// Options for all servers come first, those of a server last.
func TestOrderOfClientOptions(t *testing.T) {
	t.Parallel()
	byName := func(name string) []client.Option { return []client.Option{client.WithName("by name: " + name)} }
	tests := []struct {
		name    string
		options []pool.Option
		server  []client.Option
		want    string
	}{
		{"the pool's name", nil, nil, "s"},
		{"for all", []pool.Option{pool.WithClientOptions(client.WithName("all"))}, nil, "all"},
		{"for all, twice", []pool.Option{pool.WithClientOptions(client.WithName("all")), pool.WithClientOptions(client.WithName("again"))}, nil, "again"},
		{"for a name", []pool.Option{pool.WithServerOptions(byName), pool.WithClientOptions(client.WithName("all"))}, nil, "by name: s"},
		{
			"for a server",
			[]pool.Option{pool.WithServerOptions(byName), pool.WithClientOptions(client.WithName("all"))},
			[]client.Option{client.WithName("own")},
			"own",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := serverAt("s", toolServer(t, "s", "one").Transport())
				server.Options = tt.server
				p, err := pool.Open(t.Context(), []pool.Server{server}, tt.options...)
				require.NoError(t, err)
				defer func() { require.NoError(t, p.Close()) }()
				c, err := p.Client("s")
				require.NoError(t, err)
				require.Equal(t, tt.want, c.Health().Server)
			})
		})
	}
}

// A name that cannot be shown is refused before anything is started.
func TestNamesThatCannotBeShown(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a\nb", "\x1b[31mred", strings.Repeat("x", 101)} {
		_, err := pool.Open(t.Context(), []pool.Server{{Name: name, Err: errors.New("never tried")}})
		require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err), "%q", name)
		require.ErrorContains(t, err, "WithName")
	}
}
