package client_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// wantError is one clear error.
type wantError struct {
	code     mcperrors.Code
	kind     mcperrors.Kind
	delivery []mcperrors.Delivery // one of these
	says     []string             // all of these are in its text
}

func (want wantError) check(t *testing.T, err error) {
	t.Helper()
	_ = want.in(t, err)
}

// in checks and returns the error for more.
func (want wantError) in(t *testing.T, err error) *mcperrors.Error {
	t.Helper()
	var e *mcperrors.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, want.code, e.Code, "%v", e)
	require.Equal(t, want.kind, e.Kind, "%v", e)
	require.Contains(t, want.delivery, e.Delivery, "%v", e)
	for _, text := range want.says {
		require.Contains(t, e.Error(), text)
	}
	require.NotContains(t, e.Error(), "\n", "one line")
	raw, err := json.Marshal(e)
	require.NoError(t, err)
	require.Contains(t, string(raw), `"kind":"`+want.kind.String()+`"`)
	return e
}

// one is a list of one delivery.
func one(d mcperrors.Delivery) []mcperrors.Delivery { return []mcperrors.Delivery{d} }

// The client reports invalid input of the application itself: nothing is sent.
func TestBadInputNothingIsSent(t *testing.T) {
	t.Parallel()
	local := one(mcperrors.NotSent)
	tests := []struct {
		name, tool string
		args       any
		want       wantError
	}{
		{"wrong tool name", "ecko", map[string]any{"message": "m"}, wantError{mcperrors.CodeToolNotFound, mcperrors.KindNotFound, local, []string{"ecko"}}},
		{"wrong argument type", "echo", map[string]any{"message": 7}, wantError{mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, local, []string{"message", "string"}}},
		{"missing argument", "echo", map[string]any{}, wantError{mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, local, []string{"message"}}},
		{"no arguments", "echo", nil, wantError{mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, local, []string{"message"}}},
		{"a list for an object", "echo", []string{"message"}, wantError{mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, local, []string{"object"}}},
		{"no JSON", "echo", json.RawMessage(`{"message":`), wantError{mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, local, []string{"cannot be encoded"}}},
		{"what cannot be encoded", "echo", map[string]any{"message": func() {}}, wantError{mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, local, []string{"cannot be encoded"}}},
	}
	check := func(t *testing.T, c *client.Client, sent func() []string) {
		t.Helper()
		for _, tt := range tests {
			_, err := c.CallTool(t.Context(), tt.tool, tt.args)
			e := tt.want.in(t, err)
			require.Zero(t, e.Attempts, tt.name)
			require.Empty(t, e.RequestID, tt.name)
			require.Equal(t, "tools/call", e.Method, tt.name)
		}
		for _, frame := range sent() {
			require.NotContains(t, frame, "tools/call")
		}
		_, err := c.CallTool(t.Context(), "echo", map[string]any{"message": "m"})
		require.NoError(t, err)
		require.Contains(t, strings.Join(sent(), "\n"), "tools/call")
	}
	t.Run("HTTP", func(t *testing.T) {
		t.Parallel()
		s := newWebsite(t, nil)
		c, err := dialWebsite(t, s.url)
		require.NoError(t, err)
		check(t, c, s.received)
	})
	t.Run("program", func(t *testing.T) {
		t.Parallel()
		var mu sync.Mutex
		var sent []string
		c, err := dialProgram(t, "good", client.WithTrace(transport.Trace{Sent: func(frame []byte) {
			mu.Lock()
			defer mu.Unlock()
			sent = append(sent, string(frame))
		}}))
		require.NoError(t, err)
		check(t, c, func() []string {
			mu.Lock()
			defer mu.Unlock()
			return append([]string(nil), sent...)
		})
	})
}

// A program that is no server leads to one error, soon, with its output and its exit
// status.
func TestBadInputPrograms(t *testing.T) {
	t.Parallel()
	either := []mcperrors.Delivery{mcperrors.NotSent, mcperrors.Unknown} // it may end before or behind the write
	impatient := client.Resilience{Restart: client.Restart{StartTimeout: 200 * time.Millisecond}}
	tests := []struct {
		program string
		want    wantError
		process func(t *testing.T, p *mcperrors.ProcessEvidence)
	}{
		{
			"exit",
			wantError{mcperrors.CodeUnavailable, mcperrors.KindTransport, either, []string{"stopped before it answered", "exited with status 3", "API key is missing"}},
			func(t *testing.T, p *mcperrors.ProcessEvidence) {
				require.True(t, p.Exited)
				require.Equal(t, 3, p.Exit)
				require.Equal(t, []string{"fatal: API key is missing"}, p.Stderr)
			},
		},
		{
			"HTML",
			wantError{mcperrors.CodeUnavailable, mcperrors.KindTransport, either, []string{"exited with status 0", "<html>"}},
			func(t *testing.T, p *mcperrors.ProcessEvidence) { require.Contains(t, p.Noise, "<html>") },
		},
		{
			"silent",
			wantError{mcperrors.CodeTimeout, mcperrors.KindTimeout, one(mcperrors.Unknown), []string{"no answer", "Restart.StartTimeout"}},
			func(t *testing.T, p *mcperrors.ProcessEvidence) { require.False(t, p.Exited) },
		},
		{"truncated", wantError{mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, one(mcperrors.Answered), []string{"not a JSON-RPC message", "2025"}}, nil},
		{"huge", wantError{mcperrors.CodeIncompatible, mcperrors.KindTooLarge, one(mcperrors.Answered), []string{"the answer is larger than"}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.program, func(t *testing.T) {
			t.Parallel()
			var opts []client.Option
			if tt.program == "silent" {
				opts = append(opts, client.WithResilience(impatient))
			}
			_, err := dialProgram(t, tt.program, opts...)
			e := tt.want.in(t, err)
			require.Equal(t, "initialize", e.Method)
			require.NotNil(t, e.Process)
			if tt.process != nil {
				tt.process(t, e.Process)
			}
		})
	}
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		_, err := client.DialCommand(t.Context(), []string{filepath.Join(t.TempDir(), "no-such-server")}, sessionEra)
		wantError{mcperrors.CodeUnavailable, mcperrors.KindTransport, one(mcperrors.NotSent), []string{"no-such-server"}}.check(t, err)
	})
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		_, err := client.DialCommand(t.Context(), nil, sessionEra)
		wantError{mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, one(mcperrors.NotSent), []string{"no program"}}.check(t, err)
	})
}

// A banner is no reason to fail.
func TestBadInputBanner(t *testing.T) {
	t.Parallel()
	c, err := dialProgram(t, "banner")
	require.NoError(t, err)
	res, err := c.CallTool(t.Context(), "echo", map[string]any{"message": "m"})
	require.NoError(t, err)
	require.Equal(t, "done", res.Text())
}

// A spoilt answer fails its call at once, and the next call works.
func TestBadInputAnswers(t *testing.T) {
	t.Parallel()
	spoil := func(w http.ResponseWriter, _ *http.Request, req jsonrpc.Request) bool {
		id := req.ID.AppendJSON(nil)
		switch {
		case req.Method != "tools/call":
			return false
		case strings.Contains(string(req.Params), "huge"):
			writeJSON(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, id, strings.Repeat("x", 100<<10)))
		case strings.Contains(string(req.Params), "truncated"):
			writeJSON(w, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"ty`, id))
		default:
			return false
		}
		return true
	}
	check := func(t *testing.T, c *client.Client, err error) {
		t.Helper()
		require.NoError(t, err)
		for message, says := range map[string]string{"huge": "larger", "truncated": "not a JSON-RPC message"} {
			_, err := c.CallTool(t.Context(), "echo", map[string]any{"message": message})
			unusable(says).check(t, err)
			_, err = c.CallTool(t.Context(), "echo", map[string]any{"message": "m"})
			require.NoError(t, err)
		}
	}
	t.Run("HTTP", func(t *testing.T) {
		t.Parallel()
		c, err := dialWebsite(t, newWebsite(t, spoil).url)
		check(t, c, err)
	})
	t.Run("program", func(t *testing.T) {
		t.Parallel()
		c, err := dialProgram(t, "broken tools")
		check(t, c, err)
	})
}

// An address that is no server leads to an error that describes it.
func TestBadInputAddresses(t *testing.T) {
	t.Parallel()
	replying := func(status int, contentType, body string, header ...string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			flush(w, body)
		}))
		t.Cleanup(srv.Close)
		return srv.URL + "/mcp"
	}
	tests := []struct {
		name, url string
		status    int // of the evidence
		want      wantError
	}{
		{"closed port", "http://127.0.0.1:1", 0, wantError{mcperrors.CodeUnavailable, mcperrors.KindTransport, one(mcperrors.NotSent), []string{"cannot be reached", "refused"}}},
		{"no address", "", 0, wantError{mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, one(mcperrors.NotSent), []string{"https://host/path"}}},
		{"no such name", "http://no-such-host.invalid", 0, wantError{mcperrors.CodeUnavailable, mcperrors.KindTransport, one(mcperrors.NotSent), []string{"no-such-host.invalid"}}},
		{"HTML", replying(200, "text/html", "<html><h1>Portal</h1>"), 200, wantError{mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, one(mcperrors.Unknown), []string{"text/html", "MCP endpoint"}}},
		{"404", replying(404, "text/plain", "404 page not found"), 404, wantError{mcperrors.CodeUnavailable, mcperrors.KindTransport, one(mcperrors.Rejected), []string{"check the URL", "404"}}},
		{"401", replying(401, "text/plain", ""), 401, wantError{mcperrors.CodePermissionDenied, mcperrors.KindAuth, one(mcperrors.Rejected), []string{"401"}}},
		{"truncated JSON", replying(200, "application/json", `{"jsonrpc":"2.0","id":"`), 200, wantError{mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, one(mcperrors.Unknown), []string{"not a JSON-RPC message"}}},
		{"huge", replying(200, "application/json", strings.Repeat("x", 100<<10)), 200, wantError{mcperrors.CodeIncompatible, mcperrors.KindTooLarge, one(mcperrors.Unknown), []string{"larger than 64 KiB"}}},
		{"redirect", replying(302, "text/html", "", "Location", "/login?secret=1"), 302, wantError{mcperrors.CodeUnavailable, mcperrors.KindTransport, one(mcperrors.Unknown), []string{"/login"}}},
		{"empty stream", replying(200, "text/event-stream", ""), 200, wantError{mcperrors.CodeUnavailable, mcperrors.KindTransport, one(mcperrors.Unknown), []string{"ended before the answer"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := dialWebsite(t, tt.url)
			e := tt.want.in(t, err)
			require.NotContains(t, e.Error(), "secret")
			require.Equal(t, "initialize", e.Method)
			if tt.status == 0 {
				require.Nil(t, e.HTTP)
			} else {
				require.Equal(t, tt.status, e.HTTP.Status)
			}
		})
	}
}

// What is no name of a method is refused before anything is tried: no header
// holds what could end it.
func TestMethodsAreNames(t *testing.T) {
	t.Parallel()
	c, s := alone(t)
	before := len(s.received())
	for _, method := range []string{"acme/\r\nX-Evil: 1", "acme/\x00", "acme/\u00e9", "acme/ x", "acme/\x7f", ""} {
		_, err := c.Call(t.Context(), method, nil)
		for _, err := range []error{err, c.Notify(t.Context(), method, nil)} {
			var e *mcperrors.Error
			require.ErrorAs(t, err, &e, "%q", method)
			require.Equal(t, mcperrors.CodeInvalidRequest, e.Code)
			require.Equal(t, mcperrors.KindInvalidArguments, e.Kind)
			require.Equal(t, mcperrors.NotSent, e.Delivery)
			require.False(t, e.Retryable)
		}
	}
	require.Len(t, s.received(), before)
}
