package suitetest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/reference"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestFair_OneDeclared: a server that declares one kind of news is judged by that.
func TestFair_OneDeclared(t *testing.T) {
	t.Parallel()
	only := func(list, member string) rewritten {
		return rewritten{after: func(m fakeMessage, r reply) []any {
			result, ok := r["result"].(reply)
			if !ok || m.method != mcp.MethodDiscover {
				return []any{r}
			}
			for _, feature := range []string{"tools", "prompts", "resources"} {
				if c, there := result["capabilities"].(reply)[feature].(reply); there {
					for name := range c {
						if feature != list || name != member {
							delete(c, name)
						}
					}
				}
			}
			return []any{r}
		}}
	}
	for _, each := range [][2]string{{"resources", "listChanged"}, {"prompts", "listChanged"}, {"resources", "subscribe"}, {"resources", "none"}} {
		list, member := each[0], each[1]
		t.Run(list+"."+member, func(t *testing.T) {
			t.Parallel()
			want := conformance.Pass
			if member == "none" {
				want = conformance.Skip
			}
			for _, id := range []string{"CHG-04/first", "CHG-04/honoured", "CHG-04/subset", "CHG-07/closed"} {
				got := only(list, member).judge(t, id)
				require.Equal(t, want, got.Status, "%s: %s %s", id, got.Actual, got.Detail)
			}
			broken := only(list, member)
			broken.note = dropped(mcp.MethodSubscriptionsAcknowledged)
			if got := broken.judge(t, "CHG-04/first"); member != "none" {
				require.Equal(t, conformance.Fail, got.Status, got.Detail)
			}
		})
	}
}

// TestFair_DataLines: an event may have its message on several data lines.
func TestFair_DataLines(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer := reply{"jsonrpc": "2.0", "id": m.ID}
		switch m.Method {
		case mcp.MethodInitialize:
			answer["result"] = reply{"protocolVersion": mcp.LatestSession, "capabilities": reply{}, "serverInfo": reply{"name": "lines", "version": "1"}}
		case mcp.MethodPing:
			answer["result"] = reply{}
		default:
			answer["error"] = reply{"code": wire.CodeMethodNotFound, "message": "unknown"}
		}
		text, err := json.MarshalIndent(answer, "", " ")
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for line := range bytes.Lines(append(text, '\n')) {
			_, _ = w.Write(append([]byte("data: "), line...)) // the suite has gone
		}
		_, _ = w.Write([]byte("\n"))
	}))
	t.Cleanup(server.Close)
	report, err := runAll(t.Context(), conformance.URL(server.URL, nil), conformance.Options{
		Only: []string{"LC-01/*", "UTIL-01/*", "X-WIRE-03/method", "X-WIRE-04/*", "SSE-01/*", "RPC-01/*"}, Revisions: []mcp.Version{mcp.LatestSession},
	})
	require.NoError(t, err)
	passed := 0
	for _, res := range report.Results {
		require.NotEqual(t, conformance.Inconclusive, res.Status, "%s: %s", res.ID, res.Detail)
		if res.Status == conformance.Pass {
			passed++
		}
	}
	require.Greater(t, passed, 15)
	for _, id := range []string{"SSE-01/message", "X-WIRE-04/case", "UTIL-01/operation", "X-WIRE-03/method"} {
		require.Equal(t, conformance.Pass, statuses(report)[id].Status, id)
	}
}

// TestFair_Farewell: what a program prints once the suite ends it is no line between messages.
func TestFair_Farewell(t *testing.T) {
	t.Parallel()
	srv, err := reference.New(reference.Options{Families: []string{"fixtures"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	farewell := func(ctx context.Context, in io.Reader, out io.Writer) error {
		err := srv.ServeStdio(ctx, in, out)
		_, _ = io.WriteString(out, "Shutting down\n") // a client that has gone reads nothing
		return err
	}
	subjects := map[string]conformance.Subject{"at the end of its input": conformance.InProcess(farewell)}
	if _, err := exec.LookPath("bash"); err == nil {
		const script = `exec 3<&0; trap 'echo Shutting down; exit 0' TERM; "$0" <&3 & wait`
		subjects["at a signal"] = conformance.Command([]string{"bash", "-c", script, os.Args[0]}, append(os.Environ(), envFake+"="))
	}
	for name, subject := range subjects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, err := runAll(t.Context(), subject, conformance.Options{Revisions: []mcp.Version{mcp.LatestSession}, Only: []string{"SEEN-STDIO", "STDIO-06", "STDIO-08*", "X-SHUT-01"}})
			require.NoError(t, err)
			got := statuses(report)
			require.Equal(t, conformance.Pass, got["STDIO-01/clean"].Status, got["STDIO-01/clean"].Actual)
			if name == "at a signal" {
				require.Equal(t, conformance.Pass, got["STDIO-06/term"].Status, got["STDIO-06/term"].Actual)
			} else {
				require.NotEqual(t, conformance.Pass, got["STDIO-08/after"].Status)
			}
		})
	}
}
