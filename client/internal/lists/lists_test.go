package lists

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

type noConn struct{ transport.Conn }

func (noConn) Traits() (t transport.Traits) { return t }

// testCache returns a cache of a stateless server.
func testCache(t *testing.T) *Cache {
	t.Helper()
	kept, err := cache.New(toolcache.Settings{ExactTTL: true})
	require.NoError(t, err)
	c := New(&core.Core{Log: slog.New(slog.DiscardHandler)}, Config{
		Scope: Scope{server: "srv"}, Kept: kept,
		Declared: func(mcp.Version) (caps mcp.ClientCapabilities) { return caps },
	})
	c.Life.Begin()
	t.Cleanup(c.Life.End)
	c.Links.Use(noConn{})
	c.Links.Agree(&link.Agreement{Version: mcp.Version2026_07_28, Era: mcp.EraStateless})
	return c
}

// testTransport has all methods that a scope uses.
type testTransport struct {
	transport.Transport
	scope  string
	differ bool
}

func (*testTransport) String() string                      { return "test" }
func (*testTransport) Identity() string                    { return "identity" }
func (t *testTransport) Scope() (scope string, known bool) { return t.scope, t.scope != "" }

type callerKey struct{}

func (t *testTransport) Callers() func(ctx context.Context) *transport.Caller {
	if !t.differ {
		return nil
	}
	return func(ctx context.Context) *transport.Caller {
		name, _ := ctx.Value(callerKey{}).(string)
		if name == "unknown" {
			return &transport.Caller{Err: errors.New("no credentials")}
		}
		return &transport.Caller{Name: name}
	}
}

func TestScope(t *testing.T) {
	t.Parallel()
	named := "named"
	for name, tt := range map[string]struct {
		transport *testTransport
		sharing   Sharing
		caller    string
		want      string // the partition; "!" an error
	}{
		"one client's own":            {&testTransport{scope: "digest"}, Sharing{}, "", ""},
		"shared by clients":           {&testTransport{scope: "digest"}, Sharing{Clients: true}, "", "digest"},
		"durable":                     {&testTransport{scope: "digest"}, Sharing{Durable: true}, "", "digest"},
		"shared, unknown credentials": {&testTransport{}, Sharing{Clients: true}, "", ""},
		"durable, unknown":            {&testTransport{}, Sharing{Durable: true}, "", "!"},
		"durable, unknown, named":     {&testTransport{}, Sharing{Durable: true, Partition: &named}, "", "named"},
		"a caller":                    {&testTransport{differ: true}, Sharing{}, "ann", "\x00ann"},
		"a caller, shared":            {&testTransport{scope: "digest", differ: true}, Sharing{Clients: true}, "ann", "digest\x00ann"},
		"a caller, named":             {&testTransport{differ: true}, Sharing{Partition: &named}, "ann", "named"},
		"a caller without a name":     {&testTransport{differ: true}, Sharing{}, "unknown", "\x00nobody"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scope, err := NewScope(tt.transport, tt.sharing)
			if tt.want == "!" {
				require.ErrorContains(t, err, "needs a Partition")
				return
			}
			require.NoError(t, err)
			c := testCache(t)
			c.Scope = scope
			key := c.Key(c.Ask(context.WithValue(t.Context(), callerKey{}, tt.caller), 0))
			require.Equal(t, "identity", key.Server)
			require.Equal(t, tt.want, key.Partition)
		})
	}
}

// A key depends on the revision and the declared capabilities, and is created once per agreement.
func TestKeyOfAnAgreement(t *testing.T) {
	t.Parallel()
	c, made := testCache(t), 0
	var caps mcp.ClientCapabilities
	c.Declared = func(mcp.Version) mcp.ClientCapabilities { made++; return caps }
	a := &link.Agreement{Version: mcp.Version2025_11_25}
	first := c.AgreedKey(a)
	require.Equal(t, first, c.AgreedKey(a))
	require.Equal(t, 1, made)
	require.NotEqual(t, first, c.AgreedKey(&link.Agreement{Version: mcp.Version2026_07_28}))
	require.Equal(t, first, c.AgreedKey(&link.Agreement{Version: mcp.Version2025_11_25}))
	caps.Sampling = &mcp.SamplingCapability{}
	require.NotEqual(t, first, c.AgreedKey(&link.Agreement{Version: mcp.Version2025_11_25}))
}

func TestMark(t *testing.T) {
	t.Parallel()
	of := func(code mcperrors.Code, kind mcperrors.Kind) error {
		return mcperrors.New(code, kind, mcperrors.Answered, "no", nil)
	}
	for name, tt := range map[string]struct {
		err  error
		want error // nil means unchanged
	}{
		"closed":           {of(mcperrors.CodeUnavailable, mcperrors.KindClosed), cache.ErrFetcherGone},
		"credentials":      {of(mcperrors.CodeUnavailable, mcperrors.KindAuth), cache.ErrRefused},
		"no such method":   {of(mcperrors.CodeToolNotFound, mcperrors.KindUnsupported), cache.ErrAbsent},
		"no capability":    {of(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported), cache.ErrAbsent},
		"501 of a gateway": {of(mcperrors.CodeUnavailable, mcperrors.KindUnsupported), nil},
		"another":          {of(mcperrors.CodeUnavailable, mcperrors.KindServer), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Mark(tt.err)
			require.ErrorIs(t, got, tt.err)
			if tt.want == nil {
				require.Equal(t, tt.err, got)
			} else {
				require.ErrorIs(t, got, tt.want)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	status := func(code int) error {
		return &mcperrors.Error{Kind: mcperrors.KindServer, HTTP: &mcperrors.HTTPEvidence{Status: code}}
	}
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"timeout":      {&mcperrors.Error{Kind: mcperrors.KindTimeout}, true},
		"circuit open": {&mcperrors.Error{Kind: mcperrors.KindCircuitOpen}, true},
		"session lost": {&mcperrors.Error{Kind: mcperrors.KindSessionLost}, true},
		"429":          {status(429), true},
		"502":          {status(502), true},
		"404":          {status(404), false},
		"an answer":    {&mcperrors.Error{Kind: mcperrors.KindServer, RPC: &jsonrpc.Error{}}, false},
		"credentials":  {&mcperrors.Error{Kind: mcperrors.KindAuth}, false},
	} {
		require.Equal(t, tt.want, Unreachable(tt.err), name)
	}
}

// asking answers requests for prompts and counts them.
type asking struct {
	sent   int
	answer string
	own    bool
	err    error
}

func (a *asking) request(into *mcp.ListPromptsResult) *Request {
	return &Request{
		Method: mcp.MethodPromptsList, Into: into,
		Decode: func(raw json.RawMessage) error { return mcp.Unmarshal(raw, into) },
		Send: func(context.Context) (json.RawMessage, bool, error) {
			a.sent++
			return json.RawMessage(a.answer), a.own, a.err
		},
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	const kept = `{"prompts":[{"name":"p"}],"ttlMs":60000}`
	for name, tt := range map[string]struct {
		answer asking
		change func(c *Cache)
		after  time.Duration
		sent   int // requests sent for two reads
	}{
		"kept":                 {asking{answer: kept}, nil, 0, 1},
		"expired":              {asking{answer: kept}, nil, 2 * time.Minute, 2},
		"without a time":       {asking{answer: `{"prompts":[{"name":"p"}]}`}, nil, 0, 2},
		"for this caller only": {asking{answer: kept, own: true}, nil, 0, 2},
		"changed": {asking{answer: kept}, func(c *Cache) {
			c.Changed(jsonrpc.Notification{Method: mcp.MethodPromptsListChanged})
		}, 2 * time.Second, 2},
		"another list changed": {asking{answer: kept}, func(c *Cache) {
			c.Changed(jsonrpc.Notification{Method: mcp.MethodResourcesListChanged})
		}, 0, 1},
		"cleared": {asking{answer: kept}, func(c *Cache) { c.Clear() }, 0, 2},
		"another revision": {asking{answer: kept}, func(c *Cache) {
			c.Links.Agree(&link.Agreement{Version: "2027-01-01", Era: mcp.EraStateless})
		}, 0, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, a := testCache(t), tt.answer
				for range 2 {
					var res mcp.ListPromptsResult
					size, _, err := c.Answer(t.Context(), a.request(&res))
					require.NoError(t, err)
					require.Equal(t, len(a.answer), size)
					require.Equal(t, "p", res.Prompts[0].Name)
					if tt.change != nil {
						tt.change(c)
					}
					time.Sleep(tt.after)
				}
				require.Equal(t, tt.sent, a.sent)
			})
		})
	}
}

// Each caller gets its own copy of an error, and a list that does not exist is not requested
// again at once.
func TestAnswerFails(t *testing.T) {
	t.Parallel()
	c := testCache(t)
	a := asking{err: mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.Answered, "no", nil)}
	errs := []error{a.err}
	for range 2 {
		_, _, err := c.Answer(t.Context(), a.request(&mcp.ListPromptsResult{}))
		require.Equal(t, mcperrors.CodeMissingCapability, mcperrors.CodeOf(err))
		for _, before := range errs {
			require.NotSame(t, before, err)
		}
		errs = append(errs, err)
	}
	require.Equal(t, 1, a.sent)
}

// Methods without lists are not cached, and in the session era only the list of tools is.
func TestKeeps(t *testing.T) {
	t.Parallel()
	c := testCache(t)
	require.True(t, c.Keeps(mcp.MethodToolsList))
	require.True(t, c.Keeps(mcp.MethodResourcesRead))
	require.False(t, c.Keeps(mcp.MethodDiscover))
	c.Links.Agree(&link.Agreement{Version: mcp.Version2025_11_25, Era: mcp.EraSession})
	require.True(t, c.Keeps(mcp.MethodToolsList))
	require.False(t, c.Keeps(mcp.MethodPromptsList))
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var e Expiry
		require.Nil(t, e.Left())
		minute, hour, negative := int64(60_000), int64(3_600_000), int64(-1)
		e.Note(nil)
		require.Nil(t, e.Left(), "a page that does not say")
		e.Note(&hour)
		time.Sleep(time.Second)
		e.Note(&minute)
		e.Note(&hour)
		require.Equal(t, time.Minute, *e.Left())
		time.Sleep(2 * time.Minute)
		require.Zero(t, *e.Left())
		e.Note(&negative)
		require.Zero(t, *e.Left())
	})
}
