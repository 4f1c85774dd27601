package client_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// phase1 is what the seed's server offers.
var phase1 = []string{
	"convert_pdf", "convert_docx", "convert_xlsx", "convert_pptx", "convert_url",
	"export_markdown", "export_html", "export_json",
}

func toolList(names ...string) json.RawMessage {
	tools := make([]string, len(names))
	for i, name := range names {
		tools[i] = fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, name)
	}
	return json.RawMessage(`{"tools":[` + strings.Join(tools, ",") + `]}`)
}

// exactly keeps times to live as they are: else up to a tenth is cut off.
var exactly = client.WithToolCacheSettings(toolcache.Settings{ExactTTL: true})

// inBubble runs f with a client of a fake server, in virtual time.
func inBubble(t *testing.T, f func(t *testing.T, c *client.Client, s *fakeServer), opts ...client.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		c, err := client.Connect(t.Context(), tr, pinned(opts)...)
		require.NoError(t, err)
		f(t, c, s)
		require.NoError(t, c.Close())
	})
}

func getSchema(t *testing.T, c *client.Client, name string) {
	t.Helper()
	_, err := c.GetToolSchema(t.Context(), name)
	require.NoError(t, err)
}

func TestAC_004_1_SchemasAreCachedInMemory(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		for range 100 {
			getSchema(t, c, "echo")
		}
		require.Equal(t, 1, s.count("tools/list"))
	})
}

// Not parallel: it sets the environment.
func TestAC_004_2_TTLFromEnvironment(t *testing.T) {
	tests := []struct {
		env  string
		opts []client.Option
		ttl  time.Duration
	}{
		{"", nil, 5 * time.Minute},
		{"1000", nil, time.Second},
		{"2m", nil, 2 * time.Minute},
		{"2m", []client.Option{client.WithToolCacheTTL(time.Hour)}, time.Hour},
	}
	for _, tt := range tests {
		t.Setenv("MCP_TOOL_CACHE_TTL", tt.env)
		inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
			time.Sleep(tt.ttl - time.Nanosecond)
			getSchema(t, c, "echo")
			require.Equal(t, 1, s.count("tools/list"), "%q: fresh until then", tt.env)
			time.Sleep(time.Nanosecond)
			getSchema(t, c, "echo")
			require.Equal(t, 2, s.count("tools/list"), "%q: stale from then on", tt.env)
		}, append(tt.opts, exactly)...)
	}
	t.Setenv("MCP_TOOL_CACHE_TTL", "0")
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		getSchema(t, c, "echo")
		getSchema(t, c, "echo")
		require.Equal(t, 3, s.count("tools/list"), "0 asks every time")
	})
	t.Setenv("MCP_TOOL_CACHE_TTL", "abc")
	tr, _ := newFake(t)
	_, err := client.Connect(t.Context(), tr, sessionEra)
	require.ErrorContains(t, err, "MCP_TOOL_CACHE_TTL")
	require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err))
}

func TestAC_004_3_RefreshOnExpiry(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		s.on("tools/list", func(jsonrpc.Request) any { return toolList("echo", "added") })
		time.Sleep(5*time.Minute - time.Nanosecond)
		getSchema(t, c, "echo")
		require.Equal(t, 1, s.count("tools/list"), "one instant before")
		time.Sleep(time.Nanosecond)
		require.Equal(t, 1, s.count("tools/list"), "nobody asked, nothing was fetched")
		getSchema(t, c, "echo")
		require.Equal(t, 2, s.count("tools/list"), "exactly one")
		getSchema(t, c, "added")
		require.Equal(t, 2, s.count("tools/list"))

		s.on("tools/list", func(jsonrpc.Request) any { return toolList("added") })
		time.Sleep(5 * time.Minute)
		_, err := c.GetToolSchema(t.Context(), "echo")
		require.Equal(t, mcperrors.E204, mcperrors.CodeOf(err), "a tool that is gone disappears")
	}, exactly)
}

func TestAC_004_4_GetToolSchemaRefreshesOnceForUnknownNames(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		_, err := c.GetToolSchema(t.Context(), "nope")
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, mcperrors.E204, e.Code)
		require.Equal(t, "Unknown tool: nope", e.Message)
		require.Equal(t, mcperrors.NotSent, e.Delivery)
		require.Equal(t, 2, s.count("tools/list"))

		_, err = c.CallTool(t.Context(), "nope", nil)
		require.Equal(t, mcperrors.E204, mcperrors.CodeOf(err))
		require.Equal(t, 2, s.count("tools/list"), "not again within a second")
		require.Zero(t, s.count("tools/call"), "and the call is not sent")

		time.Sleep(time.Second)
		s.on("tools/list", func(jsonrpc.Request) any { return toolList("echo", "nope") })
		getSchema(t, c, "nope")
		require.Equal(t, 3, s.count("tools/list"))
	})
}

func TestAC_004_5_Invalidation(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		c.InvalidateTools()
		getSchema(t, c, "echo")
		require.Equal(t, 2, s.count("tools/list"))

		// A thousand notices cost one fetch, when somebody asks (CHG-02).
		for range 1000 {
			s.notify("notifications/tools/list_changed", "{}")
		}
		synctest.Wait()
		require.Equal(t, 2, s.count("tools/list"))
		getSchema(t, c, "echo")
		getSchema(t, c, "echo")
		require.Equal(t, 3, s.count("tools/list"))
	})
}

func TestAC_004_6_AllPhase1ToolsAreCached(t *testing.T) {
	t.Parallel()
	tr, s := newFake(t)
	s.on("tools/list", func(req jsonrpc.Request) any { // two pages (S2-INIT-10)
		if strings.Contains(string(req.Params), `"cursor":"2"`) {
			return toolList(phase1[4:]...)
		}
		first := string(toolList(phase1[:4]...))
		return json.RawMessage(strings.TrimSuffix(first, "}") + `,"nextCursor":"2"}`)
	})
	c, err := client.Connect(t.Context(), tr, sessionEra)
	require.NoError(t, err)
	for _, name := range phase1 {
		getSchema(t, c, name)
	}
	require.Equal(t, 2, s.count("tools/list"))
	require.NoError(t, c.Close())
}

// A hundred readers at expiry share one fetch (S2-CACHE-06).
func TestConcurrentRefreshIsOneRequest(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		s.on("tools/list", func(jsonrpc.Request) any {
			time.Sleep(time.Second)
			return toolList("echo")
		})
		c.InvalidateTools()
		var work sync.WaitGroup
		for range 100 {
			work.Go(func() {
				if _, err := c.GetToolSchema(t.Context(), "echo"); err != nil {
					t.Errorf("get: %v", err)
				}
			})
		}
		work.Wait()
		require.Equal(t, 2, s.count("tools/list"))
	})
}

// Arguments are checked before anything is sent; every digit of what is sent
// stays.
func TestArgumentsAreCheckedBeforeSending(t *testing.T) {
	t.Parallel()
	c, s := connected(t)
	ctx := t.Context()
	for _, tt := range []struct {
		name     string
		args     any
		contains string
	}{
		{"wrong type", map[string]any{"message": 1}, "/properties/message"},
		{"missing", map[string]any{}, "message"},
		{"none", nil, "message"},
		{"misspelt", map[string]any{"mesage": "x"}, `did you mean "message"?`},
		{"no object", json.RawMessage(`[1]`), "must be a JSON object"},
		{"no JSON", json.RawMessage(`{"message":`), "cannot be encoded"},
		{"not encodable", map[string]any{"message": make(chan int)}, "cannot be encoded"},
	} {
		_, err := c.CallTool(ctx, "echo", tt.args)
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e, tt.name)
		require.Equal(t, mcperrors.E203, e.Code, tt.name)
		require.Equal(t, mcperrors.KindInvalidArguments, e.Kind, tt.name)
		require.Equal(t, mcperrors.NotSent, e.Delivery, tt.name)
		require.Contains(t, e.Error(), tt.contains, tt.name)
	}
	require.Zero(t, s.count("tools/call"))

	res, err := c.CallTool(ctx, "echo", json.RawMessage("{\n \"message\": \"a\",\n \"n\": 9007199254740993 }"))
	require.NoError(t, err)
	require.Contains(t, res.Text(), "9007199254740993")
	_, err = c.CallTool(ctx, "echo", map[string]any{"message": 1}, client.WithoutValidation())
	require.NoError(t, err)
	require.Equal(t, 2, s.count("tools/call"))
}

// A schema that has changed refuses nobody: what does not fit a list that is
// not fresh is judged again by a fresh one.
func TestChangedSchemaRefusesNobody(t *testing.T) {
	t.Parallel()
	for name, stale := range map[string]func(c *client.Client, s *fakeServer){
		"list_changed": func(_ *client.Client, s *fakeServer) {
			s.notify("notifications/tools/list_changed", "{}")
			synctest.Wait()
		},
		"expiry":     func(*client.Client, *fakeServer) { <-time.After(5 * time.Minute) },
		"invalidate": func(c *client.Client, _ *fakeServer) { c.InvalidateTools() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
				s.result("tools/list", `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}`)
				stale(c, s)
				_, err := c.CallTool(t.Context(), "echo", map[string]any{"text": "fits the new one"})
				require.NoError(t, err)
				require.Equal(t, 2, s.count("tools/list"))
				_, err = c.CallTool(t.Context(), "echo", hello)
				require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err))
				require.Equal(t, 2, s.count("tools/list"), "a fresh list is believed")
				require.Equal(t, 1, s.count("tools/call"))
			})
		})
	}
}

// Names that a model makes up do not make the client list the tools each time:
// an answer that smells of an old list counts once in 10 s (decisions 28).
func TestUnknownToolAnswersDoubtTheListNowAndThen(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		s.on("tools/call", func(jsonrpc.Request) any { return jsonrpc.NewError(-32602, "Unknown tool: echo", nil) })
		for range 20 {
			_, err := c.CallTool(t.Context(), "echo", hello)
			require.Equal(t, mcperrors.E204, mcperrors.CodeOf(err))
			getSchema(t, c, "echo")
		}
		require.Equal(t, 2, s.count("tools/list"))
		time.Sleep(10 * time.Second)
		_, err := c.CallTool(t.Context(), "echo", hello)
		require.Error(t, err)
		getSchema(t, c, "echo")
		require.Equal(t, 3, s.count("tools/list"))
	})
}
