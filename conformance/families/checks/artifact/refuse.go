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

// checkPrerequisite asks for an approval and decides a check by the prerequisite it fails at.
func checkPrerequisite(t *engine.Trial, s *wire.Session, check, id string, code int64, name string, parts ...string) {
	a, err := tryApprove(t, s, id)
	want := fmt.Sprintf(wantPrerequisite, code, name)
	if len(parts) > 0 {
		want += fmt.Sprintf(" and a message with %q", parts)
	}
	t.Check(check, saysCode(a, err, code, parts...) && prerequisite(a) == name, want, "%s", a.OrError(err))
	t.NoError(err)
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
	checkPrerequisite(t, s, "S0-APPROVE-06/refused", id, CodeNotFound, "artifact_exists", id)
}

func runApproveAgain(t *engine.Trial) {
	s := t.Shared()
	d := storedPRD(t, s, "Nothing below it.\n")
	done[approval](t, s, ToolApprove, approveArguments(d.id))
	before := readBack(t, s, d.id)
	checkPrerequisite(t, s, "S0-APPROVE-07/refused", d.id, CodeServer, "status_draft", d.id, "already approved")
	after := readBack(t, s, d.id)
	t.Check("S0-APPROVE-07/unchanged", after == before, "the document after the first approval", "%s", differingLine(before, after))
}

func runApproveParentDraft(t *engine.Trial) {
	s := t.Shared()
	epic, d := child(t, "EPIC", "PRD", "Nothing below it.\n")
	epic.status = "Draft"
	keep(t, s, epic, d)
	checkPrerequisite(t, s, "S0-APPROVE-08/refused", d.id, CodeServer, "parent_approved", epic.id)
	checkUnchanged(t, "S0-APPROVE-08/unchanged", s, d)
	epic.status = "Approved"
	keep(t, s, epic)
	_, a, err := approve(t, s, d.id)
	t.Check("S0-APPROVE-08/later", err == nil, "an approval", "%s", a.OrError(err))
}

func runApproveParentMissing(t *engine.Trial) {
	s := t.Shared()
	epic, d := child(t, "EPIC", "PRD", "")
	keep(t, s, d)
	checkPrerequisite(t, s, "S0-APPROVE-09", d.id, CodeServer, "parent_approved", epic.id)
}

// twoSpikes are open questions that block an approval.
const twoSpikes = "## Open Questions\n\n- How fast? [REQUIRES SPIKE]\n- How safe? [REQUIRES SPIKE]\n"

func runApproveBlocked(t *engine.Trial) {
	s := t.Shared()
	d := storedPRD(t, s, twoSpikes)
	checkPrerequisite(t, s, "S0-APPROVE-11", d.id, CodeServer, "open_questions", "2 open questions")
	d = storedPRD(t, s, "## Open Questions\n\n- Which database? [REQUIRES ADR]\n")
	checkPrerequisite(t, s, "S0-APPROVE-12/adr", d.id, CodeServer, "open_questions", "1 open question")
}

func runApprovePrecedence(t *engine.Trial) {
	s := t.Shared()
	epic, d := child(t, "EPIC", "PRD", twoSpikes)
	d.status = "Approved"
	keep(t, s, epic, d)
	checkPrerequisite(t, s, "S0-APPROVE-13/status", d.id, CodeServer, "status_draft")
	epic, d = child(t, "EPIC", "PRD", twoSpikes)
	epic.status = "Draft"
	keep(t, s, epic, d)
	checkPrerequisite(t, s, "S0-APPROVE-13/parent", d.id, CodeServer, "parent_approved")
}

func runApproveMany(t *engine.Trial) {
	s := t.Shared()
	d := storedPRD(t, s, placeholders("HLS", 101))
	refused(t, s, "S0-APPROVE-27/refused", ToolApprove, approveArguments(d.id), wire.CodeInvalidParams, "")
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
