package client_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// params returns the parameter headers of a request.
func (p posted) params() map[string]string {
	out := map[string]string{}
	for name, values := range p.header {
		if strings.HasPrefix(name, "Mcp-Param-") {
			out[strings.TrimPrefix(name, "Mcp-Param-")] = strings.Join(values, "|")
		}
	}
	return out
}

const mirroring = `{"name":"deploy","inputSchema":{"type":"object","properties":{
	"region":{"type":"string","x-mcp-header":"Region"},
	"count":{"type":["integer","null"],"x-mcp-header":"Count"},
	"dry":{"type":"boolean","x-mcp-header":"Dry-Run"},
	"deep":{"type":"object","properties":{"inner":{"type":"string","x-mcp-header":"Inner"},"region":{"type":"string"}}},
	"x-mcp-header":{"type":"string"}}}}`

func TestMirror_HDR_01_Arguments(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, args string
		want       map[string]string
	}{
		{"at their paths", `{"region":"us-west1","deep":{"inner":"x","region":"not this"},"x-mcp-header":"y"}`, map[string]string{"Region": "us-west1", "Inner": "x"}},
		{"HDR-02: absent and null are left out", `{"count":null}`, map[string]string{}},
		{"HDR-02: an empty string is a value", `{"region":""}`, map[string]string{"Region": ""}},
		{"HDR-03: text forms", `{"region":"a b","count":-42,"dry":false}`, map[string]string{"Region": "a b", "Count": "-42", "Dry-Run": "false"}},
		{"HDR-03: an integer with a point", `{"count":42.0}`, map[string]string{"Count": "42"}},
		{"HDR-04: encoded", `{"region":"Hello, 世界"}`, map[string]string{"Region": "=?base64?SGVsbG8sIOS4lueVjA==?="}},
		{"SEC-09: line breaks", `{"region":"a\r\nX-Evil: 1"}`, map[string]string{"Region": "=?base64?YQ0KWC1FdmlsOiAx?="}},
	}
	c, s := alone(t, client.WithCache(client.CacheConfig{NoPreload: true}))
	s.result("tools/list", listing(mirroring))
	for _, tt := range tests {
		_, err := c.CallTool(t.Context(), "deploy", json.RawMessage(tt.args))
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, s.last("tools/call").params(), tt.name)
		// A raw call goes the same way.
		_, err = c.Call(t.Context(), "tools/call", json.RawMessage(`{"arguments":`+tt.args+`,"name":"deploy"}`))
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, s.last("tools/call").params(), tt.name)
		require.Equal(t, "deploy", s.last("tools/call").header.Get("Mcp-Name"))
	}
	require.Len(t, s.of("tools/list"), 1, "listed on demand, once")

	sent := len(s.of("tools/call"))
	_, err := c.CallTool(t.Context(), "deploy", json.RawMessage(`{"count":9007199254740992}`))
	require.Equal(t, mcperrors.CodeInvalidRequest, mcperrors.CodeOf(err))
	require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
	require.ErrorContains(t, err, "count")
	require.Len(t, s.of("tools/call"), sent)
}

// A tool that nobody has listed is looked for once, and a server that cannot
// list keeps no call from being made.
func TestMirror_HDR_09_UnknownTool(t *testing.T) {
	t.Parallel()
	c, s := alone(t, client.WithCache(client.CacheConfig{NoPreload: true}))
	for tries, answer := range map[int]any{1: listing(""), 3: jsonrpc.NewError(jsonrpc.CodeInternalError, "no", nil)} {
		s.on("tools/list", script(answer))
		before := len(s.of("tools/list"))
		name := fmt.Sprintf("t%d", before)
		for range 3 {
			_, err := c.Call(t.Context(), "tools/call", map[string]any{"name": name})
			require.NoError(t, err)
		}
		require.LessOrEqual(t, len(s.of("tools/list")), before+tries, "a read that failed is tried again (decisions 8)")
		require.Empty(t, s.last("tools/call").params())
	}
}

// The schema that was seen last is good for headers whatever its age.
func TestMirror_HDR_09_StaleSchema(t *testing.T) {
	t.Parallel()
	c, s := alone(t, client.WithCache(client.CacheConfig{NoPreload: true}))
	s.result("tools/list", `{"resultType":"complete","ttlMs":0,"tools":[`+aTool+`]}`)
	for range 3 {
		_, err := c.CallTool(t.Context(), "echo", map[string]string{"region": "x"})
		require.NoError(t, err)
		require.Equal(t, map[string]string{"Region": "x"}, s.last("tools/call").params())
	}
	require.Len(t, s.of("tools/list"), 1)
}

// A list that the application read itself, page by page, is good for headers too. If it is
// outdated, the server rejects the headers, and the tools are listed again.
func TestMirrorOfARawList(t *testing.T) {
	t.Parallel()
	c, s := alone(t, client.WithCache(client.CacheConfig{NoPreload: true}))
	s.result("tools/list", listing(mirroring+`,{"name":"plain","inputSchema":{"type":"object"}}`))
	_, err := c.Call(t.Context(), "tools/list", nil)
	require.NoError(t, err)
	call := func(tool string) map[string]string {
		_, err := c.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"`+tool+`","arguments":{"region":"eu","zone":"b"}}`))
		require.NoError(t, err)
		return s.last("tools/call").params()
	}
	require.Equal(t, map[string]string{"Region": "eu"}, call("deploy"))
	require.Empty(t, call("plain"))
	require.Len(t, s.of("tools/list"), 1, "no tool is listed again for its headers")

	s.result("tools/list", listing(strings.ReplaceAll(mirroring, "region", "zone")))
	rejected := false
	s.on("tools/call", func(jsonrpc.Request) any {
		if !rejected {
			rejected = true
			return jsonrpc.NewError(mcp.CodeHeaderMismatch, "no", nil)
		}
		return json.RawMessage(doneResult)
	})
	require.Equal(t, map[string]string{"Region": "b"}, call("deploy"))
	require.Len(t, s.of("tools/list"), 2)
}

func TestMirror_HDR_07_InvalidAnnotation(t *testing.T) {
	t.Parallel()
	const bad = `{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}}`
	var log lines
	logger := client.WithLogger(log.logger())
	c, s := alone(t, logger, client.WithCache(client.CacheConfig{NoPreload: true}))
	s.result("tools/list", listing(bad+`,`+aTool))
	var names []string
	for tool, err := range c.Tools(t.Context()) {
		require.NoError(t, err)
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"echo"}, names)
	page, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, page.Tools, 1)
	const rest = `,"nextCursor":"n","x-own":[1.0,{"z":null}],"a":"\u0041"}`
	s.on("tools/list", func(jsonrpc.Request) any {
		return json.RawMessage(`{"tools":[` + bad + `,` + aTool + `,"none"]` + rest)
	})
	raw, err := c.Call(t.Context(), "tools/list", nil, client.WithVerbatim())
	require.NoError(t, err)
	require.Equal(t, `{"tools":[`+aTool+`,"none"]`+rest, string(raw), "a proxy passes on nothing else")
	s.result("tools/list", listing(bad+`,`+aTool))
	other, server := alone(t, client.WithCache(client.CacheConfig{NoPreload: true}))
	server.result("tools/list", listing(bad+`,`+aTool))
	server.result("tools/call", doneResult)
	_, err = other.Call(t.Context(), "tools/list", nil, client.WithVerbatim())
	require.NoError(t, err)
	_, err = other.Call(t.Context(), "tools/call", json.RawMessage(`{"name":"echo","arguments":{"region":"x"}}`), client.WithVerbatim())
	require.NoError(t, err)
	require.Equal(t, map[string]string{"Region": "x"}, server.last("tools/call").params(), "headers repeat the arguments")
	_, err = c.GetToolSchema(t.Context(), "bad")
	require.Equal(t, mcperrors.CodeToolNotFound, mcperrors.CodeOf(err))
	require.Equal(t, 1, strings.Count(log.String(), "tool=bad"), log.String())
	require.Contains(t, log.String(), "property a")

	// Elsewhere annotations have no meaning.
	p, f := statelessPipe(t, client.WithCache(client.CacheConfig{NoPreload: true}))
	f.result("tools/list", listing(bad))
	page, err = p.ListTools(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, page.Tools, 1)
	raw, err = p.Call(t.Context(), "tools/list", nil, client.WithVerbatim())
	require.NoError(t, err)
	require.Contains(t, string(raw), `"bad"`)
}

func mismatch() *jsonrpc.Error { return jsonrpc.NewError(-32020, "Header mismatch", nil) }

// A server that renamed a header refuses the old one: the client lists the tools again
// and sends the call once more.
func TestMirror_HDR_10_RenamedHeader(t *testing.T) {
	t.Parallel()
	guard := breaker.New(breaker.Settings{})
	resilience := client.Resilience{Breaker: guard}
	c, s := alone(t, client.WithResilience(resilience))
	s.result("tools/list", listing(strings.Replace(aTool, `"Region"`, `"Zone"`, 1)))
	s.on("tools/call", func(req jsonrpc.Request) any {
		if s.last("tools/call").header.Get("Mcp-Param-Zone") == "" {
			return mismatch()
		}
		return json.RawMessage(doneResult)
	})
	_, err := c.CallTool(t.Context(), "echo", map[string]string{"region": "x"})
	require.NoError(t, err)
	calls := s.of("tools/call")
	require.Len(t, calls, 2)
	require.NotEqual(t, calls[0].req.ID, calls[1].req.ID)
	require.Equal(t, map[string]string{"Region": "x"}, calls[0].params())
	require.Equal(t, map[string]string{"Zone": "x"}, calls[1].params())
	require.Len(t, s.of("tools/list"), 2)
	require.NotEmpty(t, calls[1].meta(t)["io.modelcontextprotocol/clientCapabilities"])
	require.Zero(t, guard.Snapshot().ConsecutiveFailures)
}

// The server's answer to the second attempt is final.
func TestMirror_HDR_10_OnceACall(t *testing.T) {
	t.Parallel()
	c, s := alone(t)
	n := 0
	s.on("tools/list", func(jsonrpc.Request) any {
		n++
		return json.RawMessage(listing(strings.Replace(aTool, `"Region"`, fmt.Sprintf(`"Region%d"`, n), 1)))
	})
	s.on("tools/call", func(jsonrpc.Request) any { return mismatch() })
	_, err := c.CallTool(t.Context(), "echo", map[string]string{"region": "x"})
	var e *mcperrors.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, mcperrors.CodeIncompatible, e.Code)
	require.Equal(t, 2, e.Attempts)
	require.Equal(t, mcperrors.Rejected, e.Delivery)
	require.Equal(t, http.StatusBadRequest, e.HTTP.Status)
	require.Len(t, s.of("tools/call"), 2)

	// With the same headers it would be refused again.
	s.result("tools/list", listing(strings.Replace(aTool, `"Region"`, `"Region1"`, 1)))
	_, err = c.CallTool(t.Context(), "echo", map[string]string{"region": "x"})
	require.ErrorAs(t, err, &e)
	lists := len(s.of("tools/list"))
	_, err = c.CallTool(t.Context(), "echo", map[string]string{"region": "x"})
	require.ErrorAs(t, err, &e)
	require.Equal(t, 1, e.Attempts)
	require.Len(t, s.of("tools/list"), lists+1, "always, decisions 28")

	// Other methods have nothing to refresh.
	s.on("prompts/list", func(jsonrpc.Request) any { return mismatch() })
	_, err = c.ListPrompts(t.Context(), nil)
	require.ErrorAs(t, err, &e)
	require.Equal(t, 1, e.Attempts)
}

// Names of any text.
func TestMirror_TOOL_05_Names(t *testing.T) {
	t.Parallel()
	c, s := alone(t, client.WithCache(client.CacheConfig{NoPreload: true}), client.WithValidation(client.Validation{Arguments: client.ValidateOff}))
	for name, header := range map[string]string{
		"a b": "a b", "工具": "=?base64?5bel5YW3?=", " x": "=?base64?IHg=?=", "=?base64?literal?=": "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
	} {
		_, err := c.CallTool(t.Context(), name, nil)
		require.NoError(t, err)
		require.Equal(t, header, s.last("tools/call").header.Get("Mcp-Name"))
	}
	s.result("resources/read", `{"resultType":"complete","contents":[]}`)
	_, err := c.ReadResource(t.Context(), "file:///世界")
	require.NoError(t, err)
	require.Equal(t, "=?base64?ZmlsZTovLy/kuJbnlYw=?=", s.last("resources/read").header.Get("Mcp-Name"))
}
