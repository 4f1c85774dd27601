package suitetest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/reference"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// obliging is a server that serves whatever it is sent, good or bad: it breaks
// every rule about what has to be refused.
var obliging = defect{
	raw: func(_ *fakeConn, line []byte) ([]any, bool) {
		in := wire.Received(line, nil)
		if in.Method() == mcp.MethodInitialize || in.Method() == mcp.MethodInitialized || in.Method() == mcp.MethodToolsList {
			return nil, false
		}
		if id := in.Members["id"]; id != nil || in.Members == nil {
			return []any{success(id, reply{})}, true
		}
		return nil, true
	},
	after: func(c *fakeConn, m fakeMessage, r reply) []any {
		switch m.method {
		case mcp.MethodInitialize:
			if r["error"] != nil {
				r = success(m.id, c.initialize(m))
			}
			capabilities := r["result"].(reply)["capabilities"].(reply)
			delete(capabilities["experimental"].(reply), "errorProfiles")
			capabilities["logging"], capabilities["completions"], capabilities["prompts"] = reply{}, reply{}, reply{}
		case mcp.MethodToolsList:
			r = success(m.id, reply{"tools": []any{fakeTools()[2]}})
		}
		return []any{r}
	},
}

// mortal is serve with a life of n messages in each conversation.
func mortal(serve wire.Serve, n int) wire.Serve {
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		cut, write := io.Pipe()
		done := make(chan struct{})
		go func() {
			defer close(done)
			lines := bufio.NewReader(in)
			for range n {
				line, err := lines.ReadBytes('\n')
				if err != nil {
					break
				}
				_, _ = write.Write(line) // a server that has ended reads nothing
			}
			_ = write.Close()
		}()
		err := serve(ctx, cut, out)
		_ = cut.Close()
		return err
	}
}

// failingAfter is a handler that answers 500 to everything after n requests.
func failingAfter(next http.Handler, n int64) http.Handler {
	var count atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if count.Add(1) > n {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		next.ServeHTTP(w, r)
	})
}

var lostOptions = conformance.Options{
	Revisions: []mcp.Version{mcp.LatestSession}, Answer: time.Second, SideEffects: conformance.SideEffectsNone,
	Skip: []string{"SEEN-*", "RPC-22*", "STDIO-02/large"},
}

// TestLoss_PassesNothing: what a server fails as long as it lives, it does not
// pass by dying.
func TestLoss_PassesNothing(t *testing.T) {
	t.Parallel()
	alive, err := runAll(t.Context(), conformance.FuncSubject{Serve: newFake(obliging, "", "", io.Discard).serve, Grace: time.Second}, lostOptions)
	require.NoError(t, err)
	living, failed := statuses(alive), 0
	for _, res := range living {
		if res.Status == conformance.Fail || res.Status == conformance.Warn {
			failed++
		}
	}
	require.Greater(t, failed, 20, "an obliging server has to break many rules for this test to say anything")
	deaths := []int{2, 3, 4, 6, 9}
	if testmain.Race { // when it ends is nothing to the goroutines
		deaths = []int{4}
	}
	for _, n := range deaths {
		t.Run(fmt.Sprintf("after %d messages", n), func(t *testing.T) {
			t.Parallel()
			report, err := runAll(t.Context(), conformance.FuncSubject{Serve: mortal(newFake(obliging, "", "", io.Discard).serve, n), Grace: time.Second}, lostOptions)
			require.NoError(t, err)
			compareLoss(t, living, report)
		})
	}
}

// TestLoss_HTTPPassesNothing: the same of a server that answers 500 in the end.
func TestLoss_HTTPPassesNothing(t *testing.T) {
	t.Parallel()
	over := func(t *testing.T, n int64) *conformance.Report {
		t.Helper()
		server := httptest.NewServer(failingAfter(newFakeHTTP(newFake(obliging, "", "", io.Discard)), n))
		t.Cleanup(server.Close)
		report, err := runAll(t.Context(), conformance.URL(server.URL, nil), lostOptions)
		require.NoError(t, err)
		return report
	}
	living := statuses(over(t, 1<<40))
	for _, n := range []int64{10, 40, 100} {
		if testmain.Race && n != 40 { // as above
			continue
		}
		t.Run(fmt.Sprintf("after %d requests", n), func(t *testing.T) {
			t.Parallel()
			compareLoss(t, living, over(t, n))
		})
	}
}

func compareLoss(t *testing.T, living map[string]conformance.Result, lost *conformance.Report) {
	t.Helper()
	for id, res := range statuses(lost) {
		was := living[id]
		if was.Status == conformance.Fail || was.Status == conformance.Warn {
			if res.Status == conformance.Pass {
				t.Errorf("%s passes by the loss of the server, which fails it: %s", id, was.Actual)
			}
		}
	}
}

// mortalHTTP is a server that ends with its connections after some requests.
func mortalHTTP(t *testing.T, requests int64) *conformance.URLSubject {
	t.Helper()
	handler := newFakeHTTP(newFake(defect{}, "", "", io.Discard))
	var count atomic.Int64
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if count.Add(1) > requests {
			_ = server.Listener.Close() // nobody can connect any more
			panic(http.ErrAbortHandler)
		}
		handler.ServeHTTP(w, r)
	})
	server.Start()
	t.Cleanup(server.Close)
	return conformance.URL(server.URL, nil)
}

// TestLoss_IsNoFault: a server that is gone broke no rule of those by that.
func TestLoss_IsNoFault(t *testing.T) {
	t.Parallel()
	run := func(limit int64) map[string]conformance.Result {
		report, err := runAll(t.Context(), mortalHTTP(t, limit), conformance.Options{
			Revisions: []mcp.Version{mcp.LatestSession}, Answer: time.Second, Only: []string{"LC-*", "RPC-*"}, SideEffects: conformance.SideEffectsNone,
		})
		require.NoError(t, err)
		return statuses(report)
	}
	living, unknown := run(1<<40), 0
	for id, res := range run(12) {
		if res.Status == conformance.Inconclusive {
			unknown++
		}
		if s := living[id].Status; s != conformance.Fail && s != conformance.Warn {
			require.NotContains(t, []conformance.Status{conformance.Fail, conformance.Warn}, res.Status, "%s: %s", id, res.Actual)
		}
	}
	require.Greater(t, unknown, 20)
}

// TestLoss_Gone: one check tells when a server was lost that cannot be started again.
func TestLoss_Gone(t *testing.T) {
	t.Parallel()
	for requests, want := range map[int64]conformance.Status{1 << 40: conformance.Pass, 12: conformance.Fail} {
		report, err := runAll(t.Context(), mortalHTTP(t, requests), conformance.Options{
			Revisions: []mcp.Version{mcp.LatestSession}, Answer: time.Second, Only: []string{"RPC-*", goneCheck}, SideEffects: conformance.SideEffectsNone,
		})
		require.NoError(t, err)
		got := statuses(report)[goneCheck]
		require.Equal(t, want, got.Status)
		if want == conformance.Fail {
			require.Contains(t, got.Actual, "nobody listens")
			require.NotEmpty(t, got.Evidence)
		}
	}
}

// goneCheck is the check of [TestLoss_Gone].
const goneCheck = "HTTP-28/there"

// TestLoss_SlowEnds: a server that never ends on its own is waited for twice.
func TestLoss_SlowEnds(t *testing.T) {
	t.Parallel()
	serve := newFake(defect{stays: "always"}, "", "", io.Discard).serve
	begin := time.Now()
	report, err := runAll(t.Context(), conformance.FuncSubject{Serve: serve, Grace: 2 * time.Second}, conformance.Options{
		Revisions: []mcp.Version{mcp.LatestSession}, Only: []string{"LC-01*", "STDIO-08/ends"},
	})
	require.NoError(t, err)
	require.Less(t, time.Since(begin), 25*time.Second)
	require.Contains(t, []conformance.Status{conformance.Fail, conformance.Warn}, statuses(report)["STDIO-08/ends"].Status)
	require.True(t, bytes.Contains([]byte(statuses(report)["STDIO-08/ends"].Actual), []byte("stopped")))
}

// dyingOnce is serve, and a start that ends when it is asked for the first time.
func dyingOnce(serve wire.Serve, start int64) wire.Serve {
	var starts atomic.Int64
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		if starts.Add(1) == start {
			_, err := in.Read(make([]byte, 1))
			return err
		}
		return serve(ctx, in, out)
	}
}

// TestLoss_WhileStarting: a program that ends once while it starts breaks no rule,
// whichever of its starts it is. What was to be judged then is open.
func TestLoss_WhileStarting(t *testing.T) {
	t.Parallel()
	opts := conformance.Options{Revisions: []mcp.Version{mcp.LatestSession}, Answer: time.Second, Only: []string{"LC-*", "UTIL-01*"}}
	good := newFake(defect{}, "", "", io.Discard).serve
	var starts atomic.Int64
	report, err := runAll(t.Context(), conformance.InProcess(func(ctx context.Context, in io.Reader, out io.Writer) error {
		starts.Add(1)
		return good(ctx, in, out)
	}), opts)
	require.NoError(t, err)
	living, open := statuses(report), 0
	require.Greater(t, starts.Load(), int64(20))
	for n := int64(4); n <= starts.Load(); n++ { // the first ones meet it
		report, err := runAll(t.Context(), conformance.InProcess(dyingOnce(good, n)), opts)
		require.NoError(t, err)
		require.Len(t, report.Results, len(living))
		for _, res := range report.Results {
			if want := living[res.ID].Status; want != res.Status {
				require.Equal(t, conformance.Inconclusive, res.Status, "%s at start %d: expected %s, got %s", res.ID, n, res.Expected, res.Actual)
				require.Contains(t, res.Detail, "closed the connection", "%s", res.ID)
				open++
			}
		}
	}
	require.Greater(t, open, 20)
}

// TestLoss_WhileStartingProgram: how such a program ended is evidence.
func TestLoss_WhileStartingProgram(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs sh")
	}
	const script = `echo x >> "$STARTS"
if [ $(wc -l < "$STARTS") -eq 5 ]; then read line; echo no port is free >&2; exit 3; fi
exec "$0"`
	s := conformance.Command([]string{"sh", "-c", script, os.Args[0]}, append(os.Environ(), envFake+"=", "STARTS="+filepath.Join(t.TempDir(), "starts")))
	report, err := runAll(t.Context(), s, conformance.Options{Revisions: []mcp.Version{mcp.LatestSession}, Only: []string{"LC-03/2*"}})
	require.NoError(t, err)
	var details []string
	for _, res := range report.Results {
		require.NotEqual(t, conformance.Fail, res.Status, "%s: %s", res.ID, res.Actual)
		if res.Status == conformance.Inconclusive {
			details = append(details, res.Detail)
			require.NotEmpty(t, res.Evidence)
		}
	}
	require.Equal(t, []string{
		"the server closed the connection before it answered anything (status 3: no port is free), but not when it received the same messages again",
	}, details)
}

// TestLoss_OneRule: a message that ends the server twice fails the check that it is about,
// whichever step of the scenario sends it. The rest is judged on a new session, or open, and so is all
// of it if the server ends once.
func TestLoss_OneRule(t *testing.T) {
	t.Parallel()
	const ended = "the server closed the connection"
	for name, c := range map[string]struct {
		at    string // the server ends when it reads this
		times int64
		want  map[string]conformance.Status
	}{
		"a step before the check": {`"tools/list"`, 1 << 40, map[string]conformance.Status{
			"TOOL-01/list": conformance.Fail, "TOOL-01/params": conformance.Inconclusive, "X-WIRE-07/names": conformance.Inconclusive,
		}},
		"the check":       {"notifications/com.example/unknown", 1 << 40, map[string]conformance.Status{"X-WIRE-05/unknown": conformance.Fail, "X-WIRE-05/bad-params": conformance.Pass, "X-WIRE-05/alive": conformance.Inconclusive}},
		"no other check":  {`{"not":"an id"}`, 1 << 40, map[string]conformance.Status{"X-WIRE-05/unknown": conformance.Pass, "X-WIRE-05/bad-params": conformance.Fail, "X-WIRE-05/cancelled": conformance.Pass, "X-WIRE-05/alive": conformance.Inconclusive}},
		"once":            {`{"not":"an id"}`, 1, map[string]conformance.Status{"X-WIRE-05/unknown": conformance.Pass, "X-WIRE-05/bad-params": conformance.Inconclusive, "X-WIRE-05/cancelled": conformance.Pass, "X-WIRE-05/alive": conformance.Pass}},
		"once, in a step": {`"AbC-dEf-1"`, 1, map[string]conformance.Status{"X-WIRE-04/string": conformance.Pass, "X-WIRE-04/case": conformance.Inconclusive, "X-WIRE-04/zero": conformance.Pass}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, err := reference.New(reference.Options{Families: []string{"fixtures"}})
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, srv.Close()) })
			var times atomic.Int64
			serve := endsAt(srv.ServeStdio, func(line []byte) bool {
				return bytes.Contains(line, []byte(c.at)) && times.Add(1) <= c.times
			})
			report, err := runAll(t.Context(), conformance.InProcess(serve), conformance.Options{
				Revisions: []mcp.Version{mcp.LatestSession}, Only: []string{"X-WIRE-04", "X-WIRE-05", "X-WIRE-07", "TOOL-01"}, SideEffects: conformance.SideEffectsNone,
			})
			require.NoError(t, err)
			got := statuses(report)
			for id, want := range c.want {
				require.Equal(t, want, got[id].Status, "%s: %s %s", id, got[id].Actual, got[id].Detail)
				switch want {
				case conformance.Fail:
					require.Contains(t, got[id].Actual, ended)
					require.True(t, slices.ContainsFunc(got[id].Evidence, func(f conformance.Frame) bool {
						return f.Dir == conformance.ToServer && bytes.Contains(f.Data, []byte(c.at))
					}), "%s: the message is no evidence", id)
				case conformance.Inconclusive:
					require.Contains(t, got[id].Detail, ended)
				case conformance.Pass, conformance.Warn, conformance.Skip, conformance.Error:
				}
			}
		})
	}
}

// TestLoss_Stderr: what a program says when it exits is evidence of the failure.
func TestLoss_Stderr(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("needs bash")
	}
	const script = `while read -r line; do case "$line" in *AbC-dEf-1*) echo KeyError: AbC >&2; exit 3;; esac; printf '%s\n' "$line"; done | "$0"; exit ${PIPESTATUS[0]}`
	s := conformance.Command([]string{"bash", "-c", script, os.Args[0]}, append(os.Environ(), envFake+"="))
	report, err := runAll(t.Context(), s, conformance.Options{Revisions: []mcp.Version{mcp.LatestSession}, Only: []string{"X-WIRE-04"}})
	require.NoError(t, err)
	got := statuses(report)["X-WIRE-04/case"]
	require.Equal(t, conformance.Fail, got.Status, got.Detail)
	require.Contains(t, got.Actual, "the server closed the connection (status 3: KeyError: AbC)")
}
