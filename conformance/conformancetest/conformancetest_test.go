package conformancetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/internal/reference"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestRun is what a server author writes.
func TestRun(t *testing.T) {
	t.Parallel()
	srv, err := reference.New(reference.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	r := Run(t, conformance.InProcess(srv.ServeStdio), conformance.Options{
		Only: []string{"LC-*", "UTIL-01"}, Revisions: []mcp.Version{mcp.LatestSession},
	})
	require.Equal(t, conformance.Passed, r.Verdict())
}

// TestRunStdio and TestRunHandler judge servers that also serve in these forms.
func TestRunStdio(t *testing.T) {
	t.Parallel()
	srv, err := reference.New(reference.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	r := RunStdio(t, func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		return errors.Join(srv.ServeStdio(ctx, in, out), out.Close(), in.Close())
	}, conformance.Options{Only: []string{"LC-01"}, Revisions: []mcp.Version{mcp.LatestSession}})
	require.Equal(t, conformance.Passed, r.Verdict())
}

func TestRunHandler(t *testing.T) {
	t.Parallel()
	srv, err := reference.New(reference.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	r := RunHandler(t, srv.Handler(), conformance.Options{Only: []string{"LC-01"}, Revisions: []mcp.Version{mcp.LatestSession}})
	require.Equal(t, conformance.Passed, r.Verdict())
	require.Equal(t, conformance.TransportHTTP, r.Target.Transport)
}

// told records how a subtest would end.
type told struct{ outcome, text string }

func (*told) Helper()             {}
func (o *told) Log(args ...any)   { o.outcome, o.text = "log", fmt.Sprint(args...) }
func (o *told) Error(args ...any) { o.outcome, o.text = "error", fmt.Sprint(args...) }
func (o *told) Skip(args ...any)  { o.outcome, o.text = "skip", fmt.Sprint(args...) }

func TestTell(t *testing.T) {
	t.Parallel()
	frame := conformance.Frame{Dir: conformance.FromServer, Data: []byte(`{"id":7}`), Size: 8}
	result := func(status conformance.Status, level conformance.Level, baseline conformance.Baseline) *conformance.Result {
		return &conformance.Result{
			Check:    conformance.Check{ID: "RPC-07/exclusive", Title: "every response has exactly one of result and error"},
			Revision: mcp.LatestSession, Status: status, Level: level, Baseline: baseline,
			Expected: "one", Actual: "both", Evidence: []conformance.Frame{frame},
		}
	}
	skip := result(conformance.Skip, conformance.Must, "")
	skip.Reason, skip.Detail = conformance.SkipNotDeclared, "capabilities.tools absent"
	missing := result(conformance.Skip, conformance.Must, "")
	missing.Reason = conformance.SkipPrerequisite
	unscored := result(conformance.Fail, conformance.Must, "")
	unscored.Unscored = true
	for name, c := range map[string]struct {
		res  *conformance.Result
		want string
	}{
		"a pass":                            {result(conformance.Pass, conformance.Must, ""), ""},
		"a broken rule":                     {result(conformance.Fail, conformance.Must, ""), "error"},
		"a known failure":                   {result(conformance.Fail, conformance.Must, conformance.BaselineKnown), "log"},
		"a stale entry":                     {result(conformance.Pass, conformance.Must, conformance.BaselineStale), "error"},
		"advice":                            {result(conformance.Warn, conformance.Should, ""), "log"},
		"a requirement inconclusive":        {result(conformance.Inconclusive, conformance.Must, ""), "error"},
		"a recommendation inconclusive":     {result(conformance.Inconclusive, conformance.Should, ""), "log"},
		"a fault of the suite":              {result(conformance.Error, conformance.Must, ""), "error"},
		"what does not apply":               {skip, "skip"},
		"what another failure kept from it": {missing, "error"},
		"a rule without score":              {unscored, "log"},
	} {
		var got told
		tell(&got, &conformance.Report{}, c.res)
		require.Equal(t, c.want, got.outcome, name)
		if c.want == "error" && c.res.Baseline == "" && c.res.Status != conformance.Skip {
			require.Contains(t, got.text, `← {"id":7}`, "%s: what was on the wire", name)
			require.Contains(t, got.text, "expected one, got both", name)
		}
	}
	var got told
	tell(&got, &conformance.Report{}, skip)
	require.Contains(t, got.text, "not-declared: capabilities.tools absent")
}
