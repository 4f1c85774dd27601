package checks

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestGentle: a gentle run sends nothing that a careful client would not send, at most two messages
// a second and 200 KB, and calls only tools that are marked as read-only. The server judges it, in
// virtual time.
func TestGentle(t *testing.T) {
	t.Parallel()
	refuses := func(method string, good object) object {
		if method == mcp.MethodInitialize || method == mcp.MethodDiscover {
			return good
		}
		return object{"jsonrpc": "2.0", "id": good["id"], "error": object{"code": -32603, "message": "no"}}
	}
	silent := func(method string, good object) object {
		if method == mcp.MethodToolsCall || method == mcp.MethodPromptsGet {
			return nil
		}
		return good
	}
	for _, c := range []struct {
		name   string
		server func(w *watchful)
		// well: the server keeps all rules, and must not fail because of how little is sent.
		well bool
	}{
		{"both eras", func(*watchful) {}, true},
		{"sessions alone", func(w *watchful) { w.stateless = false }, true},
		{"refuses", func(w *watchful) { w.answer = refuses }, false},
		{"silent", func(w *watchful) { w.answer = silent }, false},
		{"hangs up", func(w *watchful) { w.hangsUp = mcp.MethodToolsCall }, false},
	} {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(c.name+" over "+transport, func(t *testing.T) {
				t.Parallel()
				w := newWatchful(t)
				c.server(w)
				synctest.Test(t, func(t *testing.T) {
					report := runGently(t, w, transport)
					require.Empty(t, w.faults)
					require.LessOrEqual(t, w.most(time.Second), 2, "messages in a second")
					require.LessOrEqual(t, w.bytes, 200_000)
					require.LessOrEqual(t, len(w.called), len(readOnly), "%v", w.called)
					gentle := 0
					for _, res := range report.Results {
						if res.Reason == conformance.SkipGentle {
							gentle++
							require.Contains(t, res.Detail, "--gentle", res.ID)
						}
						if c.well {
							require.NotContains(t, []conformance.Status{conformance.Fail, conformance.Inconclusive, conformance.Error}, res.Status, "%s: %s %s %s", res.ID, res.Detail, res.Expected, res.Actual)
						}
					}
					require.Greater(t, gentle, 100)
					t.Logf("%s, %d messages, %d bytes, %d checks not run, %s", report.Duration, len(w.times), w.bytes, gentle, report.Verdict())
				})
			})
		}
	}
}

func runGently(t *testing.T, w *watchful, transport string) *conformance.Report {
	t.Helper()
	subject := conformance.InProcess(w.serve)
	if transport == "http" {
		pipes := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
		server := &http.Server{Handler: w}
		var served sync.WaitGroup
		served.Go(func() { _ = server.Serve(pipes) })
		client := &http.Transport{DialContext: pipes.dial, DisableCompression: true}
		defer served.Wait()
		defer func() { _ = server.Close() }()
		defer client.CloseIdleConnections()
		at := conformance.URL("http://server.test/mcp", nil)
		at.RoundTripper = client
		subject = at
	}
	report, err := Run(t.Context(), subject, conformance.Options{Gentle: true})
	require.NoError(t, err)
	require.True(t, report.Policy.Gentle)
	require.Equal(t, string(conformance.SideEffectsReadOnly), report.Policy.SideEffects)
	return report
}

// pipeListener accepts connections within a process, whose waits virtual time knows.
type pipeListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (l *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// TestGentle_Options: what contradicts a gentle run is an error before anything is sent.
func TestGentle_Options(t *testing.T) {
	t.Parallel()
	for _, o := range []conformance.Options{
		{SideEffects: conformance.SideEffectsAll},
		{AllowTools: []string{"search"}},
		{Calls: conformance.Calls{Tools: map[string]conformance.ToolCalls{"search": {}}}},
		{Parallel: 2},
	} {
		o.Gentle = true
		_, err := Run(t.Context(), conformance.URL("http://server.test/mcp", nil), o)
		require.ErrorContains(t, err, "gentle")
	}
}

// TestGentle_Plan: a plan shows the checks that a gentle run leaves out.
func TestGentle_Plan(t *testing.T) {
	t.Parallel()
	w := newWatchful(t)
	synctest.Test(t, func(t *testing.T) {
		plan, err := Plan(t.Context(), conformance.InProcess(w.serve), conformance.Options{Gentle: true})
		require.NoError(t, err)
		reasons := map[conformance.SkipReason]int{}
		for _, p := range plan {
			reasons[p.Reason]++
			require.False(t, p.Runs && strings.HasPrefix(p.ID, "X-WIRE-12"), p.ID)
		}
		require.Greater(t, reasons[conformance.SkipGentle], 100)
		require.Greater(t, reasons[""], 60)
	})
}
