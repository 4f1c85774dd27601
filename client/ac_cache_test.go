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
var exactly = client.WithCache(client.CacheConfig{Settings: toolcache.Settings{ExactTTL: true}})

// inBubble runs f with a client of a fake server, in virtual time.
func inBubble(t *testing.T, f func(t *testing.T, c *client.Client, s *fakeServer), opts ...client.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		c, err := client.Connect(t.Context(), tr, pinned(opts)...)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) }) // also when f gives up: or the bubble ends the whole run
		f(t, c, s)
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

// By calls: a call within the time to live uses the list that there is, one after
// it is checked against a new one (which is there by the call's end, or soon
// after). Not parallel: it sets the environment.
func TestAC_004_2_TTLFromEnvironment(t *testing.T) {
	for _, tt := range []struct {
		env  string
		opts []client.Option
		ttl  time.Duration
	}{
		{"", nil, 5 * time.Minute},
		{"1000", nil, time.Second},
		{"300000", nil, 5 * time.Minute},
		{"2m", nil, 2 * time.Minute},
		{"1h30m", nil, 90 * time.Minute},
		{"2m", []client.Option{client.WithCache(client.CacheConfig{Settings: toolcache.Settings{TTL: time.Hour}})}, time.Hour},
	} {
		t.Run(tt.env, func(t *testing.T) {
			t.Setenv("MCP_TOOL_CACHE_TTL", tt.env)
			inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
				c := s.connected(t, append(tt.opts, exactly)...)
				use := func() int {
					_, err := c.CallTool(t.Context(), "echo", nil)
					require.NoError(t, err)
					getSchema(t, c, "echo")
					synctest.Wait() // a refresh may go on behind the call
					return s.count("tools/list")
				}
				time.Sleep(tt.ttl - time.Millisecond) // connecting took no time
				require.Equal(t, 1, use(), "%q: fresh until then", tt.env)
				time.Sleep(2 * time.Millisecond)
				require.Equal(t, 2, use(), "%q: stale from then on", tt.env)
				require.Equal(t, 2, use(), "%q: and fresh again", tt.env)
			})
			// Without ExactTTL up to a tenth is cut off, so that processes that
			// were started together do not ask together; never is anything added.
			inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
				c := s.connected(t, tt.opts...)
				time.Sleep(tt.ttl * 8 / 10)
				getSchema(t, c, "echo")
				require.Equal(t, 1, s.count("tools/list"))
				time.Sleep(tt.ttl*2/10 + time.Millisecond)
				getSchema(t, c, "echo")
				synctest.Wait()
				require.Equal(t, 2, s.count("tools/list"))
			})
		})
	}
	t.Setenv("MCP_TOOL_CACHE_TTL", "0")
	inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
		c := s.connected(t)
		for n := range 3 {
			getSchema(t, c, "echo")
			require.Equal(t, n+2, s.count("tools/list"), "0 asks every time")
		}
	})
	for _, bad := range []string{"abc", "-1", "-5s", "5 minutes", "1e3"} {
		t.Setenv("MCP_TOOL_CACHE_TTL", bad)
		synctest.Test(t, func(t *testing.T) {
			s := newSeedServer(overPipe)
			defer s.stop()
			_, err := s.connect(t)
			require.ErrorContains(t, err, "MCP_TOOL_CACHE_TTL", bad)
			require.ErrorContains(t, err, bad)
			require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err))
			require.Empty(t, s.heard(), "nothing is sent")
		})
	}
}

// The client fetches an expired list again, once, beside the call that finds it
// expired. This holds for programs that only call tools as well as for lookups. The
// tools that the server offers by then count from there on.
func TestAC_004_3_RefreshOnExpiry(t *testing.T) {
	t.Parallel()
	inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
		c := s.connected(t, exactly)
		call := func(tool string) error {
			_, err := c.CallTool(t.Context(), tool, nil)
			return err
		}
		s.on("tools/list", func(json.RawMessage) any { return toolList("echo", "added") })
		time.Sleep(5*time.Minute - time.Millisecond)
		require.NoError(t, call("echo"))
		require.Equal(t, 1, s.count("tools/list"), "one instant before")
		time.Sleep(2 * time.Millisecond)
		require.Equal(t, 1, s.count("tools/list"), "nobody asked, nothing was fetched")
		if s.over != overPipe { // which does one thing after the other
			s.takes("tools/list", 3*time.Second)
		}
		began := time.Now()
		var work sync.WaitGroup
		for range 100 {
			work.Go(func() {
				if err := call("echo"); err != nil {
					t.Errorf("call: %v", err)
				}
			})
		}
		work.Wait()
		require.Zero(t, time.Since(began), "no call waits for the list")
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Equal(t, 2, s.count("tools/list"), "exactly one")
		getSchema(t, c, "added")
		require.NoError(t, call("added"))
		require.Equal(t, 2, s.count("tools/list"), "and the new tool is there")

		s.takes("tools/list", 0)
		s.on("tools/list", func(json.RawMessage) any { return toolList("added") })
		time.Sleep(5 * time.Minute)
		require.NoError(t, call("added"))
		synctest.Wait()
		require.Equal(t, 3, s.count("tools/list"))
		before := s.count("tools/call")
		require.Equal(t, mcperrors.CodeToolNotFound, mcperrors.CodeOf(call("echo")), "a tool that is gone disappears")
		require.Equal(t, before, s.count("tools/call"))

		s.on("tools/list", func(json.RawMessage) any { return toolList("echo") })
		time.Sleep(5 * time.Minute)
		lists := s.count("tools/list")
		getSchema(t, c, "echo")
		require.Equal(t, lists+1, s.count("tools/list"), "a lookup refreshes, too")
	})
}

func TestAC_004_4_GetToolSchemaRefreshesOnceForUnknownNames(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		_, err := c.GetToolSchema(t.Context(), "nope")
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, mcperrors.CodeToolNotFound, e.Code)
		require.Equal(t, "Unknown tool: nope", e.Message)
		require.Equal(t, mcperrors.NotSent, e.Delivery)
		require.Equal(t, 2, s.count("tools/list"))

		_, err = c.CallTool(t.Context(), "nope", nil)
		require.Equal(t, mcperrors.CodeToolNotFound, mcperrors.CodeOf(err))
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

		// A thousand notices cost one fetch, when somebody asks.
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

// The eight tools of phase 1, on two pages: after connecting, each
// has its own schema, calls are checked against it, and no further list is asked
// for.
func TestAC_004_6_AllPhase1ToolsAreCached(t *testing.T) {
	t.Parallel()
	schema := func(tool string) string {
		return fmt.Sprintf(`{"type":"object","properties":{"only_%[1]s":{"type":"string"}},"required":["only_%[1]s"],"additionalProperties":false}`, tool)
	}
	page := func(next string, names ...string) json.RawMessage {
		var tools []string
		for _, name := range names {
			tools = append(tools, fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":%s}`, name, "does "+name, schema(name)))
		}
		return json.RawMessage(`{"tools":[` + strings.Join(tools, ",") + `]` + next + `}`)
	}
	inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
		s.on("tools/list", func(params json.RawMessage) any {
			if strings.Contains(string(params), `"cursor":"2"`) {
				return page("", phase1[4:]...)
			}
			return page(`,"nextCursor":"2"`, phase1[:4]...)
		})
		c := s.connected(t)
		require.Equal(t, 2, s.count("tools/list"), "two pages")
		before := len(s.heard())
		for _, name := range phase1 {
			tool, err := c.GetToolSchema(t.Context(), name)
			require.NoError(t, err)
			require.Equal(t, name, tool.Name)
			require.Equal(t, "does "+name, tool.Description)
			require.JSONEq(t, schema(name), string(tool.InputSchema))
		}
		require.Len(t, s.heard(), before, "no request for the eight")
		for _, name := range phase1 {
			_, err := c.CallTool(t.Context(), name, map[string]any{"only_" + name: "x"})
			require.NoError(t, err)
		}
		require.Len(t, s.heard(), before+len(phase1), "a request for each call, and no other")
		for _, name := range phase1 {
			_, err := c.CallTool(t.Context(), name, map[string]any{"only_echo": "x"})
			require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err), "checked against its own schema")
		}
		require.Equal(t, len(phase1), s.count("tools/call"), "what does not fit is not sent")
	})
}

// A hundred readers at expiry share one fetch.
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
		{"wrong type", map[string]any{"message": 1}, `"message" must be a string, got an integer`},
		{"missing", map[string]any{}, `"message" is required`},
		{"none", nil, `"message" is required`},
		{"misspelt", map[string]any{"mesage": "x"}, `did you mean message?`},
		{"no object", json.RawMessage(`[1]`), "must be a JSON object"},
		{"no JSON", json.RawMessage(`{"message":`), "cannot be encoded"},
		{"not encodable", map[string]any{"message": make(chan int)}, "cannot be encoded"},
	} {
		_, err := c.CallTool(ctx, "echo", tt.args)
		var e *mcperrors.Error
		require.ErrorAs(t, err, &e, tt.name)
		require.Equal(t, mcperrors.CodeInvalidRequest, e.Code, tt.name)
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

// A changed schema refuses no call: arguments that do not match are checked again
// against the server's current list, with or without a notification of the change.
func TestChangedSchemaRefusesNobody(t *testing.T) {
	t.Parallel()
	for name, stale := range map[string]func(c *client.Client, s *fakeServer){
		"list_changed": func(_ *client.Client, s *fakeServer) {
			s.notify("notifications/tools/list_changed", "{}")
			synctest.Wait()
		},
		"expiry":     func(*client.Client, *fakeServer) { <-time.After(5 * time.Minute) },
		"invalidate": func(c *client.Client, _ *fakeServer) { c.InvalidateTools() },
		"nothing":    func(*client.Client, *fakeServer) {},
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
				require.Equal(t, 2, s.count("tools/list"), "a list that was just confirmed is believed")
				require.Equal(t, 1, s.count("tools/call"))
			})
		})
	}
}

// Names that a model makes up do not make the client list the tools each time: an
// answer that suggests an old list counts once in 10 s.
func TestUnknownToolAnswersDoubtTheListNowAndThen(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
		s.on("tools/call", func(jsonrpc.Request) any { return jsonrpc.NewError(-32602, "Unknown tool: echo", nil) })
		for range 20 {
			_, err := c.CallTool(t.Context(), "echo", hello)
			require.Equal(t, mcperrors.CodeToolNotFound, mcperrors.CodeOf(err))
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
