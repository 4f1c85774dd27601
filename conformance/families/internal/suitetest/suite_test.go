package suitetest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// envFake makes this test binary a fake server, with the defect of a check.
const envFake = "CONFORMANCE_TEST_FAKE"

func TestMain(m *testing.M) {
	if id, ok := os.LookupEnv(envFake); ok {
		f := newFake(defects()[id].defect, os.Getenv(surroundings.EnvArtifacts), os.Getenv(surroundings.EnvChecklists), os.Stderr)
		if f.has("ignores-term") {
			signal.Ignore(syscall.SIGTERM)
		}
		//nolint:forbidigo // this branch is the main of another program
		if err := f.serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			os.Exit(1) //nolint:forbidigo // as above
		}
		os.Exit(f.status) //nolint:forbidigo // as above
	}
	testmain.Run(m)
}

// largestHere is the size of the largest request: what races over it does so over
// 1 MiB, in an eighth of the time.
var largestHere = map[bool]int{false: engine.DefaultMaxRequest, true: 1 << 20}[testmain.Race]

// subject returns a server with the defect, and the folders it shares. A
// program finds its defect in the table, by name.
func (b broken) subject(t *testing.T, id, name string) (conformance.Subject, surroundings.Fixtures) {
	t.Helper()
	if b.process {
		s := conformance.Command([]string{os.Args[0]}, append(os.Environ(), envFake+"="+name))
		s.Grace = endPatience(name)
		return s, surroundings.Fixtures{}
	}
	root := t.TempDir()
	fixtures := surroundings.Fixtures{Artifacts: filepath.Join(root, "base", "artifacts"), Checklists: filepath.Join(root, "checklists")}
	for _, dir := range []string{fixtures.Artifacts, fixtures.Checklists} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	// A function has one set of checklists: those of the suite where the
	// scenario is about them, else its own.
	checklists := ""
	if scenarioOf(t, id).Needs.Fixture == surroundings.Checklists {
		checklists = fixtures.Checklists
	}
	f := newFake(b.defect, fixtures.Artifacts, checklists, io.Discard)
	if !b.http {
		return conformance.FuncSubject{Serve: f.serve, Grace: endPatience(name)}, fixtures
	}
	server := httptest.NewServer(newFakeHTTP(f))
	t.Cleanup(server.Close)
	s := conformance.URL(server.URL, nil)
	if b.spelling {
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		s.RoundTripper = exactSpelling{transport}
	}
	return s, fixtures
}

func scenarioOf(t *testing.T, check string) engine.Scenario {
	t.Helper()
	for _, sc := range registry() {
		for _, c := range sc.Checks {
			if c.ID == check {
				return sc
			}
		}
	}
	require.Fail(t, "no scenario has the check", check)
	return engine.Scenario{}
}

// judge runs the suite for one check and returns its result.
func (b broken) judge(t *testing.T, id, name string) conformance.Result {
	t.Helper()
	binds := true // the fake minds the modes of files itself
	opts := conformance.Options{
		Only: append([]string{id}, b.also...), Revisions: []mcp.Version{mcp.LatestSession},
		Answer: patience(name),
	}
	return unhurried(t, id, opts, func(opts *conformance.Options) conformance.Subject {
		subject, fixtures := b.subject(t, id, name)
		fixtures.PermissionsEnforced = &binds
		if name == "" {
			fixtures.ConcurrentWrites = 20 // a defect gets all of them; what is healthy is the fake's own matter
		}
		opts.Fixtures = around(fixtures)
		return subject
	})
}

// unhurried judges a check, and once more with more time if it was left undecided: an answer that was
// waited for in vain may have been on its way on a busy machine.
func unhurried(t *testing.T, id string, opts conformance.Options, subject func(*conformance.Options) conformance.Subject) conformance.Result {
	t.Helper()
	judge := func() conformance.Result {
		to := subject(&opts)
		report, err := runAll(t.Context(), to, opts)
		require.NoError(t, err)
		at := slices.IndexFunc(report.Results, func(r conformance.Result) bool { return r.ID == id })
		require.GreaterOrEqual(t, at, 0)
		return report.Results[at]
	}
	got := judge()
	if got.Status == conformance.Inconclusive && opts.Answer < engine.DefaultAnswer/4 {
		opts.Answer = engine.DefaultAnswer / 4
		got = judge()
	}
	return got
}

// TestEveryCheckCanFail: each check has a server that breaks it, and passes
// for the server that breaks nothing.
func TestEveryCheckCanFail(t *testing.T) {
	t.Parallel()
	table, elsewhere := defects(), rewrites()
	for i, sc := range registry() {
		checks := sc.Checks
		if testmain.Race { // the same conversation decides them all, on the same goroutines
			checks = checks[:1]
			if i%12 != 0 {
				continue
			}
		}
		for _, c := range checks {
			if _, there := elsewhere[c.ID]; there || brokenByStrangers(c.ID) || c.ID == goneCheck || c.ID == "STDIO-06/term" && !wire.CanTerminate {
				continue
			}
			if sc.Run == nil {
				require.NotEmpty(t, sc.Needs.Control, "%s can only be skipped, and does not say why", c.ID)
				continue
			}
			t.Run(c.ID, func(t *testing.T) {
				t.Parallel()
				b, there := table[c.ID]
				require.True(t, there, "no defect makes this check fail")
				got := b.judge(t, c.ID, c.ID)
				require.Contains(t, []conformance.Status{conformance.Fail, conformance.Warn}, got.Status, "%+v", got)
				require.NotEmpty(t, got.Actual)
				require.NotEmpty(t, got.Expected)

				healthy := b
				healthy.defect = defect{features: healthyFeatures(b.features)}
				healthy.spelling = false
				got = healthy.judge(t, c.ID, "")
				require.Equal(t, conformance.Pass, got.Status, "the healthy server: %+v", got)
			})
		}
	}
	for id := range table {
		scenarioOf(t, id)
	}
}

// healthyFeatures leaves out the features that are defects.
func healthyFeatures(features []string) []string {
	return slices.DeleteFunc(slices.Clone(features), func(f string) bool { return f != "asks" && f != "no-resources" && f != "no-tools" })
}

// A healthy server has all the time it needs; a defect is not worth waiting for.
func patience(name string) time.Duration {
	if name == "" {
		return engine.DefaultAnswer
	}
	return 600 * time.Millisecond
}

func endPatience(name string) time.Duration {
	if name == "" {
		return wire.EndGrace
	}
	return 300 * time.Millisecond
}
