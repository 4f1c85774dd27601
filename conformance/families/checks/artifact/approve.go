package artifact

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// approveScenarios judge approvals that succeed.
func approveScenarios() []engine.Scenario {
	needs := workflowNeeds()
	return []engine.Scenario{
		{ID: "S0-APPROVE-01", Needs: reading(needs), Run: runApprove},
		{ID: "S0-APPROVE-03", Needs: reading(needs), Run: runApproveOrder},
		{ID: "S0-APPROVE-10", Needs: needs, Run: runApproveAlone},
		{ID: "S0-APPROVE-12", Needs: needs, Run: runApproveUnblocked},
		{ID: "S0-APPROVE-18", Needs: needs, Run: runApproveEpic},
		{ID: "S0-APPROVE-20", Needs: needs, Run: runApproveHLS},
		{ID: "S0-APPROVE-25", Needs: needs, Run: runApproveTwice},
		{ID: "S0-APPROVE-26", Needs: wanting(needs, "a crash between two writes")},
		{ID: "S0-APPROVE-29", Needs: reading(needs), Run: runApproveVersion},
		{ID: "S0-E2E-04", Needs: needs, Run: runApproveChain},
	}
}

// wanting is needs with a switch no subject offers.
func wanting(needs engine.Needs, what string) engine.Needs {
	needs.Control = what
	return needs
}

func runApprove(t *engine.Trial) {
	s := t.Shared()
	d := storedPRD(t, s, threeStories)
	got, a, err := approve(t, s, d.id)
	t.Check("S0-APPROVE-01/status", err == nil && got.Success && got.ID == d.id && got.Old == "Draft" && got.New == "Approved",
		"success, Draft, Approved", "%s", a.OrError(err))
	t.NoError(err, "the approval")
	t.Check("S0-APPROVE-01/children", len(got.Detected) == 3 && inRow(got.Detected, "HLS"), "three HLS ids in a row", "%v", got.Detected)
	t.Check("S0-APPROVE-01/tasks", got.Created == 3 && len(got.TaskIDs) == 3 && distinct(got.TaskIDs), "3 tasks", "tasks_created %d, task_ids %v", got.Created, got.TaskIDs)
	t.Check("S0-APPROVE-01/path", strings.HasPrefix(got.Path, "artifacts/") && strings.HasSuffix(got.Path, "/"+d.id+"_v1.md"),
		"artifacts/…/"+d.id+"_v1.md", "%q", got.Path)
	after := readBack(t, s, d.id)
	left := ""
	for _, p := range []string{"HLS-AAA", "HLS-BBB", "HLS-CCC"} {
		if strings.Contains(after, p) {
			left = p
		}
	}
	t.Check("S0-APPROVE-02/none", left == "", "none of the placeholders", "%s", left)
	t.Check("S0-APPROVE-05/line", strings.Contains(after, `**Status:** "Approved"`), `**Status:** "Approved"`, "%s", lineWith(after, "**Status"))
	if len(got.Detected) == 3 {
		want := strings.NewReplacer("HLS-AAA", got.Detected[0], "HLS-BBB", got.Detected[1], "HLS-CCC", got.Detected[2],
			`**Status:** "Draft"`, `**Status:** "Approved"`).Replace(d.text())
		t.Check("S0-APPROVE-02/everywhere", after == want, "the draft with ids in place of placeholders", "%s", differingLine(want, after))
	}
}

// inRow reports whether ids have one prefix and numbers that follow one
// another.
func inRow(ids []string, prefix string) bool {
	last := 0
	for i, id := range ids {
		digits, ok := strings.CutPrefix(id, prefix+"-")
		n, rest := engine.LeadingNumber(digits)
		if !ok || n <= 0 || rest != "" || len(digits) < 3 || i > 0 && n != last+1 {
			return false
		}
		last = n
	}
	return true
}

func distinct(texts []string) bool {
	sorted := slices.Sorted(slices.Values(texts))
	return len(slices.Compact(sorted)) == len(texts) && !slices.Contains(texts, "")
}

// lineWith returns the first line that holds a part.
func lineWith(text, part string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			return strings.TrimSpace(line)
		}
	}
	return "no such line"
}

// differingLine describes the first line in which two texts differ.
func differingLine(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is %q", i+1, rawjson.Clip(b[i], 120))
		}
	}
	return fmt.Sprintf("%d lines in place of %d", len(b), len(a))
}

func runApproveOrder(t *engine.Trial) {
	s := t.Shared()
	d := storedPRD(t, s, "## Decomposition\n\nHLS-BBB, then HLS-AAA (HLS-BBB again), HLS-AAAB and XHLS-AAA.\n")
	got := done[approval](t, s, ToolApprove, approveArguments(d.id))
	after := readBack(t, s, d.id)
	line := lineWith(after, ", then ")
	first, rest, _ := strings.Cut(line, ", then ")
	second, _, _ := strings.Cut(rest, " ")
	mapped := got.Mapping == nil || len(got.Mapping) == 2 && got.Mapping["HLS-BBB"] == first && got.Mapping["HLS-AAA"] == second
	t.Check("S0-APPROVE-03", mapped && inRow([]string{first, second}, "HLS") && slices.Equal(got.Detected, []string{first, second}),
		"HLS-BBB with the lower number, in the text and in an id_mapping", "%s, id_mapping %s", line, rawjson.Encode(got.Mapping))
	t.Check("S0-APPROVE-04", strings.Contains(line, ", HLS-AAAB and XHLS-AAA."), "HLS-AAAB and XHLS-AAA", "%s", line)
}

func runApproveAlone(t *engine.Trial) {
	s := t.Shared()
	_, d := child(t, "EPIC", "PRD", "")
	d.parent = ""
	keep(t, s, d)
	got, a, err := approve(t, s, d.id)
	t.Check("S0-APPROVE-10", err == nil && got.New == "Approved", "an approval", "%s", a.OrError(err))
	members, _ := a.Payload()
	empty := string(members["sub_artifacts_detected"]) == "[]" && string(members["task_ids"]) == "[]" && got.Created == 0
	t.Check("S0-APPROVE-19/result", err == nil && got.New == "Approved" && empty, "Approved, with [] and 0", "%s", a.OrError(err))
}

func runApproveUnblocked(t *engine.Trial) {
	s := t.Shared()
	for _, each := range [][2]string{
		{"S0-APPROVE-12/lead", "## Open Questions\n\n- Who decides? [REQUIRES TECH LEAD]\n"},
		{"S0-APPROVE-12/outside", "## Open Questions\n\nNone.\n\n## Notes\n\n- Later: [REQUIRES SPIKE]\n"},
	} {
		check, body := each[0], each[1]
		d := storedPRD(t, s, body)
		got, a, err := approve(t, s, d.id)
		t.Check(check, err == nil && got.New == "Approved", "an approval", "%s", a.OrError(err))
	}
}

func runApproveEpic(t *engine.Trial) {
	s := t.Shared()
	d := newDraft(unusedID(t, "EPIC"))
	d.parent = ""
	keep(t, s, d)
	got, a, err := approve(t, s, d.id)
	want := strings.Replace(d.id, "EPIC", "PRD", 1)
	t.Check("S0-APPROVE-18/child", err == nil && slices.Equal(got.Detected, []string{want}) && got.Created == 1, want+" and its task", "%s", a.OrError(err))
}

func runApproveHLS(t *engine.Trial) {
	s := t.Shared()
	prd, d := child(t, "PRD", "HLS", "## Stories\n\n- US-AAA\n- US-BBB\n")
	keep(t, s, prd, d)
	got, a, err := approve(t, s, d.id)
	t.Check("S0-APPROVE-20/ids", err == nil && len(got.Detected) == 2 && inRow(got.Detected, "US") && got.Created == 2, "two US ids and their tasks", "%s", a.OrError(err))
}

func runApproveTwice(t *engine.Trial) {
	s := t.Shared()
	d := storedPRD(t, s, threeStories)
	answers := together(t, s, ToolApprove, approveArguments(d.id), approveArguments(d.id))
	done, refused := 0, 0
	for _, a := range answers {
		if a.Err == nil {
			done++
		} else if saysCode(a, nil, CodeServer, "already approved") {
			refused++
		}
	}
	said := answers[0].Describe() + "; " + answers[1].Describe()
	t.Check("S0-APPROVE-25/one", done == 1, "one success", "%s", said)
	t.Check("S0-APPROVE-25/other", refused == 1, `one -32000 "already approved"`, "%s", said)
}

// together makes calls of a tool at once and returns their answers in order.
func together(t *engine.Trial, s *wire.Session, tool string, arguments ...map[string]any) []wire.Answer {
	ids := make([]string, len(arguments))
	for i, a := range arguments {
		id, err := s.Post(t.Ctx, mcp.MethodToolsCall, engine.CallParams(tool, a))
		t.NoError(err)
		ids[i] = id
	}
	answers := make([]wire.Answer, len(ids))
	for i, id := range ids {
		a, err := s.Await(t.Ctx, id)
		if err != nil {
			t.Stop(fmt.Errorf("call %d of %d at once: %w", i+1, len(ids), err))
		}
		answers[i] = a
	}
	return answers
}

func runApproveVersion(t *engine.Trial) {
	s := t.Shared()
	epic, first := child(t, "EPIC", "PRD", "The first version.\n")
	second := first
	second.version, second.body = "2", "The second version.\n"
	keep(t, s, epic, first, second)
	got, a, err := approve(t, s, first.id)
	t.Check("S0-APPROVE-29/path", err == nil && strings.HasSuffix(got.Path, "/"+first.id+"_v2.md"), "…/"+first.id+"_v2.md", "%s", a.OrError(err))
	old := readVersion(t, s, first.id, 1)
	now := readVersion(t, s, first.id, 2)
	t.Check("S0-APPROVE-29/file", old == first.text() && strings.Contains(now, `**Status:** "Approved"`), "version 2 Approved, version 1 as it was",
		"version 1: %s, version 2: %s", lineWith(old, "**Status"), lineWith(now, "**Status"))
}

func runApproveChain(t *engine.Trial) {
	s := t.Shared()
	epic := newDraft(unusedID(t, "EPIC"))
	epic.parent = ""
	keep(t, s, epic)
	below, failed := epic, ""
	for _, next := range []struct{ placeholder string }{{""}, {"HLS-AAA"}, {"US-AAA"}, {"SPEC-AAA"}} {
		if next.placeholder != "" {
			below.body = "## Breakdown\n\n- " + next.placeholder + "\n"
			keep(t, s, below)
		}
		got, a, err := approve(t, s, below.id)
		if err != nil || len(got.Detected) != 1 || got.Created != 1 {
			failed = below.id + ": " + a.OrError(err)
			break
		}
		parent := below.id
		below = newDraft(got.Detected[0])
		below.parent = parent
	}
	t.Check("S0-E2E-04", failed == "", "each approved, with one sub-artifact", "%s", failed)
}
