package artifact

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/profile"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// validateChecklistScenarios judge validate_artifact with checklists of the
// suite's own.
func validateChecklistScenarios() []engine.Scenario {
	needs := engine.Needs{
		Capability: "tools", Profile: profile.Artifact, Tools: []string{ToolValidate},
		SideEffects: conformance.SideEffectsReadOnly, Fixture: surroundings.Checklists,
	}
	clock := needs
	clock.Control = "a clock"
	return []engine.Scenario{
		{ID: "S0-VAL-05", Starts: 1, Needs: needs, Run: runChecklistManual},
		{ID: "S0-VAL-10", Needs: needs, Run: runChecklistMissing},
		{ID: "S0-VAL-11", Needs: needs, Run: runChecklistBroken},
		{ID: "S0-VAL-13", Starts: 1, Needs: needs, Run: runChecklistEdited},
		{ID: "S0-VAL-13-CLOCK", Needs: clock},
		{ID: "S0-VAL-14", Starts: 1, Needs: needs, Run: runChecklistOnce},
		{ID: "S0-VAL-16", Needs: needs, Run: runChecklistUnreadable},
		{ID: "S0-VAL-17", Needs: needs, Run: runChecklistUnknownCheck},
	}
}

func runChecklistManual(t *engine.Trial) {
	s := t.Shared()
	v, _ := judged(t, s, "S0-VAL-05/null", newDraft("US-040").text(), "US-040")
	r, found := v.with(func(r verdictResult) bool { return r.ID == "CQ-04" })
	t.Check("S0-VAL-05/null", found && string(r.Passed) == "null" && r.ValidationType == "manual", "passed null", "%s", rawjson.Encode(r))
	t.Check("S0-VAL-05/neutral", v.passed() && v.Rate == "2/2" && v.Agent != nil && *v.Agent == 1,
		`passed true, "2/2", 1 agent criterion`, "%s", v.describe())
}

func runChecklistMissing(t *engine.Trial) {
	refused(t, t.Shared(), "S0-VAL-10", ToolValidate, validateArguments(newDraft("ADR-001").text(), "ADR-001"), CodeNotFound, "^Resource not found:")
}

func runChecklistBroken(t *engine.Trial) {
	s := t.Shared()
	for _, each := range [][2]string{{"S0-VAL-11/json", "HLS-001"}, {"S0-VAL-11/schema", "TASK-001"}} {
		check, id := each[0], each[1]
		refused(t, s, check, ToolValidate, validateArguments(newDraft(id).text(), id), wire.CodeInternal, "")
	}
	dir := surroundings.Of(t).Checklists
	t.NoError(writeFile(dir, checklistBroken+".json", mixedChecklist("hls", false)))
	t.Step(s)
	v, _, err := validate(t, s, newDraft("HLS-001").text(), "HLS-001")
	t.Check("S0-VAL-11/mended", err == nil && v.Rate == "2/2", "a verdict", "%v %s", err, v.describe())
	// The scenario can run again in the folder a caller gave.
	t.NoError(writeFile(dir, checklistBroken+".json", []byte("{")))
}

func runChecklistEdited(t *engine.Trial) {
	withCachedChecklist(t, func(s *wire.Session, path string) {
		t.NoError(writeFile(filepath.Dir(path), filepath.Base(path), mixedChecklist("epic", true)))
		v, _, err := validate(t, s, newDraft("EPIC-006").text(), "EPIC-006")
		t.Check("S0-VAL-13/within", err == nil && v.passed() && v.Rate == "2/2", "the verdict of the checklist before", "%v %s", err, v.describe())
		t.NoError(err)
	})
}

func runChecklistOnce(t *engine.Trial) {
	withCachedChecklist(t, func(s *wire.Session, path string) {
		if err := os.Remove(path); err != nil {
			t.NoError(engine.SuiteError(err))
			return
		}
		for i := range 100 {
			t.Step(s)
			v, _, err := validate(t, s, newDraft("EPIC-006").text(), "EPIC-006")
			if err != nil || !v.passed() {
				t.Fail("S0-VAL-14", "the verdict of the checklist read once", "call %d: %v %s", i+1, err, v.describe())
				t.NoError(err)
				return
			}
		}
		t.Pass("S0-VAL-14")
	})
}

// withCachedChecklist calls f after the server has read a checklist, and puts
// the file back.
func withCachedChecklist(t *engine.Trial, f func(s *wire.Session, path string)) {
	path := filepath.Join(surroundings.Of(t).Checklists, checklistCached+".json")
	s := t.Fresh() // the cache of another session may hold another state
	_, _, err := validate(t, s, newDraft("EPIC-006").text(), "EPIC-006")
	t.NoError(err)
	t.Step(s)
	defer func() { t.NoError(writeFile(filepath.Dir(path), filepath.Base(path), mixedChecklist("epic", false))) }()
	f(s, path)
}

func runChecklistUnreadable(t *engine.Trial) {
	if !*surroundings.Of(t).PermissionsEnforced {
		t.Skip("S0-VAL-16", conformance.SkipControl, "file permissions do not bind this user")
		return
	}
	s := t.Shared()
	path := filepath.Join(surroundings.Of(t).Checklists, checklistHidden+".json")
	t.NoError(engine.SuiteError(os.Chmod(path, 0)))
	defer func() { t.NoError(engine.SuiteError(os.Chmod(path, 0o644))) }() //nolint:gosec // as the other checklists are
	refused(t, s, "S0-VAL-16", ToolValidate, validateArguments(newDraft("INIT-001").text(), "INIT-001"), CodeServer, "^Permission denied:")
}

func runChecklistUnknownCheck(t *engine.Trial) {
	s := t.Shared()
	v, _ := judged(t, s, "S0-VAL-17/fails", newDraft("SPIKE-001").text(), "SPIKE-001")
	r, found := v.with(func(r verdictResult) bool { return r.ID == "CC-01" })
	t.Check("S0-VAL-17/fails", found && string(r.Passed) == "false" && strings.Contains(r.Details, "Unknown check type"),
		`passed false, "Unknown check type: …"`, "%s", rawjson.Encode(r))
	t.Check("S0-VAL-17/only", v.Rate == "2/3" && !v.passed(), `"2/3"`, "%s", v.describe())
}
