package artifact

import (
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// approveRefusalScenarios judge what approve_artifact refuses. Where the server
// has resources they see that nothing has changed.
func approveRefusalScenarios() []engine.Scenario {
	needs := workflowNeeds()
	return []engine.Scenario{
		{ID: "S0-APPROVE-06", Needs: needs, Run: runApproveMissing},
		{ID: "S0-APPROVE-07", Needs: reading(needs), Run: runApproveAgain},
		{ID: "S0-APPROVE-08", Needs: reading(needs), Run: runApproveParentDraft},
		{ID: "S0-APPROVE-09", Needs: needs, Run: runApproveParentMissing},
		{ID: "S0-APPROVE-11", Needs: needs, Run: runApproveBlocked},
		{ID: "S0-APPROVE-13", Needs: needs, Run: runApprovePrecedence},
		{ID: "S0-APPROVE-27", Needs: reading(needs), Run: runApproveMany},
	}
}

const wantPrerequisite = "error %d with data.prerequisite %q"

// checkPrerequisite decides a check by the prerequisite an approval fails at.
func checkPrerequisite(t *engine.Trial, check string, a wire.Answer, err error, code int64, name string, parts ...string) {
	want := fmt.Sprintf(wantPrerequisite, code, name)
	if len(parts) > 0 {
		want += fmt.Sprintf(" and a message with %q", parts)
	}
	t.Check(check, saysCode(a, err, code, parts...) && prerequisite(a) == name, want, "%s", a.OrError(err))
}

// tryApprove asks for an approval that is to be refused.
func tryApprove(t *engine.Trial, s *wire.Session, id string) (wire.Answer, error) {
	t.Step(s)
	return t.Call(s, ToolApprove, approveArguments(id))
}

// checkUnchanged decides a check by what resources/read gives for a document.
func checkUnchanged(t *engine.Trial, check string, s *wire.Session, d draft) {
	after := readBack(t, s, d.id)
	t.Check(check, after == d.text(), "the document as it was stored", "%s", differingLine(d.text(), after))
}

func runApproveMissing(t *engine.Trial) {
	s := t.Shared()
	id := unusedID(t, "PRD")
	a, err := tryApprove(t, s, id)
	checkPrerequisite(t, "S0-APPROVE-06/refused", a, err, CodeNotFound, "artifact_exists", id)
	t.NoError(err)
}

func runApproveAgain(t *engine.Trial) {
	s := t.Shared()
	d := storedPRD(t, s, "Nothing below it.\n")
	if _, a, err := approve(t, s, d.id); err != nil {
		t.Stop(fmt.Errorf("the first approval: %s", a.OrError(err)))
	}
	before := readBack(t, s, d.id)
	a, err := tryApprove(t, s, d.id)
	checkPrerequisite(t, "S0-APPROVE-07/refused", a, err, CodeServer, "status_draft", d.id, "already approved")
	t.NoError(err)
	after := readBack(t, s, d.id)
	t.Check("S0-APPROVE-07/unchanged", after == before, "the document after the first approval", "%s", differingLine(before, after))
}

func runApproveParentDraft(t *engine.Trial) {
	s := t.Shared()
	epic, d := child(t, "EPIC", "PRD", "Nothing below it.\n")
	epic.status = "Draft"
	keep(t, s, epic, d)
	a, err := tryApprove(t, s, d.id)
	checkPrerequisite(t, "S0-APPROVE-08/refused", a, err, CodeServer, "parent_approved", epic.id)
	t.NoError(err)
	checkUnchanged(t, "S0-APPROVE-08/unchanged", s, d)
	epic.status = "Approved"
	keep(t, s, epic)
	_, a, err = approve(t, s, d.id)
	t.Check("S0-APPROVE-08/later", err == nil, "an approval", "%s", a.OrError(err))
}

func runApproveParentMissing(t *engine.Trial) {
	s := t.Shared()
	epic, d := child(t, "EPIC", "PRD", "")
	keep(t, s, d)
	a, err := tryApprove(t, s, d.id)
	checkPrerequisite(t, "S0-APPROVE-09", a, err, CodeServer, "parent_approved", epic.id)
	t.NoError(err)
}

// twoSpikes are open questions that block an approval.
const twoSpikes = "## Open Questions\n\n- How fast? [REQUIRES SPIKE]\n- How safe? [REQUIRES SPIKE]\n"

func runApproveBlocked(t *engine.Trial) {
	s := t.Shared()
	d := storedPRD(t, s, twoSpikes)
	a, err := tryApprove(t, s, d.id)
	checkPrerequisite(t, "S0-APPROVE-11", a, err, CodeServer, "open_questions", "2 open questions")
	t.NoError(err)
	d = storedPRD(t, s, "## Open Questions\n\n- Which database? [REQUIRES ADR]\n")
	a, err = tryApprove(t, s, d.id)
	checkPrerequisite(t, "S0-APPROVE-12/adr", a, err, CodeServer, "open_questions", "1 open question")
	t.NoError(err)
}

func runApprovePrecedence(t *engine.Trial) {
	s := t.Shared()
	epic, d := child(t, "EPIC", "PRD", twoSpikes)
	d.status = "Approved"
	keep(t, s, epic, d)
	a, err := tryApprove(t, s, d.id)
	checkPrerequisite(t, "S0-APPROVE-13/status", a, err, CodeServer, "status_draft")
	t.NoError(err)
	epic, d = child(t, "EPIC", "PRD", twoSpikes)
	epic.status = "Draft"
	keep(t, s, epic, d)
	a, err = tryApprove(t, s, d.id)
	checkPrerequisite(t, "S0-APPROVE-13/parent", a, err, CodeServer, "parent_approved")
	t.NoError(err)
}

func runApproveMany(t *engine.Trial) {
	s := t.Shared()
	d := storedPRD(t, s, placeholders("HLS", 101))
	a, err := tryApprove(t, s, d.id)
	t.Check("S0-APPROVE-27/refused", a.HasCode(err, wire.CodeInvalidParams), "error -32602", "%s", a.OrError(err))
	t.NoError(err)
	checkUnchanged(t, "S0-APPROVE-27/unchanged", s, d)
}

// placeholders is a section with n placeholders: AAA, AAB and so on.
func placeholders(prefix string, n int) string {
	var b strings.Builder
	b.WriteString("## Decomposition\n\n")
	for i := range n {
		fmt.Fprintf(&b, "- %s-%c%c%c\n", prefix, 'A'+i/676, 'A'+i/26%26, 'A'+i%26)
	}
	return b.String()
}
