package suitetest

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
)

var update = flag.Bool("update", false, "freeze the requirements of every revision anew")

// rulesOf returns the ids of the checks that are rules of a revision, sorted.
func rulesOf(scenarios []engine.Scenario, revision mcp.Version) []string {
	applies := func(since, until mcp.Version) bool {
		return (since == "" || revision.AtLeast(since)) && (until == "" || until.AtLeast(revision))
	}
	var ids []string
	for i := range scenarios {
		for _, c := range scenarios[i].Checks {
			if applies(scenarios[i].Since, scenarios[i].Until) && applies(c.Since, c.Until) {
				ids = append(ids, c.ID)
			}
		}
	}
	slices.Sort(ids)
	return ids
}

// TestRequirements: a frozen set names rules of its revision that exist. What it
// does not name is new and does not score. -update freezes what there is.
func TestRequirements(t *testing.T) {
	t.Parallel()
	revisions := map[string]string{} // by id, those that it is a rule of
	for _, revision := range mcp.Versions() {
		now := rulesOf(registry(), revision)
		require.True(t, slices.IsSorted(now))
		if *update {
			for _, id := range now {
				revisions[id] += " " + string(revision)
			}
			continue
		}
		set, err := engine.Requirements(revision)
		require.NoError(t, err)
		require.NotEmpty(t, set)
		gone := slices.DeleteFunc(set, func(id string) bool { return slices.Contains(now, id) })
		require.Empty(t, gone, "%s: an id never changes, and a rule of a frozen set stays in its revision; before the first release: -update", revision)
	}
	if *update {
		freeze(t, revisions)
	}
	_, err := engine.Requirements("2020-01-01")
	require.ErrorContains(t, err, "2020-01-01")
}

// freeze writes the sets: the ids with the same revisions below a line that names them.
func freeze(t *testing.T, revisions map[string]string) {
	t.Helper()
	groups := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(revisions)) {
		groups[revisions[id]] = append(groups[revisions[id]], id)
	}
	var out strings.Builder
	for _, named := range slices.Sorted(maps.Keys(groups)) {
		out.WriteString("#" + named + "\n" + strings.Join(groups[named], "\n") + "\n")
	}
	name := filepath.Join("..", "..", "..", "internal", "engine", "requirements.txt")
	require.NoError(t, os.WriteFile(name, []byte(out.String()), 0o600))
}

func TestRun_Requirements(t *testing.T) {
	t.Parallel()
	report, err := runAll(t.Context(), healthy(), conformance.Options{Requirements: mcp.Version2025_03_26, Only: []string{"RPC-01"}})
	require.NoError(t, err)
	require.Equal(t, "2025-03-26", report.Target.Revision)
	require.Equal(t, "2025-03-26", report.Policy.Set)
	require.False(t, statuses(report)["RPC-01/order"].Unscored)

	engine.MarkUnscored(report, []string{"RPC-01/a"}, mcp.Version2025_03_26)
	require.True(t, statuses(report)["RPC-01/order"].Unscored)
	require.Equal(t, conformance.VerdictInconclusive, report.Verdict(), "nothing scored")
	require.Zero(t, report.Summary().Must[conformance.Pass])
	require.Positive(t, report.Summary().Unscored)

	_, err = runAll(t.Context(), healthy(), conformance.Options{Requirements: "2020-01-01"})
	require.ErrorContains(t, err, "no frozen requirements")
}

func expected(t *testing.T, name, text string) []conformance.Expectation {
	t.Helper()
	out, err := conformance.ReadExpectations(name, strings.NewReader(text))
	require.NoError(t, err)
	return out
}

func TestReadExpectations(t *testing.T) {
	t.Parallel()
	require.Equal(t, []conformance.Expectation{
		{Pattern: "HTTP-15/invalid", Reason: "the proxy answers", Place: "known.txt:3"},
		{Pattern: "S0-VAL-*", Revision: mcp.Version2025_11_25, Place: "known.txt:5"},
	}, expected(t, "known.txt", "# what we know\n\n  HTTP-15/invalid\t# the proxy answers\n   \nS0-VAL-*@2025-11-25\r\n"))
	require.Equal(t, []conformance.Expectation{
		{Official: "tools-call-error", Role: conformance.RoleServer, Reason: "later", Place: "b.yml:3"},
		{Official: "server-sse:a-check", Role: conformance.RoleServer, Place: "b.yml:4"},
		{Official: "auth/iss-unexpected", Role: conformance.RoleClient, Place: "b.yml:7"},
	}, expected(t, "b.yml", "# shared\nserver:\n  - tools-call-error  # later\n  - \"server-sse:a-check\"\n\nclient:\n- 'auth/iss-unexpected'\n"))
	require.Empty(t, expected(t, "b.yaml", "server: []\n"))
	for name, text := range map[string]string{
		"two words":             "HTTP-15 invalid\n",
		"no such revision":      "HTTP-15@2020-01-01\n",
		"only a revision":       "@2025-11-25\n",
		"no list.yml":           "tools-call-error\n",
		"a list of nobody.yml":  "- tools-call-error\n",
		"a value.yml":           "server: tools-call-error\n",
		"another key.yml":       "servers:\n",
		"another structure.yml": "server: [x]\n",
	} {
		_, err := conformance.ReadExpectations(name, strings.NewReader(text))
		require.ErrorContains(t, err, name+":1", text)
	}
}

// outcomes is a report of two revisions, in which a check breaks in one.
func outcomes() *conformance.Report {
	result := func(id string, revision mcp.Version, status conformance.Status, level conformance.Level) conformance.Result {
		bad := 0
		if status != conformance.Pass {
			bad = 1
		}
		return conformance.Result{
			Check: conformance.Check{ID: id, Official: []string{"official-" + id[:1]}}, Scenario: id[:1], Area: "area",
			Revision: revision, Status: status, Level: level, Attempts: 1, Bad: bad,
		}
	}
	modern, session := mcp.Version2026_07_28, mcp.Version2025_11_25
	return &conformance.Report{
		Revisions: []conformance.RevisionReport{{Revision: modern}, {Revision: session}},
		Results: []conformance.Result{
			result("A/1", modern, conformance.Pass, conformance.Must), result("A/2", modern, conformance.Fail, conformance.Must), result("B/1", modern, conformance.Warn, conformance.Should),
			result("A/1", session, conformance.Pass, conformance.Must), result("A/2", session, conformance.Pass, conformance.Must), result("B/1", session, conformance.Inconclusive, conformance.Must),
		},
	}
}

func TestReport_Expect(t *testing.T) {
	t.Parallel()
	const none = conformance.BaselineNone
	for name, c := range map[string]struct {
		failing, flaky, official string
		want                     [6]conformance.Baseline
		verdict                  conformance.Verdict
	}{
		"nothing":                            {"", "", "", [6]conformance.Baseline{}, conformance.Failed},
		"what fails is known":                {"A/2\nB", "", "", [6]conformance.Baseline{none, conformance.BaselineKnown, conformance.BaselineKnown, none, none, conformance.BaselineKnown}, conformance.Passed},
		"a warning left out":                 {"A/2\nB/1@2025-11-25", "", "", [6]conformance.Baseline{none, conformance.BaselineKnown, none, none, none, conformance.BaselineKnown}, conformance.Passed},
		"an open requirement left out":       {"A/2", "", "", [6]conformance.Baseline{none, conformance.BaselineKnown}, conformance.VerdictInconclusive},
		"a pass is stale, in every revision": {"A/*\nB", "", "", [6]conformance.Baseline{conformance.BaselineStale, conformance.BaselineKnown, conformance.BaselineKnown, conformance.BaselineStale, none, conformance.BaselineKnown}, conformance.Failed},
		"the wrong revision is stale":        {"A/2@2025-11-25\nA/2@2026-07-28\nB", "", "", [6]conformance.Baseline{none, conformance.BaselineKnown, conformance.BaselineKnown, none, conformance.BaselineStale, conformance.BaselineKnown}, conformance.Failed},
		"a revision that was not judged":     {"A/2\nB\nA/2@2024-11-05", "", "", [6]conformance.Baseline{none, conformance.BaselineKnown, conformance.BaselineKnown, none, none, conformance.BaselineKnown}, conformance.Passed},
		"flaky excuses, and is not stale":    {"", "area", "", [6]conformance.Baseline{conformance.BaselineFlaky, conformance.BaselineFlaky, conformance.BaselineFlaky, conformance.BaselineFlaky, conformance.BaselineFlaky, conformance.BaselineFlaky}, conformance.Passed},
		"an official scenario is whole":      {"B", "", "server:\n- official-A\n- no-such-scenario", [6]conformance.Baseline{none, conformance.BaselineKnown, conformance.BaselineKnown, none, none, conformance.BaselineKnown}, conformance.Passed},
		"clients' failures":                  {"B\nA/2", "", "client:\n- official-A", [6]conformance.Baseline{none, conformance.BaselineKnown, conformance.BaselineKnown, none, none, conformance.BaselineKnown}, conformance.Passed},
	} {
		r := outcomes()
		r.Target.Role = conformance.RoleServer
		x := conformance.Expectations{Failing: append(expected(t, "f", c.failing), expected(t, "o.yml", c.official)...), Flaky: expected(t, "y", c.flaky)}
		require.NoError(t, engine.Expect(r, x, nil), name)
		for i, want := range c.want {
			require.Equal(t, want, r.Results[i].Baseline, "%s: %s %s", name, r.Results[i].ID, r.Results[i].Revision)
		}
		require.Equal(t, c.verdict, r.Verdict(), name)
	}
	r := outcomes()
	require.ErrorContains(t, engine.Expect(r, conformance.Expectations{Failing: expected(t, "f", "A/2\nA/3")}, nil), `f:2: no check matches "A/3"`)
	require.ErrorContains(t, engine.Expect(r, conformance.Expectations{Flaky: expected(t, "y", "C")}, nil), `y:1`)

	r = outcomes()
	r.Results[0].Attempts = engine.FlakyProof
	require.NoError(t, engine.Expect(r, conformance.Expectations{Flaky: expected(t, "y", "A/1\nA/2\nB")}, nil))
	require.Equal(t, conformance.BaselineStale, r.Results[0].Baseline, "it has held often enough")
	require.Equal(t, conformance.BaselineFlaky, r.Results[3].Baseline, "once proves nothing")
	require.Equal(t, conformance.Failed, r.Verdict())
	require.Equal(t, 1, r.Summary().Stale)
	require.Equal(t, 3, r.Summary().Known)
}

func TestReport_Strict(t *testing.T) {
	t.Parallel()
	r := &conformance.Report{Results: []conformance.Result{{Status: conformance.Pass, Level: conformance.Must}, {Status: conformance.Warn, Level: conformance.Should}}}
	require.Equal(t, conformance.Passed, r.Verdict())
	r.Policy.Strict = true
	require.Equal(t, conformance.Failed, r.Verdict())
	r.Results[1].Baseline = conformance.BaselineKnown
	require.Equal(t, conformance.Passed, r.Verdict())
}

func TestFoldAttempts(t *testing.T) {
	t.Parallel()
	first, second := outcomes(), outcomes()
	second.Results[0].Status, second.Results[1].Status = conformance.Fail, conformance.Pass
	second.Results[2] = conformance.Result{Check: first.Results[2].Check, Revision: first.Results[2].Revision, Status: conformance.Skip}
	r := &conformance.Report{Revisions: append(first.Revisions, second.Revisions...), Results: append(first.Results, second.Results...)}
	engine.FoldAttempts(r)
	require.Len(t, r.Revisions, 2)
	require.Len(t, r.Results, 6)
	for i, want := range []struct {
		status        conformance.Status
		attempts, bad int
		flaky         bool
	}{{conformance.Fail, 2, 1, true}, {conformance.Fail, 2, 1, true}, {conformance.Warn, 1, 1, false}, {conformance.Pass, 2, 0, false}, {conformance.Pass, 2, 0, false}, {conformance.Inconclusive, 2, 2, false}} {
		got := r.Results[i]
		require.Equal(t, want.status, got.Status, i)
		require.Equal(t, []int{want.attempts, want.bad}, []int{got.Attempts, got.Bad}, i)
		require.Equal(t, want.flaky, got.Flaky(), i)
	}
	require.Equal(t, 2, r.Summary().Flaky)
}

func TestWriteExpectations(t *testing.T) {
	t.Parallel()
	r := outcomes()
	r.Results[1].Actual = "an\nanswer"
	var own, official strings.Builder
	require.NoError(t, conformance.WriteExpectations(&own, r))
	require.Equal(t, "A/2@2026-07-28  # an answer\nB/1@2026-07-28  # warn\nB/1@2025-11-25  # inconclusive\n", own.String())
	require.NoError(t, conformance.WriteOfficialExpectations(&official, r))
	require.Equal(t, "server:\n  - official-A\n  - official-B\n", official.String())
	// What was written excuses what it was written from.
	for name, text := range map[string]string{"f": own.String(), "f.yml": official.String()} {
		r := outcomes()
		require.NoError(t, engine.Expect(r, conformance.Expectations{Failing: expected(t, name, text)}, nil))
		require.Equal(t, conformance.Passed, r.Verdict(), name)
	}
	official.Reset()
	require.NoError(t, conformance.WriteOfficialExpectations(&official, &conformance.Report{Target: conformance.Target{Role: conformance.RoleClient}}))
	require.Equal(t, "client: []\n", official.String())
}

// TestRun_Policy: a run repeats in an order of its own, and knows its failures.
func TestRun_Policy(t *testing.T) {
	t.Parallel()
	opts := conformance.Options{
		Only: []string{"RPC-01", "X-WIRE-07", "LC-01"}, Repeat: 3, Seed: 7, Strict: true,
		Expected: conformance.Expectations{Failing: expected(t, "f", "RPC-01/order")},
	}
	report, err := runAll(t.Context(), healthy(), opts)
	require.NoError(t, err)
	got := statuses(report)["RPC-01/order"]
	require.Equal(t, 3, got.Attempts)
	require.Equal(t, conformance.BaselineStale, got.Baseline)
	require.Equal(t, conformance.Failed, report.Verdict())
	require.Equal(t, conformance.Policy{
		Repeat: 3, Seed: 7, Strict: true, Baselines: []string{"f"}, SideEffects: report.Policy.SideEffects, Granted: report.Policy.Granted, Only: opts.Only,
	}, report.Policy)

	opts.Expected.Failing = expected(t, "f", "RPC-01/nothing")
	_, err = runAll(t.Context(), healthy(), opts)
	require.ErrorContains(t, err, `f:1: no check matches`)
}

// TestShuffle: every scenario stays, the order is that of the seed.
func TestShuffle(t *testing.T) {
	t.Parallel()
	ids := func(scenarios []engine.Scenario) (out []string) {
		for _, sc := range scenarios {
			out = append(out, sc.ID)
		}
		return out
	}
	all := registry()
	require.Equal(t, ids(all), ids(engine.Shuffle(all, 0)))
	once, again := ids(engine.Shuffle(all, 7)), ids(engine.Shuffle(all, 7))
	require.Equal(t, once, again)
	require.NotEqual(t, once, ids(engine.Shuffle(all, 8)))
	require.ElementsMatch(t, ids(all), ids(engine.Shuffle(all, 7)))
}

// TestPlan: what a run would do, and why not, is what it then does.
func TestPlan(t *testing.T) {
	t.Parallel()
	opts := conformance.Options{SideEffects: conformance.SideEffectsReadOnly, Skip: []string{"UTIL-01"}}
	if testmain.Race { // what is long: the plan is about each of them in the same way
		opts.Skip = append(opts.Skip, "RPC-22", "X-WIRE-12-CALLS", "S0-VAL-08")
	}
	plan, err := planAll(t.Context(), healthy(), opts)
	require.NoError(t, err)
	report, err := runAll(t.Context(), healthy(), opts)
	require.NoError(t, err)
	require.Len(t, plan, len(report.Results))
	for i, p := range plan {
		res := report.Results[i]
		require.Equal(t, res.ID, p.ID)
		require.Equal(t, []any{res.Revision, res.Level, res.Area}, []any{p.Revision, p.Level, p.Area}, p.ID)
		if p.Runs {
			continue // the scenario itself may still find nothing to judge
		}
		require.Equal(t, []any{conformance.Skip, res.Reason, res.Detail}, []any{res.Status, p.Reason, p.Detail}, p.ID)
	}
	require.True(t, slices.ContainsFunc(plan, func(p conformance.Listed) bool { return p.Runs }))

	_, err = planAll(t.Context(), healthy(), conformance.Options{Only: []string{"S9-*"}})
	require.ErrorContains(t, err, "no check matches")
}
