package artifact

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

func mapFile(data map[string]string, name string) (fs.File, error) {
	m := fstest.MapFS{}
	for k, v := range data {
		m[k] = &fstest.MapFile{Data: []byte(v)}
	}
	return m.Open(name)
}

func withChecklist(t *testing.T, list string) (*rig, *files) {
	t.Helper()
	f := &files{data: map[string]string{"prd_validation_v1.json": list}}
	r := newRig(t)
	r.validator = &validator{checklists: newChecklists(f)}
	return r, f
}

func TestS0_VAL_01_ExamplePRDPassesAll(t *testing.T) {
	t.Parallel()
	res, failure := newRig(t).validate(t, "PRD-006", prd(t))
	require.Nil(t, failure)
	for _, c := range res.Results {
		require.False(t, c.Passed != nil && !*c.Passed, "%s: %s", c.ID, c.Details)
	}
	require.True(t, res.Passed)
	require.Equal(t, "24/24", res.AutomatedPassRate)
	require.Equal(t, 2, res.AgentReviewRequired)
	require.Len(t, res.Results, 26)
	require.Equal(t, "CQ-01", res.Results[0].ID)
	require.Equal(t, "Found 8/8 required sections", res.Results[0].Details)
}

// The two example files are the arguments of two tools for one document.
func TestExamplesAgree(t *testing.T) {
	t.Parallel()
	read := func(name string) map[string]string {
		data, err := os.ReadFile(filepath.Join("../../../examples/artifacts", name))
		require.NoError(t, err)
		var args map[string]string
		require.NoError(t, json.Unmarshal(data, &args))
		return args
	}
	stored, validated := read("prd-006.json"), read("prd-006-validate.json")
	require.Equal(t, "PRD-006", validated["artifact_id"])
	delete(validated, "artifact_id")
	require.Equal(t, stored, validated)
	require.Len(t, stored, 2)
}

func TestS0_VAL_02_ChecklistFollowsFromPrefix(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"EPIC-006": "epic_validation_v1", "US-040": "backlog_story_validation_v1",
		"PRD-006": "prd_validation_v1", "HLS-012": "hls_validation_v1", "SPEC-1000": "tech_spec_validation_v1",
	} {
		r := newRig(t)
		_, failure := r.validate(t, id, "# x")
		require.Nil(t, failure)
		started := r.records(t, "validate_artifact_invocation_started")
		require.Len(t, started, 1)
		require.Equal(t, want, started[0]["checklist_id"])
		require.Equal(t, id, started[0]["artifact_id"])
	}
}

func TestS0_VAL_03_MissingSectionFailsItsCriterion(t *testing.T) {
	t.Parallel()
	for _, section := range []string{"Risks", "Goals", "Success Metrics", "Problem Statement"} {
		content := strings.Replace(prd(t), "\n## "+section+"\n", "\n", 1)
		res, failure := newRig(t).validate(t, "PRD-006", content)
		require.Nil(t, failure, "a failed criterion is a result")
		require.False(t, res.Passed)
		require.Equal(t, "23/24", res.AutomatedPassRate)
		require.False(t, *res.Results[0].Passed)
		require.Equal(t, "Missing sections: "+section, res.Results[0].Details)
	}
}

// The whole section gone, body and all, still costs one criterion only.
func TestS0_VAL_03_WholeRisksSection(t *testing.T) {
	t.Parallel()
	content := regexp.MustCompile(`(?s)## Risks\n.*?\n(## )`).ReplaceAllString(prd(t), "$1")
	res, failure := newRig(t).validate(t, "PRD-006", content)
	require.Nil(t, failure)
	require.Equal(t, "23/24", res.AutomatedPassRate)
}

func TestS0_VAL_04_AgentCriterion(t *testing.T) {
	t.Parallel()
	r, _ := withChecklist(t, criteria(hasHeading, byAgent))
	out, failure := r.call(t, "validate_artifact", map[string]any{"artifact_content": "# x", "artifact_id": "PRD-001", "task_id": "t"})
	require.Nil(t, failure)
	require.Contains(t, out, `{"id":"CQ-02","category":"content_quality","description":"readable at all","passed":null,"validation_type":"agent","details":"Requires agent review","requires_agent_review":true}`)
}

func TestS0_VAL_05_ManualCriterion(t *testing.T) {
	t.Parallel()
	r, _ := withChecklist(t, criteria(hasHeading, byHand))
	out, failure := r.call(t, "validate_artifact", map[string]any{"artifact_content": "# x", "artifact_id": "PRD-001", "task_id": "t"})
	require.Nil(t, failure)
	require.Contains(t, out, `"passed":null,"validation_type":"manual","details":"Requires manual review"}`)
	require.Contains(t, out, `{"passed":true,"automated_pass_rate":"1/1","agent_review_required":0,`)
}

func TestS0_VAL_06_AgentPendingDoesNotFail(t *testing.T) {
	t.Parallel()
	r, _ := withChecklist(t, criteria(hasHeading, byAgent))
	res, failure := r.validate(t, "PRD-001", "# x")
	require.Nil(t, failure)
	require.True(t, res.Passed)
	require.Equal(t, 1, res.AgentReviewRequired)
	res, failure = r.validate(t, "PRD-001", "x")
	require.Nil(t, failure)
	require.False(t, res.Passed)
	r, _ = withChecklist(t, criteria(byAgent))
	res, failure = r.validate(t, "PRD-001", "x")
	require.Nil(t, failure)
	require.True(t, res.Passed, "no automated criteria")
	require.Equal(t, "0/0", res.AutomatedPassRate)
}

func TestS0_VAL_07_PlaceholdersOfTwoKinds(t *testing.T) {
	t.Parallel()
	check := func(content string) (bool, string) {
		res, failure := newRig(t).validate(t, "PRD-006", content)
		require.Nil(t, failure)
		for _, c := range res.Results {
			if c.ID == "CQ-05" {
				return *c.Passed, c.Details
			}
		}
		t.Fatal("no CQ-05")
		return false, ""
	}
	ok, _ := check(prd(t))
	require.True(t, ok)
	ok, details := check(prd(t) + "\n\n[Fill in]\n")
	require.False(t, ok)
	require.Contains(t, details, "[Fill in]")
	ok, details = check(strings.Replace(prd(t), `"Draft"`, `"Approved"`, 1))
	require.False(t, ok, "an approved document has no HLS-AAA left")
	require.Contains(t, details, "HLS-AAA")
}

func TestS0_VAL_08_SameInputSameBytes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	// Short, and with something for each check to name.
	text := doc("**PRD ID:** PRD-006", "**Status:** Draft") + "\n[a] [b] PRD-6 HLS-1 TBD [REQUIRES SPIKE]\n"
	args := map[string]any{"artifact_content": text, "artifact_id": "PRD-006", "task_id": "t"}
	first, failure := r.call(t, "validate_artifact", args)
	require.Nil(t, failure)
	for range 50 {
		next, failure := r.call(t, "validate_artifact", args)
		require.Nil(t, failure)
		require.Equal(t, first, next)
	}
}

func TestS0_VAL_09_UnknownPrefix(t *testing.T) {
	t.Parallel()
	_, failure := newRig(t).validate(t, "FOO-001", "# x")
	require.Equal(t, int64(-32602), failure.Code)
	require.Equal(t, "Invalid params: Unknown artifact ID prefix: FOO. Valid prefixes: EPIC, PRD, HLS, US, SPEC, ADR, SPIKE, TASK, VIS, INIT", failure.Message)
}

func TestS0_VAL_10_ChecklistMissing(t *testing.T) {
	t.Parallel()
	r, _ := withChecklist(t, criteria(hasHeading))
	_, failure := r.validate(t, "ADR-001", "# x")
	require.Equal(t, int64(-32001), failure.Code)
	require.Equal(t, "Resource not found: Checklist not found: adr_validation_v1", failure.Message)
}

func TestS0_VAL_11_BadChecklistIsNotRemembered(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]string{
		"no JSON":            `{"artifact_type":`,
		"other type":         `{"artifact_type":"epic","version":1,"criteria":[` + hasHeading + `]}`,
		"no version":         `{"artifact_type":"prd","criteria":[` + hasHeading + `]}`,
		"no criteria":        `{"artifact_type":"prd","version":1,"criteria":[]}`,
		"id twice":           criteria(hasHeading, hasHeading),
		"id form":            criteria(strings.Replace(hasHeading, "CQ-01", "CQ-1", 1)),
		"category":           criteria(strings.Replace(hasHeading, "content_quality", "taste", 1)),
		"description":        criteria(strings.Replace(hasHeading, "has a heading", "short", 1)),
		"validation type":    criteria(strings.Replace(byAgent, "agent", "oracle", 1)),
		"applies to":         criteria(strings.Replace(byAgent, `"id"`, `"applies_to":"v3","id"`, 1)),
		"no check type":      criteria(strings.Replace(byAgent, `"agent"`, `"automated"`, 1)),
		"no pattern":         criteria(strings.Replace(hasHeading, `,"pattern":"(?m)^# "`, "", 1)),
		"bad pattern":        criteria(strings.Replace(hasHeading, `(?m)^# `, "(", 1)),
		"bad prohibited":     criteria(strings.Replace(byAgent, `"id"`, `"prohibited_patterns":["("],"id"`, 1)),
		"no sections":        criteria(strings.Replace(hasHeading, "id_format", "template_sections", 1)),
		"special validation": criteria(strings.Replace(byAgent, `"id"`, `"special_validations":[{"marker":"x"}],"id"`, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, f := withChecklist(t, list)
			_, failure := r.validate(t, "PRD-001", "# x")
			require.NotNil(t, failure)
			require.Equal(t, int64(-32603), failure.Code)
			require.Contains(t, failure.Message, "Internal error: Checklist is not valid: prd_validation_v1")
			f.set("prd_validation_v1.json", criteria(hasHeading))
			res, failure := r.validate(t, "PRD-001", "# x")
			require.Nil(t, failure)
			require.True(t, res.Passed)
		})
	}
}

func TestS0_VAL_12_TraversalInID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"../etc/passwd", "/etc/passwd", `..\x`, "PRD-001\x00", "%2e%2e%2fetc", "%252e%252e%252f", "PRD-001/../../x"} {
		r := newRig(t)
		_, failure := r.validate(t, id, "# x")
		require.NotNil(t, failure, id)
		require.Equal(t, int64(-32602), failure.Code)
		require.Equal(t, "path_traversal_check", failure.Data["validation_failed"])
		require.Equal(t, id, failure.Data["resource_name"])
		warnings := r.records(t, "Path traversal attempt detected")
		require.Len(t, warnings, 1)
		require.Equal(t, "WARN", warnings[0]["level"])
		require.Equal(t, id, warnings[0]["artifact_id"])
		require.Equal(t, "validate_artifact", warnings[0]["tool_name"])
	}
}

func TestS0_VAL_13_ChecklistIsReadAgainAfterFiveMinutes(t *testing.T) {
	t.Parallel()
	r, f := withChecklist(t, criteria(hasHeading))
	synctest.Test(t, func(t *testing.T) {
		rate := func() string {
			res, failure := r.validate(t, "PRD-001", "# x")
			require.Nil(t, failure)
			return res.AutomatedPassRate
		}
		require.Equal(t, "1/1", rate())
		f.set("prd_validation_v1.json", criteria(hasHeading, strings.Replace(hasHeading, "CQ-01", "CQ-02", 1)))
		time.Sleep(5*time.Minute - time.Nanosecond)
		require.Equal(t, "1/1", rate())
		time.Sleep(time.Nanosecond)
		require.Equal(t, "2/2", rate())
	})
}

func TestS0_VAL_14_OneReadInsideTheTTL(t *testing.T) {
	t.Parallel()
	r, f := withChecklist(t, criteria(hasHeading))
	for range 100 {
		_, failure := r.validate(t, "PRD-001", "# x")
		require.Nil(t, failure)
	}
	require.Equal(t, 1, f.opened())
}

func TestS0_VAL_14_ConcurrentMissesLoadOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &files{data: map[string]string{"prd_validation_v1.json": criteria(hasHeading)}, gate: make(chan struct{})}
		c := newChecklists(f)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				list, err := c.get(t.Context(), time.Now(), types[1])
				require.NoError(t, err)
				require.Len(t, list.Criteria, 1)
			})
		}
		synctest.Wait() // all 20 have missed
		close(f.gate)
		wg.Wait()
		require.Equal(t, 1, f.opened())
	})
}

func TestS0_VAL_15_LogOfCompletion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, failure := r.validate(t, "PRD-006", prd(t))
	require.Nil(t, failure)
	done := r.records(t, "validate_artifact_invocation_completed")
	require.Len(t, done, 1)
	require.Subset(t, done[0], map[string]any{
		"artifact_id": "PRD-006", "checklist_id": "prd_validation_v1", "automated_pass_rate": "24/24",
		"agent_review_count": 2.0, "passed": true, "success": true, "task_id": "t-1", "tool_name": "validate_artifact",
	})
	require.Contains(t, done[0], "duration_ms")
}

func TestS0_VAL_16_UnreadableChecklist(t *testing.T) {
	t.Parallel()
	r, f := withChecklist(t, criteria(hasHeading))
	f.err = fs.ErrPermission
	_, failure := r.validate(t, "PRD-001", "# x")
	require.Equal(t, int64(-32000), failure.Code)
	require.Equal(t, "Permission denied: Checklist cannot be read: prd_validation_v1", failure.Message)
	require.Equal(t, "permission", failure.Data["reason"])
}

func TestS0_VAL_17_UnknownCheckType(t *testing.T) {
	t.Parallel()
	r, _ := withChecklist(t, criteria(hasHeading, unknown))
	res, failure := r.validate(t, "PRD-001", "# x")
	require.Nil(t, failure)
	require.Equal(t, "1/2", res.AutomatedPassRate)
	require.True(t, *res.Results[0].Passed)
	require.False(t, *res.Results[1].Passed)
	require.Equal(t, "Unknown check type: spelling", res.Results[1].Details)
}

func TestValidateArguments(t *testing.T) {
	t.Parallel()
	good := func() map[string]any {
		return map[string]any{"artifact_content": "# x", "artifact_id": "PRD-001", "task_id": "t"}
	}
	for _, tc := range []struct {
		name    string
		change  func(map[string]any)
		message string
	}{
		{"no content", func(m map[string]any) { delete(m, "artifact_content") }, "Invalid params: Missing required argument: artifact_content"},
		{"no id", func(m map[string]any) { delete(m, "artifact_id") }, "Invalid params: Missing required argument: artifact_id"},
		{"no task", func(m map[string]any) { delete(m, "task_id") }, "Invalid params: Missing required argument: task_id"},
		{"content number", func(m map[string]any) { m["artifact_content"] = 1 }, "Invalid params: artifact_content must be a string"},
		{"id null", func(m map[string]any) { m["artifact_id"] = nil }, "Invalid params: artifact_id must be a string"},
		{"id two digits", func(m map[string]any) { m["artifact_id"] = "PRD-01" }, `Invalid params: artifact_id must be a prefix in capitals, a hyphen and at least three digits, such as EPIC-006, and have at most 64 characters`},
		{"task empty", func(m map[string]any) { m["task_id"] = "" }, "Invalid params: task_id must not be empty"},
		{"task 129", func(m map[string]any) { m["task_id"] = strings.Repeat("é", 129) }, "Invalid params: task_id must be at most 128 characters"},
		{"task 128", func(m map[string]any) { m["task_id"] = strings.Repeat("é", 128) }, ""},
		{"unknown", func(m map[string]any) { m["force"] = true }, "Invalid params: Unknown argument: force"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			args := good()
			tc.change(args)
			_, failure := newRig(t).call(t, "validate_artifact", args)
			if tc.message == "" {
				require.Nil(t, failure)
				return
			}
			require.NotNil(t, failure)
			require.Equal(t, int64(-32602), failure.Code)
			require.Equal(t, tc.message, failure.Message)
		})
	}
	_, err := family.ParseArgs([]byte(`[1]`), "x")
	require.EqualError(t, err, "Invalid params: arguments must be an object")
}

// Every shipped checklist parses, has an agent criterion, and fails an empty document.
func TestShippedChecklists(t *testing.T) {
	t.Parallel()
	for id, total := range map[string]string{"PRD-001": "/24", "EPIC-001": "/12", "HLS-001": "/12", "US-001": "/12", "SPEC-001": "/11"} {
		res, failure := newRig(t).validate(t, id, "nothing")
		require.Nil(t, failure, id)
		require.False(t, res.Passed)
		require.True(t, strings.HasSuffix(res.AutomatedPassRate, total), "%s %s", id, res.AutomatedPassRate)
		require.Positive(t, res.AgentReviewRequired)
	}
}

func TestChecklistDirectoryReplacesShipped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prd_validation_v1.json"), []byte(criteria(hasHeading)), 0o600))
	r := newRig(t)
	r.validator = &validator{checklists: newChecklists(resources(dir))}
	res, failure := r.validate(t, "PRD-001", "# x")
	require.Nil(t, failure)
	require.Equal(t, "1/1", res.AutomatedPassRate)
	_, failure = r.validate(t, "EPIC-001", "# x")
	require.Equal(t, int64(-32001), failure.Code, "the shipped ones are not a fallback")
}
