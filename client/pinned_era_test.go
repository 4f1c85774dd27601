package client_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const (
	demandsStateless = "WithProtocolVersion demands revision 2026-07-28, of the stateless era"
	demandsSession   = "WithProtocolVersion demands revision 2025-11-25, of the session era"
)

// The error for a pinned era that the server does not speak names the pinned revision,
// the server's answer, and the option to change. If the answer proves nothing, the
// error contains "if".
func TestPinnedEraOfAnotherServer(t *testing.T) {
	t.Parallel()
	raw := func(text string) any { return json.RawMessage(text) }
	status := func(code int, body string) error { return &clienttest.HTTPError{Status: code, Body: body} }
	const (
		isSession   = "; the server speaks the session era: "
		isStateless = "; the server speaks the stateless era: "
		ifSession   = "; " + demandsStateless + ": if the server speaks only the session era, change WithProtocolVersion to one of its revisions or to \"auto\""
		ifStateless = "; " + demandsSession + ": if the server speaks only the stateless era, change WithProtocolVersion to one of its revisions or to \"auto\""
		changeTo    = "; change WithProtocolVersion to "
	)
	none := []string(nil)
	both := []string{"stdio", "HTTP"}
	web, stdio := both[1:], both[:1]
	for name, tc := range map[string]struct {
		pin   string
		reply any // to the first request
		over  []string
		kind  mcperrors.Kind
		want  []string // parts of the message
	}{
		"stateless, lists sessions": {
			"2026-07-28", raw(`{"supportedVersions":["2025-06-18","2025-11-25"]}`), both, mcperrors.KindVersion,
			[]string{demandsStateless + isSession + "its answer to server/discover names [2025-06-18 2025-11-25]" + changeTo + `"2025-11-25" or "auto"`},
		},
		"stateless, refused with a list of sessions": {
			"2026-07-28", rpcError(-32022, "no", `{"supported":["2025-11-25"]}`), both, mcperrors.KindVersion,
			[]string{demandsStateless + isSession + "its answer to server/discover names [2025-11-25]" + changeTo + `"2025-11-25" or "auto"`},
		},
		"stateless, nothing shared": {
			"2026-07-28", raw(`{"supportedVersions":["2027-01-01"]}`), both, mcperrors.KindVersion,
			[]string{demandsStateless + "; its answer to server/discover names [2027-01-01]"},
		},
		"stateless, refused": {
			"2026-07-28", rpcError(-32600, "not initialized", ""), both, mcperrors.KindProtocol,
			[]string{"not initialized", ifSession},
		},
		"stateless, another result": {"2026-07-28", raw(`{}`), both, mcperrors.KindProtocol, []string{"server/discover", ifSession}},
		"stateless, 400":            {"2026-07-28", status(400, "Bad Request: no session"), web, mcperrors.KindProtocol, []string{ifSession}},
		"stateless, 404":            {"2026-07-28", status(404, "no"), web, mcperrors.KindTransport, []string{ifSession}},
		"stateless, silence":        {"2026-07-28", clienttest.ErrSilent, stdio, mcperrors.KindTimeout, []string{"no answer", ifSession}},
		"stateless, the end":        {"2026-07-28", clienttest.ErrCut, stdio, mcperrors.KindTransport, []string{ifSession}},
		"stateless, a slow server":  {"2026-07-28", clienttest.ErrSilent, web, mcperrors.KindTimeout, none},
		"stateless, a broken line":  {"2026-07-28", clienttest.ErrCut, web, mcperrors.KindTransport, none},
		"stateless, an outage":      {"2026-07-28", status(503, "no"), web, mcperrors.KindServer, none},
		"stateless, no credentials": {"2026-07-28", status(401, "no"), web, mcperrors.KindAuth, none},
		"stateless, a capability":   {"2026-07-28", rpcError(-32021, "capability", `{"requiredCapabilities":{"roots":{}}}`), both, mcperrors.KindUnsupported, none},

		"session, answered with the other": {
			"2025-11-25", raw(`{"protocolVersion":"2026-07-28","capabilities":{},"serverInfo":{"name":"s","version":"1"}}`), both, mcperrors.KindVersion,
			[]string{demandsSession + isStateless + `its answer to initialize names [2026-07-28]` + changeTo + `"2026-07-28" or "auto"`},
		},
		"session, refused with a list": {
			"2025-11-25", rpcError(-32022, "no", `{"supported":["2026-07-28"]}`), both, mcperrors.KindVersion,
			[]string{demandsSession + isStateless + "its answer to initialize names [2026-07-28]" + changeTo + `"2026-07-28" or "auto"`},
		},
		"session, refused over HTTP with a list": {
			"2025-11-25", &clienttest.HTTPError{Status: 400, RPC: rpcError(-32022, "no", `{"supported":["2026-07-28"]}`)}, web, mcperrors.KindVersion,
			[]string{demandsSession + isStateless},
		},
		"session, refused in words": {
			"2025-11-25", rpcError(-32601, "Method not found; this server speaks 2026-07-28", ""), both, mcperrors.KindVersion,
			[]string{demandsSession + isStateless + "its answer to initialize names [2026-07-28]"},
		},
		"session, no such method": {"2025-11-25", rpcError(-32601, "Method not found", ""), both, mcperrors.KindUnsupported, []string{"Method not found", ifStateless}},
		"session, a header": {
			"2025-11-25", &clienttest.HTTPError{Status: 400, RPC: rpcError(-32020, "Mcp-Method is missing", "")}, web, mcperrors.KindProtocol,
			[]string{"Mcp-Method is missing", ifStateless},
		},
		"session, 400":            {"2025-11-25", status(400, "no"), web, mcperrors.KindProtocol, []string{ifStateless}},
		"session, 404":            {"2025-11-25", status(404, "no"), web, mcperrors.KindTransport, []string{ifStateless + "; tried initialize 2025-11-25"}},
		"session, an outage":      {"2025-11-25", status(503, "no"), web, mcperrors.KindServer, none},
		"session, no credentials": {"2025-11-25", status(401, "no"), web, mcperrors.KindAuth, none},
		"session, silence":        {"2025-11-25", clienttest.ErrSilent, both, mcperrors.KindTimeout, none},
	} {
		for _, over := range tc.over {
			t.Run(over+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := clienttest.NewServer(t)
					first := mcp.MethodDiscover
					if tc.pin != "2026-07-28" {
						first = mcp.MethodInitialize
					}
					s.On(first, says(tc.reply))
					way := transport.Transport(s.HTTP())
					if over == "stdio" {
						way = s.Transport()
					}
					_, err := find(t, way, client.WithProtocolVersion(tc.pin), client.WithResilience(client.Resilience{Off: true, IdleTimeout: time.Minute}))
					var e *mcperrors.Error
					require.ErrorAs(t, err, &e)
					require.Equal(t, tc.kind, e.Kind, "%v", err)
					for _, part := range tc.want {
						require.Contains(t, e.Message, part)
					}
					if tc.want == nil {
						require.NotContains(t, e.Message, "WithProtocolVersion")
					}
					require.NotContains(t, err.Error(), "this client does not speak", "it does, but for the pin")
					for _, r := range s.Requests() {
						require.Contains(t, []string{first, ""}, r.Method, "the other era is not tried")
					}
				})
			})
		}
	}
}

// A variable is what to change if it set the revision.
func TestPinnedByTheEnvironment(t *testing.T) {
	t.Setenv("MCP_PROTOCOL_VERSION", "2026-07-28")
	s := clienttest.NewServer(t)
	s.On("server/discover", says(json.RawMessage(`{"supportedVersions":["2025-11-25"]}`)))
	_, err := client.Connect(t.Context(), s.Transport())
	require.ErrorContains(t, err, "MCP_PROTOCOL_VERSION demands revision 2026-07-28, of the stateless era; the server speaks the session era: ")
	require.ErrorContains(t, err, `change MCP_PROTOCOL_VERSION to "2025-11-25" or "auto"`)
	var mismatch *client.VersionError
	require.ErrorAs(t, err, &mismatch)
	require.Equal(t, []string{"2025-11-25"}, mismatch.Listed)
}

// A server without server/discover is used where its era is pinned. What it refuses then
// may be for the era: every server of the stateless era has that method.
func TestPinnedAtAServerThatHasNoDiscover(t *testing.T) {
	t.Parallel()
	for _, over := range []string{"stdio", "HTTP"} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, logs := sessionServer(t), &lines{}
				s.On("tools/call", says(rpcError(-32600, "not initialized", "")))
				s.On("prompts/get", says(json.RawMessage(`{"messages":[]}`)))
				way := transport.Transport(s.HTTP())
				if over == "stdio" {
					way = s.Transport()
				}
				c, err := find(t, way, client.WithProtocolVersion("2026-07-28"), client.WithLogger(logs.logger()))
				require.NoError(t, err)
				_, err = c.CallTool(t.Context(), "echo", hello, client.WithoutValidation())
				var e *mcperrors.Error
				require.ErrorAs(t, err, &e)
				require.Contains(t, e.Message, "not initialized; "+demandsStateless+
					", and the server has no server/discover, as if it spoke only the session era; if so, change WithProtocolVersion to one of its revisions or to \"auto\"")
				_, err = c.GetPrompt(t.Context(), "p", nil)
				require.NoError(t, err)
				require.NoError(t, ignoreClosed(c.Close()))
				require.Contains(t, logs.text(), "has no server/discover")
			})
		})
	}
	// A server that declares itself is of the era, whatever it refuses.
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.On("tools/call", says(rpcError(-32600, "not today", "")))
		c, err := find(t, s.Transport(), client.WithProtocolVersion("2026-07-28"))
		require.NoError(t, err)
		_, err = c.CallTool(t.Context(), "echo", hello, client.WithoutValidation())
		require.ErrorContains(t, err, "not today")
		require.NotContains(t, err.Error(), "WithProtocolVersion")
		require.NoError(t, ignoreClosed(c.Close()))
	})
}

// The same with a program that is one.
func TestPinnedEraOfAProgram(t *testing.T) {
	t.Parallel()
	_, err := dialProgram(t, "good", client.WithProtocolVersion("2026-07-28"))
	require.ErrorContains(t, err, demandsStateless)
	require.ErrorContains(t, err, "if the server speaks only the session era, change WithProtocolVersion")
}
