package client_test

import (
	"context"
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
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// numbered answers with a result in which %d is how often it was asked.
func numbered(result string) answerFunc {
	n := 0
	return func(jsonrpc.Request) any {
		n++
		return json.RawMessage(strings.ReplaceAll(result, "%d", fmt.Sprint(n)))
	}
}

const (
	aMinute = `"resultType":"complete","ttlMs":60000,"cacheScope":"private"`
	aRead   = `{` + aMinute + `,"contents":[{"uri":"x:/a","text":"%d"}]}`
)

// readText reads x:/a.
func readText(t testing.TB, c *client.Client, opts ...client.CallOption) string {
	t.Helper()
	res, err := c.ReadResource(t.Context(), "x:/a", opts...)
	require.NoError(t, err)
	return *res.Contents[0].Text
}

// A result that the server lets the client cache is requested once until it expires.
// Nothing is sent meanwhile.
func TestCached_CACHE_02_Fresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := alone(t)
		s.on("resources/read", numbered(aRead))
		s.result("resources/list", `{`+aMinute+`,"resources":[]}`)
		s.result("resources/templates/list", `{`+aMinute+`,"resourceTemplates":[]}`)
		s.result("prompts/list", `{`+aMinute+`,"prompts":[]}`)
		use := func() {
			readText(t, c)
			_, e1 := c.ListResources(t.Context(), nil)
			_, e2 := c.ListResourceTemplates(t.Context(), nil)
			_, e3 := c.ListPrompts(t.Context(), nil)
			require.NoError(t, e1)
			require.NoError(t, e2)
			require.NoError(t, e3)
		}
		use()
		sent := len(s.received())
		use()
		require.Len(t, s.received(), sent)
		time.Sleep(time.Minute)
		require.Len(t, s.received(), sent, "an idle client sends nothing")
		use()
		require.Len(t, s.received(), sent+4)

		// Calls are never kept, whatever they say.
		s.result("tools/call", `{`+aMinute+`,"content":[]}`)
		for range 2 {
			_, err := c.CallTool(t.Context(), "echo", nil)
			require.NoError(t, err)
		}
		require.Len(t, s.of("tools/call"), 2)
	})
}

func TestCached_CACHE_16_Modes(t *testing.T) {
	t.Parallel()
	c, s := alone(t)
	s.on("resources/read", numbered(aRead))
	require.Equal(t, "1", readText(t, c))
	require.Equal(t, "2", readText(t, c, client.WithCacheMode(client.CacheBypass)))
	require.Equal(t, "1", readText(t, c, client.WithCacheMode(client.CacheUse)))
	require.Equal(t, "3", readText(t, c, client.WithCacheMode(client.CacheRefresh)))
	require.Equal(t, "3", readText(t, c))
	require.Equal(t, "4", readText(t, c, client.WithMeta("own", 1)), "what is said in _meta may matter")
	require.Equal(t, "3", readText(t, c))
	// Raw calls are what they say.
	_, err := c.Call(t.Context(), "resources/read", map[string]string{"uri": "x:/a"})
	require.NoError(t, err)
	require.Len(t, s.of("resources/read"), 5)
}

// In the session era nothing says how long.
func TestCached_CACHE_03_SessionEra(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		s.result("initialize", strings.Replace(initResult, `"tools":`, `"resources":{},"tools":`, 1))
		s.on("resources/read", numbered(aRead))
		s.result("tools/list", strings.Replace(oneTool, `{"tools"`, `{"ttlMs":0,"tools"`, 1))
		c, err := client.Connect(t.Context(), tr, client.WithProtocolVersion("2025-11-25"))
		require.NoError(t, err)
		require.Equal(t, "1", readText(t, c))
		require.Equal(t, "2", readText(t, c))
		getSchema(t, c, "echo")
		getSchema(t, c, "echo")
		require.Equal(t, 1, s.count("tools/list"), "ttlMs is ignored")
		require.NoError(t, ignoreClosed(c.Close()))
	})
}

// Decisions 13: the server's ttlMs decides for tools, and the page that goes
// first for the list.
func TestCached_CACHE_10_Tools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := alone(t, exactly)
		s.on("tools/list", func(req jsonrpc.Request) any {
			if strings.Contains(string(req.Params), `"cursor"`) {
				return json.RawMessage(`{"resultType":"complete","ttlMs":1000,"tools":[{"name":"b","inputSchema":{}}]}`)
			}
			return json.RawMessage(`{"resultType":"complete","ttlMs":60000,"tools":[` + aTool + `],"nextCursor":"2"}`)
		})
		c.InvalidateTools()
		getSchema(t, c, "b")
		lists := len(s.of("tools/list"))
		time.Sleep(time.Second - 1)
		getSchema(t, c, "b")
		require.Len(t, s.of("tools/list"), lists)
		time.Sleep(1)
		getSchema(t, c, "b")
		require.Len(t, s.of("tools/list"), lists+2)

		s.result("tools/list", `{"resultType":"complete","ttlMs":0,"tools":[`+aTool+`]}`)
		c.InvalidateTools()
		getSchema(t, c, "echo")
		getSchema(t, c, "echo")
		require.Len(t, s.of("tools/list"), lists+4, "0 asks every time")
	})
}

// A notification invalidates what it names, at once, and nothing else.
func TestCached_CACHE_08_Notices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := statelessPipe(t)
		s.on("resources/read", numbered(aRead))
		s.on("resources/list", numbered(`{`+aMinute+`,"resources":[{"uri":"x:/%d","name":"r"}]}`))
		s.on("prompts/list", numbered(`{`+aMinute+`,"prompts":[{"name":"%d"}]}`))
		state := func() string {
			resources, err := c.ListResources(t.Context(), nil)
			require.NoError(t, err)
			prompts, err := c.ListPrompts(t.Context(), nil)
			require.NoError(t, err)
			return readText(t, c) + " " + resources.Resources[0].URI + " " + prompts.Prompts[0].Name
		}
		require.Equal(t, "1 x:/1 1", state())
		for _, tt := range []struct{ method, params, want string }{
			{"notifications/resources/updated", `{"uri":"x:/other"}`, "1 x:/1 1"},
			{"notifications/resources/updated", `{"uri":"x:/a"}`, "2 x:/1 1"},
			{"notifications/resources/list_changed", `{}`, "2 x:/2 1"},
			{"notifications/prompts/list_changed", `{}`, "2 x:/2 2"},
			{"notifications/tools/list_changed", `{}`, "2 x:/2 2"},
		} {
			for range 3 {
				s.notify(tt.method, tt.params)
			}
			synctest.Wait()
			require.Equal(t, tt.want, state(), tt.method)
		}
		require.NoError(t, ignoreClosed(c.Close()))
	})
}

// What answered a question is the caller's alone.
func TestCached_CACHE_09_Rounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := alone(t, client.WithRoots(mcp.Root{URI: "file:///x"}))
		n := 0
		s.on("resources/read", func(req jsonrpc.Request) any {
			if !strings.Contains(string(req.Params), "inputResponses") {
				time.Sleep(time.Second)
				return json.RawMessage(`{"resultType":"input_required","ttlMs":60000,"inputRequests":{"r":{"method":"roots/list"}}}`)
			}
			n++
			return json.RawMessage(strings.ReplaceAll(aRead, "%d", fmt.Sprint(n)))
		})
		require.Equal(t, "1", readText(t, c))
		require.Equal(t, "2", readText(t, c))
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { _, _ = c.ReadResource(t.Context(), "x:/a") })
		}
		wg.Wait()
		require.Equal(t, 4, n, "nor is it another's who asked meanwhile")
	})
}

// What is asked for with an answer or a state is asked for that once: it is not
// answered from the cache, nor kept.
func TestCached_CACHE_09_Input(t *testing.T) {
	t.Parallel()
	c, s := alone(t)
	s.on("resources/read", numbered(aRead))
	require.Equal(t, "1", readText(t, c))
	require.Equal(t, "2", readText(t, c, (&client.InputRequired{State: json.RawMessage(`"s"`)}).Answer(nil)))
	require.Equal(t, "3", readText(t, c, (&client.InputRequired{}).Answer(mcp.InputResponses{})))
	require.Equal(t, "1", readText(t, c))
	require.Equal(t, "4", readText(t, c, (&client.InputRequired{State: json.RawMessage(`"s"`)}).Answer(nil), client.WithCacheMode(client.CacheRefresh)))
	require.Equal(t, "1", readText(t, c))
}

// A hundred callers are one request.
func TestCached_CACHE_07_OneRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := alone(t)
		s.on("resources/read", func(req jsonrpc.Request) any {
			time.Sleep(time.Second)
			return json.RawMessage(aRead)
		})
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				if _, err := c.ReadResource(t.Context(), "x:/a"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.Len(t, s.of("resources/read"), 1)

		// Who gives up takes nobody with it.
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		gone := make(chan error, 1)
		go func() {
			_, err := c.ReadResource(ctx, "x:/b")
			gone <- err
		}()
		synctest.Wait()
		_, err := c.ReadResource(t.Context(), "x:/b")
		require.NoError(t, err)
		require.Equal(t, mcperrors.CodeTimeout, mcperrors.CodeOf(<-gone))
	})
}

// A cursor that the server does not know any more ends what is kept of the
// list.
func TestCached_CACHE_10_BadCursor(t *testing.T) {
	t.Parallel()
	c, s := alone(t)
	s.on("resources/list", func(req jsonrpc.Request) any {
		if strings.Contains(string(req.Params), `"cursor"`) {
			return jsonrpc.NewError(-32602, "bad cursor", nil)
		}
		return json.RawMessage(`{` + aMinute + `,"resources":[],"nextCursor":"2"}`)
	})
	var sent [2]int
	for i := range sent {
		for _, err := range c.Resources(t.Context()) {
			require.ErrorContains(t, err, "bad cursor")
		}
		sent[i] = len(s.of("resources/list"))
	}
	require.Equal(t, 2*sent[0], sent[1], "the second walk asks for the first page too")
}

// What the caller changes stays with the caller.
func TestCached_CACHE_14_Poison(t *testing.T) {
	t.Parallel()
	c, s := alone(t)
	s.result("prompts/list", `{`+aMinute+`,"prompts":[{"name":"p","arguments":[{"name":"a"}],"_meta":{"k":"v"}}]}`)
	for range 3 {
		page, err := c.ListPrompts(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, `{"k":"v"}`, string(page.Prompts[0].Meta))
		copy(page.Prompts[0].Meta, "poison")
		page.Prompts[0].Name = "poison"
	}
	require.Len(t, s.of("prompts/list"), 1)
}

// The pages that the schema cache fetched share its memory; a caller's do not.
func TestCached_CACHE_14_PoisonedTools(t *testing.T) {
	t.Parallel()
	c, s := alone(t, client.WithCache(client.CacheConfig{NoPreload: true}))
	s.result("tools/list", `{`+aMinute+`,"tools":[`+aTool+`]}`)
	listed := func() string {
		tool, err := c.GetToolSchema(t.Context(), "echo")
		require.NoError(t, err)
		return string(tool.InputSchema)
	}
	want := listed()
	for range 3 {
		page, err := c.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, want, string(page.Tools[0].InputSchema))
		copy(page.Tools[0].InputSchema, "poison")
		for tool, err := range c.Tools(t.Context()) {
			require.NoError(t, err)
			require.Equal(t, want, string(tool.InputSchema))
			copy(tool.InputSchema, "poison")
		}
		require.Equal(t, want, listed())
	}
	require.Len(t, s.of("tools/list"), 1)
}

// A page that cannot be decoded is nothing to answer with for a minute.
func TestCached_Undecodable(t *testing.T) {
	t.Parallel()
	c, s := alone(t, client.WithCache(client.CacheConfig{NoPreload: true}))
	s.result("prompts/list", `{`+aMinute+`,"prompts":[{"name":7}]}`)
	_, err := c.ListPrompts(t.Context(), nil)
	require.Equal(t, mcperrors.KindProtocol, mcperrors.KindOf(err))
	s.result("prompts/list", `{`+aMinute+`,"prompts":[{"name":"p"}]}`)
	page, err := c.ListPrompts(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, page.Prompts, 1)
}

// Clients that share a cache share results only if they
// asked the same way.
func TestCached_CACHE_05_SharedCache(t *testing.T) {
	t.Parallel()
	cache, err := client.NewCache(toolcache.Settings{})
	require.NoError(t, err)
	s := newLone(t)
	defer s.mem.Close()
	s.on("resources/read", numbered(aRead))
	for i, tt := range []struct {
		want string
		opts []client.Option
	}{
		{"1", nil},
		{"1", nil},
		{"2", []client.Option{client.WithCache(client.CacheConfig{Partition: "bob"})}},
		{"3", []client.Option{client.WithRoots(mcp.Root{URI: "file:///x"})}},
		{"1", nil},
	} {
		c, err := s.dial(append(tt.opts, client.WithCache(client.CacheConfig{Shared: cache}))...)
		require.NoError(t, err)
		require.Equal(t, tt.want, readText(t, c), i)
		require.NoError(t, c.Close())
	}
}
