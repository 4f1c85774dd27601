package catalog

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/client/internal/core"
	"github.com/mainstay-mcp/mainstay/client/internal/event"
	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/lists"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

type testConn struct{ transport.Conn }

func (testConn) Traits() transport.Traits { return transport.Traits{Exchanges: true} }

// server has the tools of a test, and counts the requests.
type server struct {
	tools []mcp.Tool
	fail  error
	asked int
}

func (s *server) page(context.Context, *transport.Caller, *string) (PageResult, error) {
	if s.asked++; s.fail != nil {
		return PageResult{}, s.fail
	}
	return PageResult{ListToolsResult: &mcp.ListToolsResult{Tools: append([]mcp.Tool(nil), s.tools...)}, Size: 1}, nil
}

func tool(name, input string) mcp.Tool {
	return mcp.Tool{Name: name, InputSchema: json.RawMessage(input)}
}

func testCatalog(t *testing.T, s *server, set func(*Config)) *View {
	t.Helper()
	kept, err := cache.New(toolcache.Settings{ExactTTL: true})
	require.NoError(t, err)
	k := &core.Core{Log: slog.New(slog.DiscardHandler), Emit: func(event.Event) {}}
	k.Links.Use(testConn{})
	k.Links.Agree(&link.Agreement{Version: mcp.Version2026_07_28, Era: mcp.EraStateless})
	k.Life.Begin()
	t.Cleanup(k.Life.End)
	cfg := Config{
		Lists: lists.New(k, lists.Config{
			Kept: kept, Declared: func(mcp.Version) (caps mcp.ClientCapabilities) { return caps },
		}),
		Arguments: Strict, Results: Strict, Eager: true, Page: s.page,
	}
	if set != nil {
		set(&cfg)
	}
	view := New(k, cfg).For(nil)
	return &view
}

const (
	wantsA = `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`
	wantsB = `{"type":"object","properties":{"b":{"type":"integer"}},"required":["b"]}`
)

// A stale list rejects no call, and neither does a list that is not available.
func TestCheckArguments(t *testing.T) {
	t.Parallel()
	down := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, "down", nil)
	for name, tt := range map[string]struct {
		now   string // the server's schema after the first list had wantsA
		fail  error
		args  string
		set   func(*Config)
		code  mcperrors.Code // empty if the call is sent
		asked int            // requests after the first list
	}{
		"fits":                       {now: wantsA, args: `{"a":1}`},
		"fits the old schema":        {now: wantsB, args: `{"a":1}`},
		"fits the new schema":        {now: wantsB, args: `{"b":1}`, asked: 1},
		"fits neither":               {now: wantsB, args: `{"c":1}`, code: mcperrors.CodeInvalidRequest, asked: 1},
		"the list cannot be had":     {fail: down, args: `{"c":1}`, asked: 1},
		"a warning":                  {now: wantsA, args: `{}`, set: func(c *Config) { c.Arguments = Warn }, asked: 1},
		"off":                        {now: wantsA, args: `{}`, set: func(c *Config) { c.Arguments = Off }},
		"a null that nobody takes":   {now: wantsA, args: `{"a":1,"b":null}`},
		"a schema that is no schema": {now: `{"type":7}`, args: `{"b":1}`, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &server{tools: []mcp.Tool{tool("x", wantsA)}}
				c := testCatalog(t, s, tt.set)
				require.NoError(t, c.Preload(t.Context()))
				time.Sleep(time.Minute) // the list is recent, so it is not fetched again
				s.tools, s.fail, s.asked = []mcp.Tool{tool("x", tt.now)}, tt.fail, 0
				_, repaired, err := c.CheckArguments(t.Context(), "x", json.RawMessage(tt.args), false)
				require.Empty(t, repaired)
				require.Equal(t, tt.code, mcperrors.CodeOf(err), "%v", err)
				require.Equal(t, tt.asked, s.asked)
			})
		})
	}
}

// A name that is not listed is looked up once, unless the client does not fetch lists
// automatically; then the server decides.
func TestCheckUnlisted(t *testing.T) {
	t.Parallel()
	s := &server{tools: []mcp.Tool{tool("x", wantsA)}}
	c := testCatalog(t, s, nil)
	_, _, err := c.CheckArguments(t.Context(), "y", nil, false)
	require.Equal(t, mcperrors.CodeToolNotFound, mcperrors.CodeOf(err))
	known, _, err := c.CheckArguments(t.Context(), "x", json.RawMessage(`{"a":1}`), false)
	require.NoError(t, err)
	require.True(t, known.Listed)

	c = testCatalog(t, s, func(c *Config) { c.Eager = false })
	known, _, err = c.CheckArguments(t.Context(), "y", nil, false)
	require.NoError(t, err)
	require.False(t, known.Listed)
}

func TestCheckDropsNulls(t *testing.T) {
	t.Parallel()
	s := &server{tools: []mcp.Tool{tool("x", `{"type":"object","properties":{"a":{"type":"integer"}}}`)}}
	c := testCatalog(t, s, func(c *Config) { c.DropNulls = true })
	_, repaired, err := c.CheckArguments(t.Context(), "x", json.RawMessage(`{"a":null}`), false)
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(repaired))
}

func TestCheckPin(t *testing.T) {
	t.Parallel()
	x := tool("x", wantsA)
	for name, tt := range map[string]struct {
		pins    map[string]string
		block   bool
		blocked bool
	}{
		"no pin":          {nil, true, false},
		"the pinned one":  {map[string]string{"x": x.Fingerprint()}, true, false},
		"another":         {map[string]string{"x": "sha256:00"}, true, true},
		"another, a word": {map[string]string{"x": "sha256:00"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testCatalog(t, &server{tools: []mcp.Tool{x}}, func(c *Config) { c.Pins, c.Block = tt.pins, tt.block })
			mismatch, err := c.CheckPin(t.Context(), "x")
			require.NoError(t, err)
			require.Equal(t, tt.blocked, mismatch != nil)
		})
	}
}

// Later calls use the list of a complete walk of the application, not of a part.
func TestWalkLearns(t *testing.T) {
	t.Parallel()
	next := "2"
	for name, tt := range map[string]struct {
		learn   bool
		cursors []*string
		want    bool
	}{
		"whole":                 {true, []*string{nil, &next}, true},
		"the caller's alone":    {false, []*string{nil, &next}, false},
		"without its end":       {true, []*string{nil}, false},
		"without its beginning": {true, []*string{&next}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testCatalog(t, &server{}, nil)
			w := c.Walk(tt.learn)
			for _, cursor := range tt.cursors {
				res := &mcp.ListToolsResult{Tools: []mcp.Tool{tool("b", wantsB)}}
				if cursor == nil {
					res = &mcp.ListToolsResult{Tools: []mcp.Tool{tool("a", wantsA)}, NextCursor: &next}
				}
				w.Page(cursor, res)
			}
			require.Equal(t, tt.want, c.Last("b").Listed)
		})
	}
}

// Headers of a tool that was never listed cause one request, and another one if the server
// rejects them.
func TestHeaders(t *testing.T) {
	t.Parallel()
	repeats := `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}`
	params := []byte(`{"name":"x","arguments":{"a":"v"}`)
	s := &server{tools: []mcp.Tool{tool("x", repeats)}}
	c := testCatalog(t, s, nil)
	c.Lists.Links.Agree(&link.Agreement{
		Version: mcp.Version2026_07_28, Era: mcp.EraStateless, Declared: true,
		Capabilities: mcp.ServerCapabilities{Tools: &mcp.ListChangedCapability{}},
	})
	_, unlisted, err := c.Headers("x", params)
	require.NoError(t, err)
	require.True(t, unlisted)
	found, err := c.FindHeaders(t.Context(), "x", params)
	require.NoError(t, err)
	require.Equal(t, []transport.Param{{Name: "A", Value: "v"}}, found.Params)

	same, changed := c.RenewHeaders(t.Context(), "x", params, found)
	require.False(t, changed, "the same headers would be refused again")
	s.tools = []mcp.Tool{tool("x", `{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"B"}}}`)}
	other, changed := c.RenewHeaders(t.Context(), "x", params, same)
	require.True(t, changed)
	require.Equal(t, []transport.Param{{Name: "B", Value: "v"}}, other.Params)

	_, unlisted, err = c.Headers("y", params)
	require.NoError(t, err)
	require.True(t, unlisted)
	_, unlisted, err = c.Headers("y", params)
	require.NoError(t, err)
	require.False(t, unlisted, "once")
}
