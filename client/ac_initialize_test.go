package client_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// With the seed's client info and capabilities, step one is the seed's exact
// message: nothing precedes it, and it has no member besides those.
func TestAC_002_1_InitializeCarriesClientInfoAndCapabilities(t *testing.T) {
	t.Parallel()
	inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
		s.connected(t,
			client.WithProtocolVersion("2024-11-05"),
			client.WithClientInfo(mcp.Implementation{Name: "hx-docling-ui", Version: "1.0.0"}),
			client.WithCapabilities(mcp.ClientCapabilities{Extra: mcp.Members{{Name: "tools", Value: json.RawMessage(`{"listChanged":false}`)}}}))
		first := s.heard()[0]
		require.Equal(t, "initialize", first.method)
		require.Equal(t, []string{"id", "jsonrpc", "method", "params"}, first.members)
		require.Contains(t, first.line, `"jsonrpc":"2.0"`)
		require.JSONEq(t, `{"protocolVersion":"2024-11-05","clientInfo":{"name":"hx-docling-ui","version":"1.0.0"},"capabilities":{"tools":{"listChanged":false}}}`,
			string(first.params))
		var id string
		require.NoError(t, json.Unmarshal(first.id, &id), "a string")
		u, err := uuid.Parse(id)
		require.NoError(t, err)
		require.Equal(t, uuid.Version(4), u.Version())
		require.Equal(t, u.String(), id, "in the canonical form")
	})
}

// Step two: later calls are checked against the capabilities that the server declares,
// and an invalid answer ends the handshake before anything else is sent.
func TestAC_002_2_InitializeResponseIsChecked(t *testing.T) {
	t.Parallel()
	t.Run("accepted", func(t *testing.T) {
		t.Parallel()
		inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
			s.answer("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true},"new":{"x":1}},"serverInfo":{"name":"s","version":"1"},"instructions":"be kind","more":1}`)
			s.answer("resources/list", `{"resources":[]}`)
			c := s.connected(t)
			require.Equal(t, "s", c.ServerInfo().Name)
			require.Equal(t, "be kind", c.Instructions())
			caps := c.Capabilities()
			require.NotNil(t, caps.Tools)
			require.False(t, caps.Tools.ListChanged)
			require.True(t, caps.Resources.Subscribe)
			require.Nil(t, caps.Prompts)
			before := len(s.heard())
			_, err := c.ListPrompts(t.Context(), nil)
			require.Equal(t, mcperrors.CodeMissingCapability, mcperrors.CodeOf(err), "what was not declared is not asked for")
			require.ErrorContains(t, err, "prompts")
			require.Len(t, s.heard(), before)
			_, err = c.ListResources(t.Context(), nil)
			require.NoError(t, err, "what was declared is")
		})
	})
	for _, tt := range []struct {
		name, answer string
		code         mcperrors.Code
		kind         mcperrors.Kind
		says         string
	}{
		{"no tools", `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`, mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, "MCP server does not support tools capability"},
		{"tools is null", `{"protocolVersion":"2025-11-25","capabilities":{"tools":null},"serverInfo":{"name":"s","version":"1"}}`, mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, "tools capability"},
		{"no capabilities", `{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"}}`, mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, "tools capability"},
		{"capabilities of a wrong type", `{"protocolVersion":"2025-11-25","capabilities":[],"serverInfo":{"name":"s","version":"1"}}`, mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, "initialize"},
		{"tools of a wrong type", `{"protocolVersion":"2025-11-25","capabilities":{"tools":"yes"},"serverInfo":{"name":"s","version":"1"}}`, mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, "tools"},
		{"no version", `{"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`, mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, "protocolVersion"},
		{"unknown version", `{"protocolVersion":"1999-01-01","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`, mcperrors.CodeIncompatible, mcperrors.KindVersion, "1999-01-01"},
		{"a stateless revision", `{"protocolVersion":"2026-07-28","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`, mcperrors.CodeIncompatible, mcperrors.KindVersion, "2026-07-28"},
		{"not an object", `"hello"`, mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, "initialize"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
				s.answer("initialize", tt.answer)
				_, err := s.connect(t)
				var e *mcperrors.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, tt.code, e.Code, e.Error())
				require.Equal(t, tt.kind, e.Kind)
				require.Equal(t, "initialize", e.Method)
				require.Contains(t, e.Error(), tt.says)
				synctest.Wait()
				require.Equal(t, []string{"initialize"}, s.methods(), "nothing is sent after a bad answer")
			})
		})
	}
}

// Step three: one notification, without an id, sent once the answer to
// initialize is there. A server that refuses it has not been initialized.
func TestAC_002_3_InitializedIsANotification(t *testing.T) {
	t.Parallel()
	inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
		s.takes("initialize", 5*time.Second)
		c := s.connected(t)
		_, err := c.CallTool(t.Context(), "echo", nil)
		require.NoError(t, err)
		require.Equal(t, 1, s.count("notifications/initialized"), "never again")
		all := s.heard()
		note := all[1]
		require.Equal(t, `{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`, strings.TrimSpace(note.line))
		require.Equal(t, []string{"jsonrpc", "method", "params"}, note.members)
		require.False(t, note.came.Before(all[0].came.Add(5*time.Second)), "only after the answer to initialize")
	})
	for _, code := range []int{400, 500} {
		synctest.Test(t, func(t *testing.T) {
			s := newSeedServer(overJSON)
			defer s.stop()
			s.status("notifications/initialized", code)
			_, err := s.connect(t)
			require.Error(t, err, "refused with status %d", code)
			require.Equal(t, []string{"initialize", "notifications/initialized"}, s.methods()[:2])
			require.Zero(t, s.count("tools/list"), "no list without the notification")
		})
	}
}

// The order holds however long each step takes: nothing overtakes the answer to
// initialize, nor the notification while the server takes its time to accept it.
// A server that refuses what comes before it has nothing to refuse.
func TestAC_002_4_ToolsListOnlyAfterInitialized(t *testing.T) {
	t.Parallel()
	inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
		s.takes("initialize", 5*time.Second)
		s.takes("notifications/initialized", 7*time.Second)
		s.on("tools/list", func(json.RawMessage) any {
			all := s.heard()
			i := slices.IndexFunc(all, func(h heard) bool { return h.method == "notifications/initialized" })
			if i < 0 || all[i].accepted.IsZero() {
				return refusal{Code: -32002, Message: "Server not initialized"}
			}
			return json.RawMessage(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
		})
		c := s.connected(t)
		var work sync.WaitGroup
		for range 10 {
			work.Go(func() {
				if _, err := c.CallTool(t.Context(), "echo", nil); err != nil {
					t.Errorf("call: %v", err)
				}
			})
		}
		work.Wait()
		all := s.heard()
		require.Equal(t, []string{"initialize", "notifications/initialized", "tools/list"}, s.methods()[:3])
		require.Equal(t, 1, s.count("tools/list"))
		require.False(t, all[1].came.Before(all[0].accepted), "the notification waits for the answer")
		require.False(t, all[2].came.Before(all[1].accepted), "the list waits for the notification")
		require.Equal(t, 7*time.Second, all[1].accepted.Sub(all[1].came))
	})
}

// The cache keeps every tool of the answer with all its members. Lookups and calls use
// it without another request.
func TestAC_002_5_ToolSchemasAreCachedAfterToolsList(t *testing.T) {
	t.Parallel()
	const (
		echo = `{"name":"echo","title":"Echo","description":"says it again","inputSchema":{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]},"outputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`
		add  = `{"name":"add","inputSchema":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}}`
	)
	inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
		s.answer("tools/list", `{"tools":[`+echo+`,`+add+`]}`)
		c := s.connected(t)
		require.Equal(t, 1, s.count("tools/list"))
		before := len(s.heard())
		for name, want := range map[string]string{"echo": echo, "add": add} {
			tool, err := c.GetToolSchema(t.Context(), name)
			require.NoError(t, err)
			got, err := json.Marshal(tool)
			require.NoError(t, err)
			require.JSONEq(t, want, string(got))
		}
		_, err := c.CallTool(t.Context(), "add", map[string]any{"a": 1})
		require.NoError(t, err)
		require.Len(t, s.heard(), before+1, "the call, and nothing else")
		require.Equal(t, 1, s.count("tools/list"))
	})
}

// Each failure of the handshake is one error that reports the step, with its code and
// its cause. Nothing happens after it, and the client can connect to the same server
// once that works again.
func TestAC_002_7_InitializationErrorsAreDescriptive(t *testing.T) {
	t.Parallel()
	const good = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
	for _, tt := range []struct {
		name     string
		answer   any
		code     mcperrors.Code
		kind     mcperrors.Kind
		says     string
		original int64 // of the server's JSON-RPC error
	}{
		{"an error of the server", refusal{Code: -32603, Message: "no database", Data: "db1"}, mcperrors.CodeUnavailable, mcperrors.KindServer, "no database", -32603},
		{"an error without a meaning", refusal{Code: 7, Message: "seven"}, mcperrors.CodeUnavailable, mcperrors.KindApp, "seven", 7},
		{"not a result", json.RawMessage(`[1,2]`), mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, "initialize", 0},
		{"no tools", json.RawMessage(strings.Replace(good, `{"tools":{}}`, `{}`, 1)), mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, "MCP server does not support tools capability", 0},
		{"silence", nil, mcperrors.CodeTimeout, mcperrors.KindTimeout, "no answer", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
				s.always("initialize", tt.answer)
				_, err := s.connect(t)
				var e *mcperrors.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, tt.code, e.Code, e.Error())
				require.Equal(t, tt.kind, e.Kind, e.Error())
				require.Equal(t, "initialize", e.Method)
				require.Contains(t, e.Error(), tt.says)
				require.Contains(t, e.Error(), "initialize", "what was being done")
				require.NotEmpty(t, e.Server)
				require.Contains(t, e.Error(), e.Server, "and with whom")
				require.NotEmpty(t, e.UserMessage)
				require.NotEmpty(t, e.SuggestedAction)
				if tt.original != 0 {
					require.NotNil(t, e.OriginalMCPCode)
					require.Equal(t, tt.original, *e.OriginalMCPCode)
				}
				synctest.Wait()
				require.Zero(t, s.count("notifications/initialized"))
				require.Zero(t, s.count("tools/list"))

				s.answer("initialize", good)
				c := s.connected(t)
				_, err = c.CallTool(t.Context(), "echo", nil)
				require.NoError(t, err)
				require.NoError(t, ignoreClosed(c.Close()))
			})
		})
	}
	for _, code := range []int{401, 403, 404, 500, 502} {
		synctest.Test(t, func(t *testing.T) {
			s := newSeedServer(overJSON)
			defer s.stop()
			s.status("initialize", code)
			_, err := s.connect(t)
			var e *mcperrors.Error
			require.ErrorAs(t, err, &e, code)
			require.NotNil(t, e.HTTP, code)
			require.Equal(t, code, e.HTTP.Status)
			require.NotEmpty(t, e.Code, code)
			require.Contains(t, e.Error(), strconv.Itoa(code), "the status is in the text")
			s.status("initialize", 0)
			require.NoError(t, s.connected(t).Close())
		})
	}
}

// A successful connection logs the server and the negotiated revision, once each; a
// failed one logs neither.
func TestAC_003_3_ServerInfoIsLogged(t *testing.T) {
	t.Parallel()
	inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
		var out bytes.Buffer
		logger := client.WithLogger(slog.New(slog.NewJSONHandler(&out, nil)))
		s.always("initialize", refusal{Code: -32603, Message: "not yet"})
		_, err := s.connect(t, logger)
		require.Error(t, err)
		require.NotContains(t, out.String(), "Connected to")
		require.NotContains(t, out.String(), "Protocol version")

		s.answer("initialize", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"docling","version":"1.2.3"}}`)
		c := s.connected(t, logger)
		for range 3 {
			_, err := c.CallTool(t.Context(), "echo", nil)
			require.NoError(t, err)
		}
		require.NoError(t, ignoreClosed(c.Close()))
		for _, want := range []string{"[MCP] Connected to docling v1.2.3", "[MCP] Protocol version: 2025-11-25"} {
			found := logged(t, out.Bytes(), want)
			require.Len(t, found, 1, "%s in\n%s", want, out.String())
			require.Equal(t, "INFO", found[0]["level"])
			require.NotEmpty(t, found[0]["server"])
		}
	})
}

// A server that answers with another revision is warned of once, and works; one
// that answers with the offered revision is not.
func TestAC_003_6_VersionMismatchIsAWarning(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		negotiated string
		warnings   int
	}{{"2025-11-25", 0}, {"2025-06-18", 1}, {"2024-11-05", 1}} {
		t.Run(tt.negotiated, func(t *testing.T) {
			t.Parallel()
			inBubbleEveryWay(t, func(t *testing.T, s *seedServer) {
				var out bytes.Buffer
				s.answer("initialize", `{"protocolVersion":"`+tt.negotiated+`","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`)
				c := s.connected(t, client.WithLogger(slog.New(slog.NewJSONHandler(&out, nil))))
				require.Equal(t, tt.negotiated, string(c.ProtocolVersion()))
				for range 3 {
					res, err := c.CallTool(t.Context(), "echo", nil)
					require.NoError(t, err)
					require.Equal(t, "done", res.Text())
				}
				require.NoError(t, ignoreClosed(c.Close()))
				require.Equal(t, tt.warnings, strings.Count(out.String(), `"level":"WARN"`), out.String())
				require.Len(t, logged(t, out.Bytes(), "[MCP] Protocol version: "+tt.negotiated), 1, "said either way")
				for _, line := range logged(t, out.Bytes(), "[MCP] Protocol version mismatch") {
					require.Equal(t, "WARN", line["level"])
					require.Equal(t, "2025-11-25", line["requested"])
					require.Equal(t, tt.negotiated, line["negotiated"])
				}
			})
		})
	}
}

// logged returns the lines of a log with a message.
func logged(t *testing.T, log []byte, message string) []map[string]any {
	t.Helper()
	var found []map[string]any
	for dec := json.NewDecoder(bytes.NewReader(log)); dec.More(); {
		var line map[string]any
		require.NoError(t, dec.Decode(&line))
		if line["msg"] == message {
			found = append(found, line)
		}
	}
	return found
}
