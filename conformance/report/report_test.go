package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// sampleReport has an outcome of each kind.
func sampleReport() *conformance.Report {
	check := func(id string, level conformance.Level, title string) conformance.Check {
		return conformance.Check{ID: id, Level: level, Title: title, Spec: conformance.Spec{Section: "basic#messages", Quote: "All messages MUST follow JSON-RPC 2.0."}}
	}
	result := func(c conformance.Check, area string, status conformance.Status) conformance.Result {
		return conformance.Result{Check: c, Scenario: c.ID, Area: area, Level: c.Level, Status: status, Revision: mcp.Version2025_11_25, Duration: 1500 * time.Microsecond}
	}
	broken := result(check("RPC-07/exclusive", conformance.Must, "every response has exactly one of result and error"), "base", conformance.Fail)
	broken.Expected, broken.Actual = "that of all", "both, with \x1b[31mcolour\x1b[0m"
	broken.Evidence = []conformance.Frame{
		{Dir: conformance.ToServer, Data: []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), Size: 40},
		{At: 2 * time.Millisecond, Dir: conformance.FromServer, Data: []byte("{\"id\":1,\"result\":{}\xff"), Size: 9000, HTTP: &conformance.HTTPInfo{Status: 200, ContentType: "application/json"}, Note: "cut"},
	}
	warned := result(check("UTIL-15/bad-cursor", conformance.Should, "a cursor the server never gave is answered with -32602"), "tools", conformance.Warn)
	warned.Expected, warned.Actual = "error -32602", "result {}"
	unknown := result(check("X-WIRE-12/pings", conformance.Must, "200 pings sent at once are each answered once"), "concurrency", conformance.Unknown)
	unknown.Detail = "the server closed the connection"
	fault := result(conformance.Check{ID: "S0-STORE-02", Level: conformance.Must, Title: "the file equals the input byte for byte", Spec: conformance.Spec{Seed: "S0-STORE-02"}}, "store_artifact", conformance.Error)
	fault.Detail = "disk full"
	skipped := result(check("HTTP-19/get", conformance.Must, "GET is answered with an event stream or 405"), "http", conformance.Skip)
	skipped.Reason, skipped.Detail = conformance.SkipTransport, "a rule of http"
	excluded := result(check("HTTP-19/other", conformance.Must, "not asked for"), "http", conformance.Skip)
	excluded.Reason = conformance.SkipExcluded
	return &conformance.Report{
		StartedAt: time.Date(2026, 11, 20, 18, 4, 5, 120e6, time.UTC), Duration: 8123 * time.Millisecond,
		Target: conformance.Target{
			Transport: conformance.TransportStdio, Argv: []string{"./my server", "--flag"}, Name: "every\u202ething", Version: "2.0.0",
			Revision: "2025-11-25", Capabilities: json.RawMessage(`{"tools":{}}`), Tools: 16,
		},
		Policy: conformance.Policy{Revisions: []mcp.Version{mcp.Version2025_11_25}, SideEffects: conformance.SideEffectsAll, Granted: true},
		Results: []conformance.Result{
			result(check("RPC-01/version", conformance.Must, `every message has jsonrpc "2.0"`), "base", conformance.Pass),
			broken, warned, unknown, skipped, excluded, fault,
		},
	}
}

const sampleText = `MCP conformance · every\u202ething 2.0.0 · -- './my server' --flag · session 2025-11-25
side effects: all (granted by the server) · 8.1 s

base
  ✓ MUST   RPC-01/version      every message has jsonrpc "2.0"
  ✗ MUST   RPC-07/exclusive    every response has exactly one of result and error
tools
  ! SHOULD UTIL-15/bad-cursor  a cursor the server never gave is answered with -32602
concurrency
  ? MUST   X-WIRE-12/pings     200 pings sent at once are each answered once
http
  – MUST   HTTP-19/get         GET is answered with an event stream or 405 (transport: a rule of http)
store_artifact
  E MUST   S0-STORE-02         the file equals the input byte for byte

✗ MUST   RPC-07/exclusive   spec 2025-11-25 basic#messages
        every response has exactly one of result and error
        "All messages MUST follow JSON-RPC 2.0."
        expected that of all, got both, with \x1b[31mcolour\x1b[0m
        → {"jsonrpc":"2.0","id":1,"method":"ping"}
        ← 200 application/json  {"id":1,"result":{}` + "\uFFFD" + `… (9000 bytes)  [cut]
        again: mcpctl conform server --only RPC-07/exclusive -- './my server' --flag

! SHOULD UTIL-15/bad-cursor   spec 2025-11-25 basic#messages
        a cursor the server never gave is answered with -32602
        "All messages MUST follow JSON-RPC 2.0."
        expected error -32602, got result {}
        again: mcpctl conform server --only UTIL-15/bad-cursor -- './my server' --flag

? MUST   X-WIRE-12/pings   spec 2025-11-25 basic#messages
        200 pings sent at once are each answered once
        "All messages MUST follow JSON-RPC 2.0."
        the server closed the connection
        again: mcpctl conform server --only X-WIRE-12/pings -- './my server' --flag

E MUST   S0-STORE-02   requirement S0-STORE-02
        the file equals the input byte for byte
        disk full
        again: mcpctl conform server --only S0-STORE-02 -- './my server' --flag

failed · 1 broken requirement · 1 not established · 1 recommendation · 1 passed · 2 not applicable · 1 fault of the suite
exit 1
`

func TestWriteText(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, Text(&b, sampleReport(), TextOptions{}))
	require.Equal(t, sampleText, b.String())

	b.Reset()
	require.NoError(t, Text(&b, sampleReport(), TextOptions{Quiet: true, ASCII: true}))
	require.Equal(t, "failed | 1 broken requirement | 1 not established | 1 recommendation | 1 passed | 2 not applicable | 1 fault of the suite\nexit 1\n", b.String())

	b.Reset()
	require.NoError(t, Text(&b, sampleReport(), TextOptions{Summary: true, Verbose: true, Color: true, Again: "again"}))
	require.Contains(t, b.String(), "  base               \x1b[32m✓\x1b[0m 1   \x1b[31m✗\x1b[0m 1\n")
	require.Contains(t, b.String(), "(1 transport)\n      HTTP-19/get transport: a rule of http\n")
	require.Contains(t, b.String(), "again: again --only RPC-07/exclusive\n")

	require.Error(t, Text(fullDisk{}, sampleReport(), TextOptions{}))
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestWriteJSON(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, JSON(&b, sampleReport()))
	var got struct {
		Kind    string
		Version int
		Tool    map[string]string
		Run     struct{ StartedAt string }
		Target  map[string]any
		Summary struct {
			Verdict string
			Exit    int
			Must    map[string]int
			Should  map[string]int
			Skip    int
		}
		Checks []struct {
			ID, Status, Expected, Detail, Repro, Fingerprint string
			Spec                                             map[string]string
			Skip                                             map[string]string
			DurationMs                                       float64
			Evidence                                         []struct {
				Dir, Frame, Base64, Note string
				AtMs                     float64
				Size                     int
				HTTP                     map[string]any
			}
		}
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &got))
	require.Equal(t, "mcpctl.conform", got.Kind)
	require.Equal(t, 1, got.Version)
	require.Equal(t, "2026-11-20T18:04:05.120Z", got.Run.StartedAt)
	require.Equal(t, map[string]any{"tools": map[string]any{}}, got.Target["capabilities"])
	require.Equal(t, map[string]any{"tools": 16.0}, got.Target["surface"])
	require.Equal(t, "failed", got.Summary.Verdict)
	require.Equal(t, 1, got.Summary.Exit)
	require.Equal(t, map[string]int{"pass": 1, "fail": 1, "unknown": 1, "error": 1}, got.Summary.Must)
	require.Equal(t, map[string]int{"pass": 0, "warn": 1, "unknown": 0, "error": 0}, got.Summary.Should)
	require.Equal(t, 2, got.Summary.Skip)
	require.Len(t, got.Checks, 7)

	broken := got.Checks[1]
	require.Equal(t, "fail", broken.Status)
	require.Equal(t, "https://modelcontextprotocol.io/specification/2025-11-25/basic#messages", broken.Spec["url"])
	require.InDelta(t, 1.5, broken.DurationMs, 1e-9)
	require.Len(t, broken.Evidence, 2)
	require.Equal(t, "c2s", broken.Evidence[0].Dir)
	require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, broken.Evidence[0].Frame)
	require.Equal(t, 9000, broken.Evidence[1].Size)
	require.Equal(t, map[string]any{"status": 200.0, "contentType": "application/json"}, broken.Evidence[1].HTTP)
	require.Equal(t, map[string]string{"reason": "transport", "detail": "a rule of http"}, got.Checks[4].Skip)
	require.Empty(t, got.Checks[4].Repro)
	require.NotEqual(t, got.Checks[1].Fingerprint, got.Checks[2].Fingerprint)

	var again bytes.Buffer
	require.NoError(t, JSON(&again, sampleReport()))
	require.Equal(t, b.String(), again.String(), "the same report is the same bytes")
}

func TestFrameJSON_NotText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "//4=", frameJSON(conformance.Frame{Data: []byte("\xff\xfe"), Size: 2}).Base64)
	cut := frameJSON(conformance.Frame{Data: []byte("ab\xf0\x9f\xa6"), Size: 100})
	require.Equal(t, "ab", cut.Frame, "a cut through a character is no reason for base64")
}
