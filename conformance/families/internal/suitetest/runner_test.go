package suitetest

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/artifact"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func TestRegistry(t *testing.T) {
	t.Parallel()
	scenarios, known := map[string]bool{}, map[string]bool{}
	for _, sc := range registry() {
		require.False(t, scenarios[sc.ID], sc.ID)
		scenarios[sc.ID] = true
		require.NotEmpty(t, sc.Title, sc.ID)
		require.NotEmpty(t, sc.Checks, sc.ID)
		require.Equal(t, len(sc.Needs.Tools) > 0, sc.Needs.SideEffects != "", "%s calls tools and says what that does", sc.ID)
		for _, c := range sc.Checks {
			require.False(t, known[c.ID], c.ID)
			known[c.ID] = true
			require.NotEmpty(t, c.Title, c.ID)
			require.Contains(t, []conformance.Level{conformance.Must, conformance.Should, conformance.May, conformance.Advice}, c.Level, c.ID)
			require.Contains(t, []conformance.Level{"", conformance.Must}, c.ProfileLevel, c.ID)
			require.LessOrEqual(t, len([]rune(c.Spec.Quote)), 200, c.ID)
			require.NotEqual(t, c.Spec.Section == "", c.Spec.Requirement == "", "%s has one source", c.ID)
			require.Equal(t, c.Spec.Section == "", c.Spec.Quote == "", "%s quotes the specification", c.ID)
		}
	}
}

// healthy returns a subject with nothing wrong but its features.
func healthy(features ...string) conformance.Subject {
	return conformance.InProcess(newFake(defect{features: features}, "", "", io.Discard).serve)
}

func statuses(r *conformance.Report) map[string]conformance.Result {
	out := map[string]conformance.Result{}
	for _, res := range r.Results {
		out[res.ID] = res
	}
	return out
}

// TestRun_Gates: why checks do not run, and that a skip is never a pass.
func TestRun_Gates(t *testing.T) {
	t.Parallel()
	report, err := runAll(t.Context(), healthy(), conformance.Options{
		SideEffects: conformance.SideEffectsReadOnly, AllowTools: []string{"limits"},
		Only: []string{"UTIL-01", "HTTP-19", "S0-VAL-*", "S0-STORE-*", "LC-11", "X-WIRE-10*"}, Skip: []string{"UTIL-01"},
	})
	require.NoError(t, err)
	got := statuses(report)
	for id, want := range map[string]conformance.SkipReason{
		"UTIL-01/operation":  conformance.SkipExcluded,
		"HTTP-19/get":        conformance.SkipTransport,
		"S0-STORE-01/fields": conformance.SkipSideEffects,
		"S0-VAL-02/epic":     conformance.SkipControl,
		"S0-VAL-13/after":    conformance.SkipControl,
		"LC-11/resources":    conformance.SkipNotDeclared,
	} {
		require.Equal(t, conformance.Skip, got[id].Status, id)
		require.Equal(t, want, got[id].Reason, id)
	}
	require.Equal(t, conformance.Pass, got["S0-VAL-01/rate"].Status, "a tool that says readOnlyHint")
	require.Equal(t, conformance.Pass, got["X-WIRE-10/enum"].Status, "a tool that was named")
	require.Equal(t, conformance.Passed, report.Verdict())
	require.Contains(t, report.Summary().SkippedAreas, "store_artifact")
	require.False(t, report.Policy.Granted)

	report, err = runAll(t.Context(), healthy(), conformance.Options{SideEffects: conformance.SideEffectsNone, Only: []string{"S0-*"}})
	require.NoError(t, err)
	require.Equal(t, conformance.VerdictInconclusive, report.Verdict(), "nothing was established")
	require.Equal(t, 10, report.ExitCode())
}

func TestRun_Revisions(t *testing.T) {
	t.Parallel()
	report, err := runAll(t.Context(), healthy(), conformance.Options{Revisions: []mcp.Version{mcp.Version2025_03_26}, Only: []string{"X-WIRE-07"}})
	require.NoError(t, err)
	require.Equal(t, "2025-03-26", report.Target.Revision)
	require.Equal(t, conformance.SkipNotInRevision, statuses(report)["TOOL-05/characters"].Reason)
}

// TestRun_GarbledVersions: a server that answers server/discover, and not with a
// list, is judged as one of the stateless era, too.
func TestRun_GarbledVersions(t *testing.T) {
	t.Parallel()
	const check = "DISC-03/versions"
	for said, judged := range map[any]bool{"2026-07-28": true, 7: true, nil: false} {
		garbled := rewritten{options: onlyFixtures, after: func(m fakeMessage, r reply) []any {
			if result, ok := r["result"].(reply); ok && m.method == mcp.MethodDiscover {
				result["supportedVersions"] = said
				if said == nil {
					delete(result, "supportedVersions")
				}
			}
			return []any{r}
		}}
		garbled.opts = func(o *conformance.Options) { o.Revisions = nil }
		got := garbled.judge(t, check)
		require.Equal(t, judged, got.Status == conformance.Fail, "%v: %+v", said, got)
	}
}

// TestRun_NoDiscover: a server that answers requests of the stateless era is judged by its
// rules, one of which is that it knows server/discover.
func TestRun_NoDiscover(t *testing.T) {
	t.Parallel()
	const check = "DISC-01/answered"
	for stateless, want := range map[bool]conformance.Status{true: conformance.Fail, false: conformance.Skip} {
		forgetful := rewritten{options: onlyFixtures, after: func(m fakeMessage, r reply) []any {
			switch {
			case m.method == mcp.MethodDiscover:
				delete(r, "result")
				r["error"] = reply{"code": -32601, "message": "Method not found"}
			case m.method == mcp.MethodToolsList && !stateless && r["error"] != nil:
				delete(r, "error")
				r["result"] = reply{"tools": []any{}, "resultType": "complete"}
			}
			return []any{r}
		}}
		forgetful.opts = func(o *conformance.Options) { o.Revisions = nil }
		got := forgetful.judge(t, check)
		require.Equal(t, want, got.Status, "stateless %v: %+v", stateless, got)
	}
}

// TestRun_DeclaredFamily: a family that is announced and not there fails.
func TestRun_DeclaredFamily(t *testing.T) {
	t.Parallel()
	d := result(mcp.MethodToolsList, func(_ *fakeConn, _ fakeMessage, r reply) {
		r["tools"] = []any{fakeTools()[2]}
		delete(r, "nextCursor")
	})
	report, err := runAll(t.Context(), conformance.InProcess(newFake(d.defect, "", "", io.Discard).serve), conformance.Options{Only: []string{"S0-VAL-01"}})
	require.NoError(t, err)
	require.Equal(t, conformance.Fail, statuses(report)["S0-VAL-01/rate"].Status)
	require.Equal(t, conformance.Failed, report.Verdict())
	require.Equal(t, 1, report.ExitCode())
}

func TestRun_Options(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]conformance.Options{
		"a pattern that matches nothing": {Only: []string{"S9-*"}},
		"a skip that matches nothing":    {Skip: []string{"nope"}},
		"an unknown revision":            {Revisions: []mcp.Version{"1999-01-01"}},
		"unknown side effects":           {SideEffects: "some"},
	} {
		_, err := runAll(t.Context(), healthy(), o)
		require.Error(t, err, name)
	}
}

// TestRun_Unreachable: a subject that never answers is an error, not a report.
func TestRun_Unreachable(t *testing.T) {
	t.Parallel()
	var unreachable *conformance.UnreachableError
	_, err := runAll(t.Context(), conformance.URL("http://127.0.0.1:1/mcp", nil), conformance.Options{})
	require.ErrorAs(t, err, &unreachable)
	_, err = runAll(t.Context(), conformance.URL("ftp://example.com", nil), conformance.Options{})
	require.ErrorAs(t, err, &unreachable)
	_, err = runAll(t.Context(), conformance.Command(nil, nil), conformance.Options{})
	require.ErrorAs(t, err, &unreachable)
	_, err = runAll(t.Context(), conformance.Command([]string{filepath.Join(t.TempDir(), "no-such-program")}, nil), conformance.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)

	silent := conformance.FuncSubject{Serve: func(ctx context.Context, in io.Reader, _ io.Writer) error {
		_, err := io.Copy(io.Discard, in)
		return err
	}, Grace: time.Second}
	_, err = runAll(t.Context(), silent, conformance.Options{StartTimeout: 50 * time.Millisecond})
	require.ErrorAs(t, err, &unreachable)
	require.ErrorIs(t, err, wire.ErrNoAnswer)

	if runtime.GOOS != "windows" {
		_, err = runAll(t.Context(), conformance.Command([]string{"sh", "-c", "echo DB_URL is not set >&2; exit 3"}, nil), conformance.Options{})
		require.ErrorAs(t, err, &unreachable)
		require.Equal(t, 3, unreachable.Exit)
		require.Contains(t, unreachable.Stderr, "DB_URL is not set")
	}
}

// TestRun_WrongAnswer: a server that answers, wrongly, is judged.
func TestRun_WrongAnswer(t *testing.T) {
	t.Parallel()
	d := lifecycleDefects()["LC-01/answered"].defect
	report, err := runAll(t.Context(), conformance.InProcess(newFake(d, "", "", io.Discard).serve), conformance.Options{Answer: time.Second})
	require.NoError(t, err)
	got := statuses(report)
	require.Equal(t, conformance.Fail, got["LC-01/answered"].Status)
	require.NotEmpty(t, got["LC-01/answered"].Evidence)
	require.Equal(t, conformance.Inconclusive, got["X-WIRE-03/method"].Status, "what builds on a session is inconclusive")
	require.Equal(t, conformance.Failed, report.Verdict())
}

// TestRun_Lost: a server that goes away in the middle leaves what comes after
// unknown, never passed, and is started again for the next scenario.
func TestRun_Lost(t *testing.T) {
	t.Parallel()
	d := onLine(`"größe-`).defect
	d.features = []string{"dies"}
	d.raw = func(c *fakeConn, line []byte) ([]any, bool) {
		if bytes.Contains(line, []byte("größe-")) {
			c.dead = true
		}
		return nil, c.dead
	}
	opts := conformance.Options{Only: []string{"base", "errors"}, Answer: 500 * time.Millisecond}
	if testmain.Race {
		opts.Skip = []string{"RPC-22"} // 8 MiB, read ten times as slowly
	}
	report, err := runAll(t.Context(), conformance.InProcess(newFake(d, "", "", io.Discard).serve), opts)
	require.NoError(t, err)
	got := statuses(report)
	require.Equal(t, conformance.Pass, got["X-WIRE-04/large"].Status)
	require.Equal(t, conformance.Fail, got["X-WIRE-04/unicode"].Status)
	require.Equal(t, conformance.Inconclusive, got["X-WIRE-04/error"].Status)
	require.Equal(t, conformance.Pass, got["X-WIRE-03/method"].Status)
}

// TestRun_Hostile: nothing a server writes stops the suite.
func TestRun_Hostile(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(w io.Writer) error{
		"an endless line": func(w io.Writer) error {
			block := bytes.Repeat([]byte("x"), 1<<20)
			for range 40 {
				if _, err := w.Write(block); err != nil {
					return err
				}
			}
			return nil
		},
		"a flood of notifications": func(w io.Writer) error {
			for range 20_000 {
				if _, err := io.WriteString(w, `{"jsonrpc":"2.0","method":"notifications/x"}`+"\n"); err != nil {
					return err
				}
			}
			return nil
		},
		"bytes that are no text": func(w io.Writer) error {
			_, err := w.Write([]byte("\xff\xfe\x00\n[]\nnull\n7\n{\n"))
			return err
		},
		"a hang": func(io.Writer) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			subject := conformance.FuncSubject{Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
				if err := write(out); err != nil {
					return err
				}
				<-ctx.Done()
				return ctx.Err()
			}, Grace: 50 * time.Millisecond}
			report, err := runAll(t.Context(), subject, conformance.Options{
				Only: []string{"LC-01", "RPC-01", "STDIO-01/clean"}, Answer: 100 * time.Millisecond, StartTimeout: 100 * time.Millisecond,
			})
			if err != nil {
				var unreachable *conformance.UnreachableError
				require.ErrorAs(t, err, &unreachable)
				return
			}
			require.NotEqual(t, conformance.Passed, report.Verdict())
		})
	}
}

// TestCommand_LeavesNothing: what a program starts ends with it.
func TestCommand_LeavesNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("windows has no process groups")
	}
	pidFile := filepath.Join(t.TempDir(), "pid")
	script := `sleep 600 & echo $! > "$PIDFILE"; trap '' TERM; while :; do sleep 1; done`
	s := conformance.Command([]string{"sh", "-c", script}, append(os.Environ(), "PIDFILE="+pidFile))
	s.Grace = 100 * time.Millisecond
	_, err := runAll(t.Context(), s, conformance.Options{StartTimeout: 500 * time.Millisecond})
	require.Error(t, err)
	data, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	require.NoError(t, err)
	gone := func() bool {
		// A killed child of a dead parent may stay a zombie for a moment.
		out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
		return err != nil || strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
	}
	require.True(t, wire.WaitUntil(t.Context(), 5*time.Second, gone), "the grandchild lives")
}

// TestStarvedReader: who hardly looked at a file while it was written says nothing of
// what a reader sees.
func TestStarvedReader(t *testing.T) {
	t.Parallel()
	const writes = 20
	stores, over := 0, make(chan struct{})
	b := broken{defect: defect{after: func(_ *fakeConn, m fakeMessage, r reply) []any {
		if m.method == mcp.MethodToolsCall {
			if stores++; stores == artifact.BusyReader*writes+1 { // the first makes the file
				close(over)
			}
		}
		return []any{r}
	}}}
	subject, fixtures := b.subject(t, "S0-STORE-09", "")
	binds := true
	fixtures.PermissionsEnforced, fixtures.ConcurrentWrites = &binds, writes
	fixtures.ReadStored = func(name string) ([]byte, error) {
		<-over
		return os.ReadFile(name)
	}
	report, err := runAll(t.Context(), subject, conformance.Options{
		Only: []string{"S0-STORE-09"}, Revisions: []mcp.Version{mcp.LatestSession}, Fixtures: around(fixtures),
	})
	require.NoError(t, err)
	got := statuses(report)["S0-STORE-09"]
	require.Equal(t, conformance.Inconclusive, got.Status)
	require.Regexp(t, `^the file was read during [01] of 200 writes: `, got.Detail)
}
