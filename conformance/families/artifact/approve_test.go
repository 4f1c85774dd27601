package artifact

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

func anys(s ...string) []any {
	out := make([]any, len(s))
	for i, v := range s {
		out[i] = v
	}
	return out
}

func TestS0_APPROVE_01_Result(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	f.family006(t)
	begin := time.Now()
	res, failure := f.approve(t, "PRD-006")
	require.Nil(t, failure)
	t.Run("S0-APPROVE-30", func(t *testing.T) { require.Less(t, time.Since(begin), 2*time.Second) })
	require.Len(t, res["task_ids"], 3)
	require.Subset(t, res, map[string]any{
		"success": true, "artifact_id": "PRD-006", "old_status": "Draft", "new_status": "Approved",
		"artifact_path":          "artifacts/prd/PRD-006_v1.md",
		"sub_artifacts_detected": anys("HLS-001", "HLS-002", "HLS-003"), "tasks_created": 3.0,
		"placeholder_ids_replaced": 3.0, "reservation_confirmed": true,
		"id_mapping": map[string]any{"HLS-AAA": "HLS-001", "HLS-BBB": "HLS-002", "HLS-CCC": "HLS-003"},
	})
	f.settled(t)

	t.Run("S0-APPROVE-02", func(t *testing.T) {
		require.Contains(t, f.file(t, "prd/PRD-006_v1.md"), "- HLS-001 first\n- HLS-002 second, needs HLS-001\n- HLS-003 third\n\n"+
			"## Dependencies\n\nHLS-003 needs HLS-001 and HLS-002.")
	})
	t.Run("S0-APPROVE-05", func(t *testing.T) {
		text := f.file(t, "prd/PRD-006_v1.md")
		require.Contains(t, text, "- **Status:** \"Approved\"\n")
		require.Contains(t, f.file(t, "prd/PRD-006_v1_metadata.json"), `"status": "Approved"`)
		require.Contains(t, f.file(t, "prd/PRD-006_v1_metadata.json"), fmt.Sprintf(`"size_bytes": %d`, len(text)))
	})
	t.Run("S0-APPROVE-14", func(t *testing.T) {
		reserves := f.wire.to("/ids/reserve")
		require.Len(t, reserves, 1)
		require.Equal(t, map[string]any{"type": "HLS", "count": 3.0, "project_id": f.opts.ProjectID}, reserves[0].Body)
		for _, path := range []string{"/ids/reserve", "/tasks/batch", "/ids/confirm"} {
			require.Equal(t, "wf-1", f.wire.to(path)[0].Header.Get("X-Task-Id"))
		}
	})
	t.Run("S0-APPROVE-15", func(t *testing.T) {
		tasks := f.queued(t)
		require.Len(t, tasks, 3)
		for i, task := range tasks {
			require.Equal(t, fmt.Sprintf("HLS-%03d", i+1), task.ArtifactID)
			require.Equal(t, "hls-generator", task.Generator)
			require.Equal(t, fmt.Sprintf("Generate HLS-%03d from PRD-006", i+1), task.Description)
			require.Equal(t, "wf-1", task.Of)
		}
		sent := f.wire.to("/tasks/batch")[0].Body["tasks"].([]any)[0].(map[string]any)["inputs"]
		research := func(name string) map[string]any {
			file := researchFiles()[name]
			return map[string]any{
				"name": name, "classification": "recommended", "artifact_type": "research", "artifact_id": "N/A",
				"resource_path": "artifacts/research/" + file, "mcp_resource_uri": "mcp://resources/artifacts/research/" + file, "status": "Finalized",
			}
		}
		require.Equal(t, []any{map[string]any{
			"name": "prd", "classification": "mandatory", "artifact_type": "prd", "artifact_id": "PRD-006",
			"resource_path": "artifacts/prds/PRD-006_v1.md", "mcp_resource_uri": "mcp://resources/artifacts/prds/PRD-006_v1.md", "status": "Approved",
		}, research("business_research"), research("implementation_research")}, sent)
	})
	t.Run("S0-APPROVE-17", func(t *testing.T) {
		// A confirmed reservation is not there to be cleaned up.
		_, err := shared.store.DeleteExpired(t.Context(), time.Now().Add(time.Hour))
		require.NoError(t, err)
		require.NoError(t, f.workflow.ids.Confirm(t.Context(), "", res["reservation_id"].(string)))
	})
	t.Run("S0-APPROVE-28", func(t *testing.T) {
		done := f.records(t, "approve_artifact_invocation_completed")
		require.Len(t, done, 1)
		require.Subset(t, done[0], map[string]any{
			"tool_name": "approve_artifact", "task_id": "wf-1", "artifact_id": "PRD-006", "old_status": "Draft", "new_status": "Approved",
			"placeholder_ids_replaced": 3.0, "id_mapping": res["id_mapping"], "reservation_id": res["reservation_id"],
			"sub_artifacts_detected": res["sub_artifacts_detected"], "tasks_created": 3.0, "task_ids": res["task_ids"], "success": true,
		})
		require.Contains(t, done[0], "duration_ms")
		for _, stage := range []string{
			"approval_workflow_started", "approval_prerequisites_validated", "sub_artifacts_detected", "id_range_reserved",
			"placeholders_replaced", "artifact_status_updated", "generator_inputs_resolved", "tasks_created",
			"id_reservation_confirmed", "approval_workflow_completed",
		} {
			lines := f.records(t, stage)
			require.Len(t, lines, 1, stage)
			require.Equal(t, "wf-1", lines[0]["task_id"])
		}
		added := f.records(t, "add_task_invocation_completed")
		require.Len(t, added, 1)
		require.Subset(t, added[0], map[string]any{"task_id": "wf-1", "tasks_added": 3.0, "mandatory_inputs_count": 1.0, "recommended_inputs_count": 2.0})
	})
	t.Run("S0-APPROVE-07", func(t *testing.T) {
		before := f.file(t, "prd/PRD-006_v1.md")
		_, failure := f.approve(t, "PRD-006")
		require.Equal(t, int64(-32000), failure.Code)
		require.Equal(t, "Artifact PRD-006 already approved", failure.Message)
		require.Equal(t, draftStatus, failure.Data["prerequisite"])
		require.Equal(t, before, f.file(t, "prd/PRD-006_v1.md"))
		require.Len(t, f.wire.to("/ids/reserve"), 1)
		require.Len(t, f.records(t, "already_approved"), 1)
	})
}

func TestS0_APPROVE_03_OrderOfAppearance(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	f.put(t, prdDraft("PRD-010", "", "First HLS-BBB, then HLS-AAA, then HLS-BBB."))
	_, failure := f.approve(t, "PRD-010")
	require.Nil(t, failure)
	require.Contains(t, f.file(t, "prd/PRD-010_v1.md"), "First HLS-001, then HLS-002, then HLS-001.")
}

func TestS0_APPROVE_04_WholeTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"HLS-AAAB XHLS-AAA HLS-AAA_x éHLS-AAA HLS-AAA1":                       "HLS-AAAB XHLS-AAA HLS-AAA_x éHLS-AAA HLS-AAA1",
		"(HLS-AAA),HLS-AAA.":                                                  "(HLS-001),HLS-001.",
		"_HLS-AAA_, __see HLS-AAA__":                                          "_HLS-001_, __see HLS-001__",
		"[HLS-AAA](x/HLS-AAA \"HLS-AAA\") https://x.example/HLS-AAA, HLS-AAA": "[HLS-001](x/HLS-001 \"HLS-001\") https://x.example/HLS-AAA, HLS-001",
		"[HLS-AAA]\n\n[HLS-AAA]: x/HLS-AAA\nHLS-AAA":                          "[HLS-001]\n\n[HLS-001]: x/HLS-001\nHLS-001",
		"`HLS-AAA`–HLS-AAA":                                                   "`HLS-001`–HLS-001",
		"HLS-AAA":                                                             "HLS-001",
		"hls-aaa HLS-ZZZ US-AAA":                                              "hls-aaa HLS-ZZZ US-AAA",
		"XHLS-AAAHLS-AAA HLS-AAA":                                             "XHLS-AAAHLS-AAA HLS-001",
		"":                                                                    "",
	} {
		require.Equal(t, want, replacePlaceholders(text, map[string]string{"HLS-AAA": "HLS-001"}))
	}
	require.Empty(t, idsOf("HLS-AAAB XHLS-AAA", "HLS"))
}

// Links to what has a final id now lead to it: the heading, whose anchor changed,
// and the document, which will have that name. Others are as they were.
func TestLinksFollowTheirIDs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"### HLS-AAA: Pay\n[pay](#hls-aaa-pay)":                        "### HLS-001: Pay\n[pay](#hls-001-pay)",
		"[b](#story-2-hls-aaa--pay \"Pay\") [c](<#HLS-AAA> 'x')":       "[b](#story-2-hls-001--pay \"Pay\") [c](<#HLS-001> 'x')",
		"[d](../hls/HLS-AAA_v1.md#hls-aaa) [e](HLS-AAA_pay)":           "[d](../hls/HLS-001_v1.md#hls-001) [e](HLS-001_pay)",
		"[f](mcp://resources/artifacts/hls/HLS-AAA_v1.md)":             "[f](mcp://resources/artifacts/hls/HLS-001_v1.md)",
		"mcp://resources/artifacts/hls/HLS-AAA_v1.md, and":             "mcp://resources/artifacts/hls/HLS-001_v1.md, and",
		"## Pay {#hls-aaa}\n<a id=\"hls-aaa\" href=\"#HLS-AAA\">x</a>": "## Pay {#hls-001}\n<a id=\"hls-001\" href=\"#HLS-001\">x</a>",
		"[g]: #hls-aaa\n[h]: HLS-AAA.md 'HLS-AAA'":                     "[g]: #hls-001\n[h]: HLS-001.md 'HLS-001'",
		"![i](img/HLS-AAA.png) [j](https://x.example/HLS-AAA.md)":      "![i](img/HLS-AAA.png) [j](https://x.example/HLS-AAA.md)",
		"[k](//x.example/HLS-AAA) [l](mailto:HLS-AAA) [m](/HLS-AAA)":   "[k](//x.example/HLS-AAA) [l](mailto:HLS-AAA) [m](/HLS-AAA)",
		"[n](hls-aaa.md) [o](#hls-aaab) [p](#xhls-aaa) [q](#hls-bbb)":  "[n](hls-aaa.md) [o](#hls-aaab) [p](#xhls-aaa) [q](#hls-bbb)",
		"<img alt=\"HLS-AAA\" src=\"HLS-AAA.png\">":                    "<img alt=\"HLS-AAA\" src=\"HLS-AAA.png\">",
	} {
		require.Equal(t, want, replacePlaceholders(text, map[string]string{"HLS-AAA": "HLS-001"}))
	}
}

func TestS0_APPROVE_06_Missing(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	for range 2 { // without a base, then with one
		_, failure := f.approve(t, "PRD-006")
		require.Equal(t, int64(-32001), failure.Code)
		require.Equal(t, "Resource not found: Artifact PRD-006 not found", failure.Message)
		require.Equal(t, artifactExists, failure.Data["prerequisite"])
		f.put(t, epic("1", "Draft", ""))
	}
	require.Empty(t, f.wire.sent)
	require.Len(t, f.records(t, "artifact_not_found"), 2)
}

// The prerequisites that do not hold, in the order they are tested (13): each
// document has the faults of all the following ones as well.
func TestS0_APPROVE_13_PrerequisitesInOrder(t *testing.T) {
	t.Parallel()
	questions := "## Open Questions\n\n- [REQUIRES SPIKE] one\n- [REQUIRES SPIKE] two\n"
	for _, tc := range []struct {
		name, status, parent, epic, body string
		code                             int64
		text                             string
		which                            prerequisite
	}{
		{"status", "Approved", "EPIC-006", "Draft", questions, -32000, "Artifact PRD-006 already approved", draftStatus},
		{"in review", "In Review", "EPIC-006", "Draft", questions, -32000, "Artifact PRD-006 is not a Draft (status: In Review)", draftStatus},
		{"S0-APPROVE-08 parent is a draft", "Draft", "EPIC-006", "Draft", questions, -32000, "Parent EPIC-006 must be approved first", parentApproved},
		{"S0-APPROVE-09 parent is missing", "Draft", "EPIC-999", "Approved", questions, -32000, "Parent EPIC-999 must be approved first", parentApproved},
		{"S0-APPROVE-11 questions", "Draft", "EPIC-006", "Approved", questions, -32000, "Artifact has 2 open questions requiring resolution", openQuestions},
		{"S0-APPROVE-12 one decision", "Draft", "EPIC-006", "Approved", "## 9. Open Questions\n### Sub\n[REQUIRES ADR]", -32000, "Artifact has 1 open question requiring resolution", openQuestions},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newFlow(t)
			f.put(t, epic("1", tc.epic, ""))
			text := strings.Replace(prdDraft("PRD-006", "- **Parent Epic:** "+tc.parent, "HLS-AAA\n\n"+tc.body), `"Draft"`, `"`+tc.status+`"`, 1)
			f.put(t, text)
			_, failure := f.approve(t, "PRD-006")
			require.NotNil(t, failure)
			require.Equal(t, tc.code, failure.Code)
			require.Equal(t, tc.text, failure.Message)
			require.Equal(t, tc.which, failure.Data["prerequisite"])
			require.Empty(t, f.wire.sent, "no reservation")
			require.Equal(t, text, f.file(t, "prd/PRD-006_v1.md"))
			require.Len(t, f.records(t, tc.which.event()), 1)
			f.settled(t)
		})
	}
}

func TestS0_APPROVE_12_WhatDoesNotBlock(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	f.put(t, prdDraft("PRD-006", "", "[REQUIRES SPIKE] not here\n\n## Open Questions\n\n- [REQUIRES TECH LEAD] later\n```\n[REQUIRES ADR]\n```\n\n## Risks\n\n[REQUIRES ADR]"))
	res, failure := f.approve(t, "PRD-006")
	require.Nil(t, failure)
	t.Run("S0-APPROVE-10", func(t *testing.T) { require.Equal(t, "Approved", res["new_status"], "no parent, no check") })
	t.Run("S0-APPROVE-19", func(t *testing.T) {
		require.Equal(t, []any{}, res["sub_artifacts_detected"])
		require.Equal(t, []any{}, res["task_ids"])
		require.Equal(t, map[string]any{}, res["id_mapping"])
		require.InDelta(t, 0, res["tasks_created"], 0)
		require.NotContains(t, res, "reservation_id")
		require.Empty(t, f.wire.sent)
		f.settled(t)
	})
}

func TestS0_APPROVE_16_ResearchThatIsNotThere(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	f.family006(t)
	require.NoError(t, os.Remove(filepath.Join(f.base, researchDir, researchFiles()["business_research"])))
	name := filepath.Join(f.base, researchDir, researchFiles()["implementation_research"])
	require.NoError(t, os.WriteFile(name, []byte("## Metadata\n**Status:** Draft\n"), 0o600))
	_, failure := f.approve(t, "PRD-006")
	require.Nil(t, failure)
	require.Len(t, f.queued(t)[0].Inputs, 1, "neither the missing nor the unfinished one")
	require.Len(t, f.records(t, "research_not_finalized"), 3)
}

func TestS0_APPROVE_18_Epic(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	f.put(t, strings.Replace(epic("1", "Draft", "Becomes PRD-AAA."), "- **Parent Initiative:** INIT-001", "", 1))
	res, failure := f.approve(t, "EPIC-006")
	require.Nil(t, failure)
	require.Equal(t, anys("PRD-006"), res["sub_artifacts_detected"])
	require.Empty(t, f.wire.to("/ids/reserve"))
	require.Equal(t, "prd-generator", f.queued(t)[0].Generator)
	require.Contains(t, f.file(t, "epic/EPIC-006_v1.md"), "Becomes PRD-006.")
	require.NotContains(t, res, "reservation_confirmed")
}

func TestS0_APPROVE_20_Stories(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	f.put(t, doc("**HLS ID:** HLS-012", "**Title:** A story", "**Status:** Draft")+"US-AAA and US-BBB")
	res, failure := f.approve(t, "HLS-012")
	require.Nil(t, failure)
	require.Equal(t, anys("US-001", "US-002"), res["sub_artifacts_detected"])
	require.Equal(t, "backlog-story-generator", f.queued(t)[0].Generator)

	f.put(t, doc("**Story ID:** US-001", "**Title:** A story", "**Parent HLS:** HLS-012", "**Status:** Draft")+"TASK-AAA SPEC-AAA TASK-BBB")
	res, failure = f.approve(t, "US-001")
	require.Nil(t, failure)
	require.Equal(t, anys("SPEC-001", "TASK-001", "TASK-002"), res["sub_artifacts_detected"])
	require.Len(t, res["reservation_ids"], 2, "one for each type")
	confirmed := f.wire.to("/ids/confirm")
	require.Len(t, confirmed, 3, "one of the HLS and both of the story")
	for i, id := range res["reservation_ids"].([]any) {
		require.Equal(t, id, confirmed[1+i].Body["reservation_id"])
	}
	require.Len(t, f.queued(t), 5)
	require.Equal(t, "task-generator", f.queued(t)[4].Generator)
}

func TestS0_APPROVE_25_TwoAtOnce(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	f.family006(t)
	// The second is as another process: another family on the same base.
	other, err := newWorkflow(f.opts)
	require.NoError(t, err)
	var wg sync.WaitGroup
	failures := make([]*family.Error, 8)
	for i := range failures {
		wg.Go(func() {
			w := f.workflow
			if i%2 == 1 {
				w = other
			}
			call := family.NewCall("approve_artifact", []byte(`{"artifact_id":"PRD-006","task_id":"t"}`), f.opts.Logger)
			_, err := approveTool(w.approver).Handle(t.Context(), call)
			failures[i] = f.family.Failure(err)
		})
	}
	wg.Wait()
	won := 0
	for _, failure := range failures {
		if failure == nil {
			won++
			continue
		}
		require.Equal(t, "Artifact PRD-006 already approved", failure.Message)
		require.Equal(t, draftStatus, failure.Data["prerequisite"])
	}
	require.Equal(t, 1, won)
	require.Len(t, f.wire.to("/ids/reserve"), 1)
	require.Len(t, f.queued(t), 3)
}

func TestS0_APPROVE_27_TooManyPlaceholders(t *testing.T) {
	t.Parallel()
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "- HLS-%c%c%c\n", 'A'+i/26/26, 'A'+i/26%26, 'A'+i%26)
		}
		return b.String()
	}
	f := newFlow(t)
	text := prdDraft("PRD-006", "", many(101))
	f.put(t, text)
	_, failure := f.approve(t, "PRD-006")
	require.Equal(t, int64(-32602), failure.Code)
	require.Equal(t, "Invalid params: Artifact PRD-006 has 101 HLS placeholders: at most 100 ids can be reserved at once", failure.Message)
	require.Empty(t, f.wire.sent)
	f.untouched(t, "prd/PRD-006_v1", text)
	f.put(t, prdDraft("PRD-006", "", many(100)))
	res, failure := f.approve(t, "PRD-006")
	require.Nil(t, failure)
	require.Len(t, res["task_ids"], 100)

	// A story has two kinds, which make one batch.
	story := func(tasks int) string {
		specs := strings.ReplaceAll(many(60), "HLS-", "SPEC-")
		return doc("**Story ID:** US-001", "**Title:** A story", "**Status:** Draft") + "## Tasks\n\n" + specs + strings.ReplaceAll(many(tasks), "HLS-", "TASK-")
	}
	reserved := len(f.wire.to("/ids/reserve"))
	f.put(t, story(41))
	_, failure = f.approve(t, "US-001")
	require.NotNil(t, failure)
	require.Equal(t, "Invalid params: Artifact US-001 has 101 sub-artifact placeholders: at most 100 tasks can be added at once", failure.Message)
	require.Len(t, f.wire.to("/ids/reserve"), reserved)
	f.untouched(t, "backlog_story/US-001_v1", story(41))
	f.put(t, story(40))
	res, failure = f.approve(t, "US-001")
	require.Nil(t, failure)
	require.Len(t, res["task_ids"], 100)
}

func TestS0_APPROVE_29_HighestVersion(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	for _, v := range []string{"1", "10", "9"} {
		f.put(t, strings.Replace(prdDraft("PRD-006", "", "HLS-AAA"), "**Version:** 1", "**Version:** "+v, 1))
	}
	f.put(t, prdDraft("PRD-0060", "", ""))
	res, failure := f.approve(t, "PRD-006")
	require.Nil(t, failure)
	require.Equal(t, "artifacts/prd/PRD-006_v10.md", res["artifact_path"])
	require.Contains(t, f.file(t, "prd/PRD-006_v10.md"), "Approved")
	require.Contains(t, f.file(t, "prd/PRD-006_v9.md"), "Draft")
	require.Equal(t, "mcp://resources/artifacts/prds/PRD-006_v10.md", f.queued(t)[0].Inputs[0].MCPResourceURI)
}

// C-06: whichever folder is set, artifacts are found in both.
func TestS0_C_06_BothFolders(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	f.put(t, epic("1", "Approved", ""))
	f.opts.PluralDirs = true
	f.restart(t)
	f.put(t, prdDraft("PRD-006", "- **Parent Epic:** EPIC-006", "HLS-AAA"))
	require.FileExists(t, filepath.Join(f.base, "prds", "PRD-006_v1.md"))
	_, failure := f.call(t, "store_artifact", map[string]any{"artifact_content": epic("1", "Draft", "")})
	require.NotNil(t, failure, "the approved one is in the other folder")
	require.Equal(t, "approved_immutable", failure.Data["reason"])
	f.opts.PluralDirs = false
	f.restart(t)
	res, failure := f.approve(t, "PRD-006")
	require.Nil(t, failure)
	require.Equal(t, "artifacts/prds/PRD-006_v1.md", res["artifact_path"], "the folder it is in")
	for _, uri := range []string{"epics/EPIC-006_v1.md", "prds/PRD-006_v1.md"} {
		text, err := f.family.Resources[0].Read(t.Context(), resourceRoot+uri)
		require.NoError(t, err)
		require.Contains(t, text, "Approved")
	}
}

// A lost or torn metadata file, as a crash of a store leaves it, is made again.
func TestS0_APPROVE_26_MetadataLost(t *testing.T) {
	t.Parallel()
	for _, torn := range []string{"", "{", `{"artifact_id":"PRD-007"}`} {
		f := newFlow(t)
		f.family006(t)
		name := filepath.Join(f.base, "prd/PRD-006_v1_metadata.json")
		require.NoError(t, os.Remove(name))
		if torn != "" {
			require.NoError(t, os.WriteFile(name, []byte(torn), 0o600))
		}
		_, failure := f.approve(t, "PRD-006")
		require.Nil(t, failure)
		require.Contains(t, f.file(t, "prd/PRD-006_v1_metadata.json"), `"parent_id": "EPIC-006"`)
	}
}

func TestApproveHostileIDs(t *testing.T) {
	t.Parallel()
	f := newFlow(t)
	for _, id := range []string{"../../etc/PRD-006", "/etc/passwd", `PRD-006\..`, "PRD-%2e%2e%2f006", "PRD-006\x00"} {
		_, failure := f.approve(t, id)
		require.Equal(t, int64(-32602), failure.Code, id)
		require.Equal(t, "path_traversal_check", failure.Data["validation_failed"])
	}
	require.Len(t, f.records(t, "Path traversal attempt detected"), 5)
	for _, id := range []string{"", "PRD-06", "prd-006", "PRD-006'; DROP TABLE tasks;--", "XYZ-001", "PRD-" + strings.Repeat("1", 100)} {
		_, failure := f.approve(t, id)
		require.Equal(t, int64(-32602), failure.Code, id)
	}
	_, failure := f.callRaw(t.Context(), t, "approve_artifact", map[string]any{"artifact_id": 7, "task_id": "t"})
	require.Equal(t, "Invalid params: artifact_id must be a string", failure.Message)
	require.Empty(t, f.tree(t))
	require.Empty(t, f.wire.sent)
}
