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
	srv, err := reference.New(reference.Options{Families: []string{"fixtures"}, SSE: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		srv.Handler().ServeHTTP(&dataLines{w}, r)
	}))
	t.Cleanup(server.Close)
	for _, subject := range []*conformance.URLSubject{conformance.URL(server.URL+reference.Path, nil), overSSE(server.URL)} {
		report, err := runAll(t.Context(), subject, conformance.Options{
			Only: []string{"TOOL-01", "TOOL-13-*", "UTIL-08", "X-WIRE-04", "SEEN-HTTP", "SEEN-SSE", "SEEN-BASE", "CHG-04"}, SideEffects: conformance.SideEffectsAll,
		})
		require.NoError(t, err)
		passed := 0
		for _, res := range report.Results {
			require.Contains(t, []conformance.Status{conformance.Pass, conformance.Skip}, res.Status, "%s: %s %s", res.ID, res.Actual, res.Detail)
			if res.Status == conformance.Pass {
				passed++
			}
		}
		require.Greater(t, passed, 15)
	}
}

// dataLines writes each message of an event stream on many data lines.
type dataLines struct{ http.ResponseWriter }

func (w *dataLines) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *dataLines) Write(data []byte) (int, error) {
	if wire.MediaType(w.Header()) != wire.MediaStream {
		return w.ResponseWriter.Write(data)
	}
	var out, lines bytes.Buffer
	for line := range bytes.Lines(data) {
		payload, isData := bytes.CutPrefix(line, []byte("data: "))
		lines.Reset()
		if !isData || json.Indent(&lines, bytes.TrimSpace(payload), "", " ") != nil {
			out.Write(line)
			continue
		}
		for part := range bytes.Lines(append(lines.Bytes(), '\n')) {
			out.WriteString("data: ")
			out.Write(part)
		}
	}
	_, err := w.ResponseWriter.Write(out.Bytes())
	return len(data), err
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
