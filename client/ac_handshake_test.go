package client_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The ids of 16 goroutines, 10,000 of them, are UUIDs of version 4 and
// distinct.
func TestAC_001_5_RequestIDsAreUUIDv4(t *testing.T) {
	t.Parallel()
	c, s := connected(t)
	var seen sync.Map
	s.on("ping", func(req jsonrpc.Request) any {
		_, twice := seen.LoadOrStore(req.ID, true)
		if twice {
			t.Errorf("id %s came twice", req.ID)
		}
		return json.RawMessage(`{}`)
	})
	var work sync.WaitGroup
	for range 16 {
		work.Go(func() {
			for range testmain.Fewer(10_000, 10) / 16 {
				if err := c.Ping(t.Context()); err != nil {
					t.Errorf("ping: %v", err)
				}
			}
		})
	}
	work.Wait()
	count := 0
	seen.Range(func(id, _ any) bool {
		count++
		require.True(t, id.(jsonrpc.ID).IsString())
		u, err := uuid.Parse(id.(jsonrpc.ID).String())
		require.NoError(t, err)
		require.Equal(t, uuid.Version(4), u.Version())
		require.Equal(t, uuid.RFC4122, u.Variant())
		return true
	})
	require.Equal(t, testmain.Fewer(10_000, 10)/16*16, count)
}

// A program of another module compiles against the exported types, and sees
// the same values.
func TestAC_001_8_TypesAreExported(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the Go tool")
	}
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	gomod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	gosum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(t, err)
	own := strings.Replace(string(gomod), "module github.com/mainstay-mcp/mainstay", "module example.com/consumer", 1) +
		"\nrequire github.com/mainstay-mcp/mainstay v0.0.0\nreplace github.com/mainstay-mcp/mainstay => " + root + "\n"
	program := `package main

import (
	"fmt"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

var (
	_ jsonrpc.Message = jsonrpc.Request{}
	_ jsonrpc.Message = jsonrpc.Response{}
	_ jsonrpc.Message = jsonrpc.Notification{}
	_ error           = &jsonrpc.Error{}
	_ error           = &mcperrors.Error{}

	_ mcp.InitializeParams
	_ mcp.InitializeResult
	_ mcp.InitializeResponse
	_ mcp.ToolDefinition
	_ mcp.ToolCallParams
	_ mcp.ToolCallResult
	_ mcp.MCPServerCapabilities
	_ mcp.ServerInfo
)

func main() {
	fmt.Print(string(jsonrpc.Request{ID: jsonrpc.StringID("1"), Method: mcp.MethodPing}.AppendJSON(nil)))
}
`
	for name, text := range map[string]string{"go.mod": own, "go.sum": string(gosum), "main.go": program} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cmd := exec.Command("go", "run", "-mod=mod", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off", "GONOSUMDB=*", "GONOSUMCHECK=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, `{"jsonrpc":"2.0","id":"1","method":"ping"}`, string(out))
}

// Without options the client names itself and offers nothing for which it has no
// handler.
func TestInitializeDefaults(t *testing.T) {
	t.Parallel()
	_, s := connected(t)
	require.Contains(t, s.received()[0],
		`"params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mainstay","version":"`+client.Version+`"}}`)
}

// Neither concurrent calls nor the raw methods open the session again.
func TestAC_002_6_NoReinitialization(t *testing.T) {
	t.Parallel()
	c, s := connected(t)
	var work sync.WaitGroup
	for range 50 {
		work.Go(func() {
			_, err := c.CallTool(t.Context(), "echo", map[string]any{"message": "hi"})
			if err != nil {
				t.Errorf("call: %v", err)
			}
		})
	}
	work.Wait()
	_, err := c.Call(t.Context(), "initialize", map[string]any{})
	require.ErrorContains(t, err, "the session is already open")
	require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
	require.Error(t, c.Notify(t.Context(), "notifications/initialized", nil))
	require.Equal(t, 1, s.count("initialize"))
	require.Equal(t, 1, s.count("notifications/initialized"))
}

// Not parallel: it sets the environment.
func TestAC_002_8_ProtocolVersionFromEnvironment(t *testing.T) {
	offered := func(opts ...client.Option) string {
		tr, s := newFake(t)
		c, err := client.Connect(t.Context(), tr, opts...)
		require.NoError(t, err)
		require.NoError(t, c.Close())
		var m struct {
			Params struct{ ProtocolVersion string }
		}
		first := slices.Index(s.methods(), "initialize")
		require.NoError(t, json.Unmarshal([]byte(s.received()[first]), &m))
		return m.Params.ProtocolVersion
	}
	t.Setenv("MCP_PROTOCOL_VERSION", "")
	require.Equal(t, "2025-11-25", offered(), "unset: the newest session revision (decisions 12)")
	t.Setenv("MCP_PROTOCOL_VERSION", "2024-11-05")
	require.Equal(t, "2024-11-05", offered())
	require.Equal(t, "2025-06-18", offered(client.WithProtocolVersion("2025-06-18")), "an option wins")
	t.Setenv("MCP_PROTOCOL_VERSION", "yesterday")
	tr, _ := newFake(t)
	_, err := client.Connect(t.Context(), tr)
	require.ErrorContains(t, err, "MCP_PROTOCOL_VERSION")
	require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err))
}

// 2024-11-05 is the oldest revision that the client accepts.
func TestAnOlderRevisionIsAccepted(t *testing.T) {
	t.Parallel()
	tr, s := newFake(t)
	s.result("initialize", strings.Replace(initResult, "2025-11-25", "2024-11-05", 1))
	c, err := client.Connect(t.Context(), tr, sessionEra)
	require.NoError(t, err)
	require.Equal(t, mcp.Version2024_11_05, c.ProtocolVersion())
	require.NoError(t, c.Close())
}

// A server that names what it supports in its refusal is asked once more.
func TestRefusedRevisionIsOfferedAgain(t *testing.T) {
	t.Parallel()
	tr, s := newFake(t)
	s.on("initialize", func(req jsonrpc.Request) any {
		if strings.Contains(string(req.Params), "2025-03-26") {
			return json.RawMessage(strings.Replace(initResult, "2025-11-25", "2025-03-26", 1))
		}
		return jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Unsupported protocol version",
			map[string]any{"supported": []string{"2024-11-05", "2025-03-26"}, "requested": "2025-11-25"})
	})
	c, err := client.Connect(t.Context(), tr, sessionEra)
	require.NoError(t, err)
	require.Equal(t, mcp.Version2025_03_26, c.ProtocolVersion())
	require.Equal(t, 2, s.count("initialize"))
	require.NoError(t, c.Close())
}

func TestAC_003_1_ToolsCapabilityIsRequired(t *testing.T) {
	t.Parallel()
	tr, s := newFake(t)
	s.result("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
	c, err := client.Connect(t.Context(), tr, sessionEra)
	require.NoError(t, err, "an empty object counts as supported")
	require.NoError(t, c.Close())

	tr, s = newFake(t)
	s.result("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"prompts":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}`)
	_, err = client.Connect(t.Context(), tr, sessionEra)
	require.ErrorContains(t, err, "tools capability")
}

func TestAC_003_2_MissingToolsCapabilityIsE205(t *testing.T) {
	t.Parallel()
	noTools := `{"protocolVersion":"2025-11-25","capabilities":{"prompts":{}},"serverInfo":{"name":"s","version":"1"}}`
	tr, s := newFake(t)
	s.result("initialize", noTools)
	_, err := client.Connect(t.Context(), tr, sessionEra)
	var e *mcperrors.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, mcperrors.CodeMissingCapability, e.Code)
	require.Equal(t, "MCP server does not support tools capability", e.Message)
	require.Equal(t, []string{"initialize"}, s.methods(), "no notification, no tools/list")

	// The list of required capabilities is an option; an empty list requires nothing.
	tr, s = newFake(t)
	s.result("initialize", noTools)
	c, err := client.Connect(t.Context(), tr, sessionEra, client.WithRequiredCapabilities())
	require.NoError(t, err)
	_, err = c.CallTool(t.Context(), "echo", nil)
	require.Equal(t, mcperrors.CodeMissingCapability, mcperrors.CodeOf(err), "refused here, without traffic")
	require.NoError(t, c.Ping(t.Context()))
	require.Equal(t, []string{"initialize", "notifications/initialized", "ping"}, s.methods())
	require.NoError(t, c.Close())
}

func TestAC_003_4_CapabilitiesAreKept(t *testing.T) {
	t.Parallel()
	c, _ := connected(t)
	require.NotNil(t, c.Capabilities().Tools)
	require.Nil(t, c.Capabilities().Prompts)
	require.JSONEq(t, initResult, string(c.InitializeResult()))
	require.Equal(t, "fake", c.ServerInfo().Name)
}

func TestAC_003_5_HasCapability(t *testing.T) {
	t.Parallel()
	tr, s := newFake(t)
	s.result("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":false},"resources":{"subscribe":true},"logging":{},"experimental":{"x":{}}},"serverInfo":{"name":"s","version":"1"}}`)
	c, err := client.Connect(t.Context(), tr, sessionEra)
	require.NoError(t, err)
	for name, want := range map[string]bool{
		"tools": true, "tools.listChanged": false, "resources": true, "resources.subscribe": true,
		"logging": true, "prompts": false, "experimental.x": true, "experimental.y": false, "": false,
	} {
		require.Equal(t, want, c.HasCapability(name), name)
	}
	require.NoError(t, c.Close())
	require.False(t, (&client.Client{}).HasCapability("tools"), "before the handshake nothing is declared")
}

// A transport of somebody else's may return plain errors.
func TestConnectErrorsOfTransports(t *testing.T) {
	t.Parallel()
	_, err := client.Connect(t.Context(), nil)
	require.ErrorContains(t, err, "needs a transport")
	_, err = client.Connect(t.Context(), &transport.Stream{})
	require.ErrorContains(t, err, "needs In and Out")
}
