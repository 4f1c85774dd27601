package suitetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// crooked is a server of both eras whose list of tools fails, and with it all that
// builds on a list of tools.
func crooked(message []byte) string {
	const info = `"capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"crooked","version":"1"}`
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Meta map[string]any `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(message, &m) != nil || len(m.ID) == 0 || m.Method == "" {
		return ""
	}
	body := `"error":{"code":-32601,"message":"Method not found"}`
	switch m.Method {
	case "initialize":
		body = `"result":{"protocolVersion":"2025-11-25",` + info + `}`
	case "server/discover":
		body = `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],` + info + `,"ttlMs":0,"cacheScope":"private"}`
	case "ping":
		body = `"result":{}`
	case "tools/list":
		body = `"error":{"code":-32601,"message":"no method # or anything"}`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, body)
}

// TestKnownFailing_Green: a run that expects what the run before found passes, with
// what a known failure keeps from being looked at.
func TestKnownFailing_Green(t *testing.T) {
	t.Parallel()
	servers := bothWays(t, crooked)
	for _, revisions := range [][]mcp.Version{nil, {mcp.LatestSession}, {mcp.Latest}} {
		t.Run(fmt.Sprint("http", revisions), func(t *testing.T) {
			t.Parallel()
			requireGreen(t, servers[conformance.TransportHTTP], revisions)
		})
		t.Run(fmt.Sprint("stdio", revisions), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { requireGreen(t, servers[conformance.TransportStdio], revisions) })
		})
	}
}

// requireGreen runs the suite, expects what it found, and runs it again.
func requireGreen(t *testing.T, subject conformance.Subject, revisions []mcp.Version) {
	t.Helper()
	opts := conformance.Options{Revisions: revisions, Only: []string{"LC-14", "tools", "X-WIRE-*"}, Strict: true}
	first, err := runAll(t.Context(), subject, opts)
	require.NoError(t, err)
	require.Equal(t, conformance.Failed, first.Verdict())
	require.Positive(t, first.Summary().Blocked, "some of it is blocked, or this test says nothing")
	var file bytes.Buffer
	require.NoError(t, conformance.WriteExpectations(&file, first))
	opts.Expected.Failing = expected(t, "known.txt", file.String())
	again, err := runAll(t.Context(), subject, opts)
	require.NoError(t, err)
	require.Equal(t, conformance.Passed, again.Verdict(), "%+v\n%s", again.Summary(), file.String())
	require.Zero(t, again.Summary().Blocked)

	// A failure that the file leaves out fails the run, and what is blocked in its
	// revision stays open.
	fails := slices.IndexFunc(first.Results, func(res conformance.Result) bool { return first.Fails(&res) })
	opts.Expected.Failing = slices.DeleteFunc(opts.Expected.Failing, func(e conformance.Expectation) bool { return e.Pattern == first.Results[fails].ID })
	again, err = runAll(t.Context(), subject, opts)
	require.NoError(t, err)
	require.Equal(t, conformance.Failed, again.Verdict())
	require.Positive(t, again.Summary().Blocked)
}

// TestReport_Blocked: what is blocked is excused by a known failure in the same
// revision, by an entry of its own, and by nothing else.
func TestReport_Blocked(t *testing.T) {
	t.Parallel()
	modern, session := mcp.Version2026_07_28, mcp.Version2025_11_25
	for name, c := range map[string]struct {
		failing, flaky string
		verdict        conformance.Verdict
		baseline       conformance.Baseline
	}{
		"nothing is known":              {"", "", conformance.Failed, conformance.BaselineNone},
		"all failures are known":        {"A\nB", "", conformance.Passed, conformance.BaselineKnown},
		"one failure is not":            {"A", "", conformance.Failed, conformance.BaselineNone},
		"they are flaky":                {"", "A\nB", conformance.Passed, conformance.BaselineKnown},
		"only in the other revision":    {"A@2025-11-25\nB@2025-11-25", "", conformance.Failed, conformance.BaselineNone},
		"an entry names what it blocks": {"A\nB\nC", "", conformance.Passed, conformance.BaselineKnown},
	} {
		r := &conformance.Report{Revisions: []conformance.RevisionReport{{Revision: modern}, {Revision: session}}, Target: conformance.Target{Role: conformance.RoleServer}}
		for _, v := range []mcp.Version{modern, session} {
			r.Results = append(r.Results,
				conformance.Result{Check: conformance.Check{ID: "A"}, Revision: v, Level: conformance.Must, Status: conformance.Fail},
				conformance.Result{Check: conformance.Check{ID: "B"}, Revision: v, Level: conformance.Must, Status: conformance.Fail},
				conformance.Result{Check: conformance.Check{ID: "C"}, Revision: v, Level: conformance.Must, Status: conformance.Skip, Reason: conformance.SkipPrerequisite},
				conformance.Result{Check: conformance.Check{ID: "D"}, Revision: v, Level: conformance.Must, Status: conformance.Skip, Reason: conformance.SkipNotDeclared},
				conformance.Result{Check: conformance.Check{ID: "E"}, Revision: v, Level: conformance.Must, Status: conformance.Pass})
		}
		require.NoError(t, engine.Expect(r, conformance.Expectations{Failing: expected(t, "f", c.failing), Flaky: expected(t, "y", c.flaky)}, nil), name)
		require.Equal(t, c.verdict, r.Verdict(), name)
		require.Equal(t, c.baseline, r.Results[2].Baseline, name)
		require.Equal(t, conformance.BaselineNone, r.Results[3].Baseline, name)
	}
	alone := &conformance.Report{Results: []conformance.Result{
		{Check: conformance.Check{ID: "C"}, Revision: modern, Level: conformance.Must, Status: conformance.Skip, Reason: conformance.SkipPrerequisite}, {Check: conformance.Check{ID: "E"}, Revision: modern, Level: conformance.Must, Status: conformance.Pass},
	}}
	require.NoError(t, engine.Expect(alone, conformance.Expectations{}, nil))
	require.Equal(t, conformance.VerdictInconclusive, alone.Verdict(), "nothing known blocks it")
}

// TestReport_ExactlyThisCheck: an entry with the id of a check says nothing about the other
// checks of its scenario, also if the scenario has the same id.
func TestReport_ExactlyThisCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failing string
		other   conformance.Status
		verdict conformance.Verdict
	}{
		"the other holds":          {"X-WIRE-08", conformance.Pass, conformance.Passed},
		"the other fails, too":     {"X-WIRE-08", conformance.Fail, conformance.Failed},
		"all of the scenario fail": {"X-WIRE-08*", conformance.Fail, conformance.Passed},
	} {
		r := &conformance.Report{Target: conformance.Target{Role: conformance.RoleServer}, Results: []conformance.Result{
			{Check: conformance.Check{ID: "X-WIRE-08"}, Scenario: "X-WIRE-08", Level: conformance.Must, Status: conformance.Fail},
			{Check: conformance.Check{ID: "X-WIRE-08/code"}, Scenario: "X-WIRE-08", Level: conformance.Must, Status: c.other},
		}}
		require.NoError(t, engine.Expect(r, conformance.Expectations{Failing: expected(t, "f", c.failing)}, nil), name)
		require.Equal(t, c.verdict, r.Verdict(), name)
	}
}
