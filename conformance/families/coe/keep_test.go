package coe

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/coe/ledger"
)

// fullArguments are calls of the reporting tools with every argument they have.
var fullArguments = []struct {
	tool, args, task string
	kind             ledger.Kind
	// below is the member of the record that holds the arguments; empty is all of it.
	below string
}{
	{"reportTaskDone", `{"taskId":"TASK-002","status":"partial",
		"statusDetails":{"progressPercent":40,"blockedReason":"the key is late","failureReason":"the build broke","partiallyDone":"layout only"},
		"implementationNotes":"moved to HSL\nsee the palette","filesModified":["src/a.css","src/b.css"],
		"testing":{"testsAdded":true,"testFileCreated":"src/a_test.js","testsPassed":false,"testsFailed":0,"testCoveragePercent":0,
			"failedTestNames":["dark mode"],"accessibilityTestsPassed":false},
		"acceptanceCriteriaVerification":{"0":{"text":"colors","status":"passed"},"7":{"text":"toggle","status":"failed"}},
		"followUpTasks":[{"title":"Toggle","why":"it is missing","estimatedHours":0}],"observations":["HEX is hard to theme"]}`, "TASK-002", ledger.Report, ""},
	{"reportTaskStatus", `{"task_id":"TASK-003","status":"in_progress","progress_percent":0,"details":"half way",
		"metrics":{"tokens_used":0,"time_seconds":12.5,"coverage_added":-1},"priority":2}`, "TASK-003", ledger.Report, ""},
	{"reportTaskCompleted", `{"task_id":"TASK-004","status":"failed","output_summary":"did not work","files_modified":["a.go"],
		"coverage_percent":0,"test_results":{"passed":0,"failed":3},"priority_completed":3}`, "TASK-004", ledger.Report, ""},
	{"reportObservation", observationExample, "TASK-001", ledger.Observation, ""},
	{
		"reportObservation", `{"observation":"slow","category":"optimization","priority":2,"task_id":"TASK-005","file_path":"src/x.go"}`,
		"TASK-005", ledger.Observation, "",
	},
	{"reportIssue", `{"issue_description":"it burns","severity":1,"task_id":"TASK-006","file_path":"src/y.go","repro_steps":"light it",
		"immediate":false}`, "TASK-006", ledger.Issue, ""},
	{"reportTestFailure", `{"taskId":"TASK-007","testName":"renders","testFile":"src/z_test.js","failureDetails":{"error":"boom","failingColor":{"h":1},
		"expectedValue":[1,2],"actualValue":null,"failedAssertion":"equal"},"previousStatus":"passing_before","context":"on CI",
		"causePossibility":["clock","order"],"needsInvestigation":true,"actionNeeded":"look"}`, "TASK-007", ledger.TestFailure, ""},
	{"reportVerificationResult", `{"verificationTaskId":"TASK-VERIFY-001","originalTaskId":"TASK-001","verificationStatus":"partial",
		"verification":{"checklist":[{"item":"contrast","status":"failed","note":"3.9"},{"item":"dark","status":"skipped"}],
		"failedItems":[{"item":"contrast","issue":"too low","why":"grey on grey"}],"summary":"nearly"},
		"originalTaskStatus":"done_but_incomplete","suggestedActions":["darken it"]}`, "TASK-001", ledger.Verification, ""},
	{"askQuestion", `{"question":"Should sidebar collapse on mobile?","context":{"why":"layout"},"currentTaskId":"TASK-008","searchInPlan":"navigation",
		"includeRelatedDecisions":false}`, "TASK-008", ledger.Question, "asked"},
	{"askQuestion", `{"question":"Which font?","context_summary":"typography","current_file":"src/f.css","relevant_snippets":[{"file":"src/f.css","content":"body{}"}],
		"task_id":"TASK-009","confidence_level":10,"priority_level":1,"possible_options":["serif","sans"]}`, "TASK-009", ledger.Question, "asked"},
	{"getImmediateAnswer", `{"query":"Which contrast ratio?","context_bundle":{"task_id":"TASK-010"},"max_wait_seconds":5}`, "", ledger.Question, "asked"},
}

// Every argument of every report is in its record under its name, with who, when
// and which task: in the ledger, and by the record's id in a resource.
func TestKeep_EveryArgument(t *testing.T) {
	t.Parallel()
	for name, where := range map[string]func(*Options){"memory": func(*Options) {}, "sqlite": onDisk(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, where)
			r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done"}`).ok()
			r.agent = "ann"
			for _, tt := range fullArguments {
				before := len(r.records(tt.kind))
				r.call(tt.tool, tt.args).ok()
				rec := r.records(tt.kind)[before]
				view := r.resource(recordRoot + rec.ID)
				require.Equal(t, []any{rec.ID, string(tt.kind), 1.0, tt.tool, "ann"}, []any{view["id"], view["kind"], view["version"], view["tool"], view["agent"]})
				if tt.task != "" {
					require.Equal(t, tt.task, view["taskId"])
				}
				requireTimestamp(t, view["at"])
				report := dig(t, view, "report")
				if tt.below != "" {
					report = dig(t, report, tt.below)
				}
				var args any
				require.NoError(t, json.Unmarshal([]byte(tt.args), &args))
				requireHolds(t, tt.tool, report, args)
				require.Equal(t, 1, strings.Count(r.logs.String(), `"record_id":"`+rec.ID+`"`))
			}
			require.Equal(t, r.allRecords(), strings.Count(r.logs.String(), `"msg":"coe_record_kept"`), "one line each")
		})
	}
}

// Each member of a schema is in one of the calls above: what a later argument
// reports is not forgotten.
func TestKeep_FullArgumentsAreFull(t *testing.T) {
	t.Parallel()
	told := map[string]string{}
	for _, tt := range fullArguments {
		told[tt.tool] += tt.args
	}
	var schemas map[string]any
	require.NoError(t, json.Unmarshal(schemasFile, &schemas))
	for tool, args := range told {
		require.Contains(t, schemas, tool)
		for _, name := range properties(schemas[tool]) {
			require.Contains(t, args, `"`+name+`":`, tool)
		}
	}
}

// properties returns the names of all members that a schema knows.
func properties(schema any) (names []string) {
	switch s := schema.(type) {
	case map[string]any:
		if p, ok := s["properties"].(map[string]any); ok {
			for name := range p {
				names = append(names, name)
			}
		}
		for _, inner := range s {
			names = append(names, properties(inner)...)
		}
	case []any:
		for _, inner := range s {
			names = append(names, properties(inner)...)
		}
	}
	return names
}

// requireHolds asserts that a record has all that was reported; it may have more.
func requireHolds(t *testing.T, path string, got, told any) {
	t.Helper()
	m, ok := told.(map[string]any)
	if !ok {
		require.Equal(t, told, got, path)
		return
	}
	for name, inner := range m {
		require.Contains(t, got, name, path)
		requireHolds(t, path+"."+name, dig(t, got, name), inner)
	}
}

func (r *rig) resource(uri string) map[string]any {
	r.t.Helper()
	for _, res := range r.fam.Resources {
		root, _, _ := strings.Cut(res.URITemplate, "{")
		if strings.HasPrefix(uri, root) {
			text, err := res.Read(r.t.Context(), uri)
			require.NoError(r.t, err)
			var out map[string]any
			require.NoError(r.t, json.Unmarshal([]byte(text), &out))
			return out
		}
	}
	require.Fail(r.t, "no resource "+uri)
	return nil
}

func (r *rig) allRecords() int {
	r.t.Helper()
	recs, _, err := r.srv.ledger.Records(r.t.Context(), ledger.RecordQuery{})
	require.NoError(r.t, err)
	return len(recs)
}

// The log has an excerpt of a record: no long text, no document, no key.
func TestKeep_LogIsBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	long := strings.Repeat("word ", 2000)
	const key = "sk-abcdefghijklmnopqrstuvwxyz0123456789"
	r.call("reportTaskDone", fmt.Sprintf(`{"taskId":"TASK-002","status":"failed","implementationNotes":%q,
		"statusDetails":{"failureReason":"the server wants api_key=hunter2 or %s"}}`, long, key)).ok()
	r.call("reportTestFailure", fmt.Sprintf(`{"taskId":"TASK-003","testName":"n","testFile":"a_test.go","failureDetails":{"error":"e","actualValue":%q},
		"previousStatus":"flaky","needsInvestigation":false,"actionNeeded":"a","context":"the whole file, line by line"}`, long)).ok()
	r.call("createTicket", fmt.Sprintf(`{"title":"t","description":%q}`, long)).ok()
	logs := r.logs.String()
	require.Contains(t, logs, "word word")
	require.Contains(t, logs, `"ticket_id":"TK-123"`)
	for _, secret := range []string{"hunter2", key, "line by line", strings.Repeat("word ", 30)} {
		require.NotContains(t, logs, secret)
	}
	for line := range strings.Lines(logs) {
		require.Less(t, len(line), 2500)
	}
	require.Equal(t, long, dig(t, r.resource(recordRoot+"REPORT-001"), "report", "implementationNotes"), "the ledger has all of it")
	require.Equal(t, long, r.resource(recordRoot + "TK-123")["description"])
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a token budget of 500, keys: left, right": "a token budget of 500, keys: left, right",
		"api_key=abc; next":                        "api_key=[redacted]; next",
		`password: "a b c" and more`:               `password: [redacted] and more`,
		"Authorization: Bearer abc.def":            "Authorization: [redacted]",
		"sent bearer abcdefgh123":                  "sent bearer [redacted]",
		"https://u:p@host/x":                       "https://[redacted]host/x",
		"ghp_abcdefghijklmnop1234 x":               "[redacted] x",
		"eyJhbGciOiJIUzI1.eyJzdWIiOiIx.sig":        "[redacted]",
	} {
		require.Equal(t, want, redact(text))
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	got := facts([]byte(`{"b":"x\u0007y","a":{"c":[1,true,null],"d":[{"e":2},[3]]},"context":"0123"}`), true)
	require.Equal(t, []fact{{"b", "xy"}, {"a.c", "1, true, null"}, {"a.d[0].e", "2"}, {"a.d[1]", "3"}, {"context", "(6 bytes)"}}, got)
	require.Equal(t, "b: xy; a.c: 1, …", sentence(got, 100, 15))
	require.Equal(t, "b: xy; a.c: 1,…; a.d[0].e: 2; a.d[1]: 3; context: (6…", sentence(got, 2, 1000))
	require.Empty(t, facts([]byte(`[1]`), false))
	require.Empty(t, facts(nil, false))
}

func FuzzFacts(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,{"c":"é"}]},"context":[[]],"x":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if !json.Valid(body) {
			return
		}
		text := sentence(facts(body, true), 20, 100)
		require.LessOrEqual(t, len([]rune(redact(text))), 2000)
	})
}

// Who works on a task next reads what was reported on it, and on what it waited
// for; who leaves out the context does not.
func TestHistory_InTheNextTask(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	plain := dig(t, r.next(`{"filter":"all","priority":"high"}`), "task", "superDetailedPrompt", "context")
	require.NotContains(t, plain, "Reported")
	r.agent = "ann"
	r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done","implementationNotes":"HSL everywhere","filesModified":["src/hsl.css"]}`).ok()
	r.agent = "bob"
	r.call("reportVerificationResult", `{"verificationTaskId":"TASK-VERIFY-001","originalTaskId":"TASK-001","verificationStatus":"failed",
		"verification":{"checklist":[],"summary":"contrast is 3.9"},"originalTaskStatus":"needs_rework"}`).ok()
	task := dig(t, r.next(`{}`), "task")
	require.Equal(t, "TASK-001", dig(t, task, "taskId"))
	text := fmt.Sprint(dig(t, task, "superDetailedPrompt", "context"))
	require.True(t, strings.HasPrefix(text, fmt.Sprint(plain)+"\n\nReported so far:\nTASK-001 REPORT-001, reportTaskDone by ann at "), text)
	for _, part := range []string{
		"implementationNotes: HSL everywhere", "filesModified: src/hsl.css", "VERIF-001, reportVerificationResult by bob",
		"summary: contrast is 3.9", "All of it: mcp://resources/coe/tasks/TASK-001",
	} {
		require.Contains(t, text, part)
	}
	require.NotContains(t, dig(t, r.next(`{"includeContext":false}`), "task", "superDetailedPrompt"), "context")
	require.NotContains(t, r.srv.plan.View().Task("TASK-001").Prompt.Context, "Reported", "the plan is as it was")

	v := r.srv.plan.View()
	waits := v.Task("TASK-034")
	require.NotEmpty(t, waits.Dependencies)
	r.call("reportTaskDone", fmt.Sprintf(`{"taskId":%q,"status":"done","implementationNotes":"the way is free"}`, waits.Dependencies[0])).ok()
	text = fmt.Sprint(dig(t, r.next(`{"filter":"all","priority":"critical"}`), "task", "superDetailedPrompt", "context"))
	require.Contains(t, text, waits.Dependencies[0]+" REPORT-002")
	require.Contains(t, text, "the way is free")
}

// A question that names a task, a record or a ticket is answered with what was
// reported, beside what the plan says.
func TestHistory_InAnswers(t *testing.T) {
	t.Parallel()
	for name, where := range map[string]func(*Options){"memory": func(*Options) {}, "sqlite": onDisk(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, where)
			ask := func(query string) (string, any) {
				got := r.call("getImmediateAnswer", fmt.Sprintf(`{"query":%q}`, query)).ok()
				r.call("callCOEAgent", fmt.Sprintf(`{"command":"ask","args":{"question":%q}}`, query))
				return fmt.Sprint(got["answer"]), got["source"]
			}
			answer, source := ask("What was reported on TASK-005?")
			require.Regexp(t, `^TASK-005 ".+" is ready\. Nothing was reported on it\.`, answer)
			require.Equal(t, "mcp://resources/coe/tasks/TASK-005", source)
			r.agent = "ann"
			r.call("reportTaskDone", `{"taskId":"TASK-005","status":"failed","statusDetails":{"failureReason":"no network"}}`).ok()
			r.call("createTicket", `{"title":"Who has the key?","description":"of the build","task_id":"TASK-005"}`).ok()
			for range answerRecords {
				r.call("reportTaskStatus", `{"task_id":"TASK-005","status":"blocked","details":"still no network"}`).ok()
			}
			answer, _ = ask("What was reported on TASK-005?")
			require.Contains(t, answer, `is blocked: still no network. The latest 5 reports:`)
			require.Contains(t, answer, "REPORT-006, reportTaskStatus by ann at ")
			require.NotContains(t, answer, "REPORT-001")
			require.Contains(t, answer, "TK-123, question ticket by ann at ")
			answer, source = ask("And REPORT-001, TK-123, TK-123?")
			require.Contains(t, answer, "statusDetails.failureReason: no network")
			require.Contains(t, answer, "open: Who has the key?. of the build")
			require.Equal(t, "mcp://resources/coe/records/REPORT-001", source)

			plan := "the plan"
			both := &shortAnswer{Answer: "4.5:1.", Source: &plan}
			require.NoError(t, r.srv.history.addReports(t.Context(), "Which ratio for TASK-005 and TASK-006?", true, both))
			require.True(t, strings.HasPrefix(both.Answer, "4.5:1.\n\nTASK-005"), "what the plan says comes first: "+both.Answer)
			require.NotContains(t, both.Answer, "TASK-006", "nothing was reported on it")
			require.Equal(t, &plan, both.Source)
			for _, query := range []string{"Quux of TASK-999?", "Quux of TK-99?", "Quux of TK-x?", "Quux of REPORT-999?"} {
				answer, source = ask(query)
				require.Nil(t, source)
				require.True(t, strings.HasPrefix(answer, "Nothing "), answer)
			}
			got := r.call("callCOEAgent", `{"command":"ask","args":{"question":"What about REPORT-001?"}}`)
			require.Contains(t, got.text, "no network")
		})
	}
}

// Who verifies a task finds what was reported on it under the verification.
func TestHistory_OfAVerification(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done","implementationNotes":"HSL everywhere"}`).ok()
	got := r.resource(taskRoot + "TASK-VERIFY-001")
	require.Equal(t, "TASK-001", got["verifies"])
	require.Equal(t, "HSL everywhere", dig(t, got, "reports", 0, "report", "implementationNotes"))
	answer := r.call("getImmediateAnswer", `{"query":"What is there to check for TASK-VERIFY-001?"}`).ok()["answer"]
	require.Contains(t, answer, "is ready, the verification of TASK-001. Reported:\nREPORT-001")
}

func TestHistory_Resources(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.Admin = true })
	r.agent = "ann"
	r.call("reportTaskStatus", `{"task_id":"TASK-002","status":"blocked","progress_percent":30,"details":"no key","metrics":{"time_seconds":3600}}`).ok()
	r.call("createTicket", `{"title":"Key?","type":"investigation","task_id":"TASK-002","priority":1}`).ok()
	got := r.resource(taskRoot + "TASK-002")
	require.Equal(t, []any{"TASK-002", "blocked", "no key", 30.0, 1.0, false}, []any{got["taskId"], got["status"], got["hold"], got["progressPercent"], got["actualHours"], got["olderReports"]})
	require.Equal(t, "no key", dig(t, got, "reports", 0, "report", "details"))
	require.Equal(t, "open", dig(t, got, "tickets", 0, "status"))
	r.call("reportTaskStatus", `{"task_id":"TASK-002","status":"done"}`).ok()
	require.Equal(t, "closed", r.resource(recordRoot + "TK-123")["status"])
	r.call("clearQueue", `{}`).ok()
	got = r.resource(taskRoot + "TASK-002")
	require.NotContains(t, got, "title", "the task is gone")
	require.Len(t, got["reports"], 2, "its reports are not")
	for _, uri := range []string{taskRoot + "TASK-001", taskRoot, taskRoot + "../x", recordRoot + "OBS-9", recordRoot, recordRoot + "TK-", recordRoot + "TK-0"} {
		res := r.fam.Resources[0]
		if strings.HasPrefix(uri, recordRoot) {
			res = r.fam.Resources[1]
		}
		_, err := res.Read(t.Context(), uri)
		failure := r.fam.Failure(err)
		require.Equal(t, int64(-32001), failure.Code, uri)
		require.Equal(t, uri, failure.Data["uri"])
	}
}

// A report too large to keep is refused, not cut.
func TestKeep_TooLarge(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	huge := quoted(ledger.MaxRecord)
	r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done","implementationNotes":`+huge+`}`).number(400, "the report is too large: it takes ")
	r.call("reportIssue", `{"issue_description":"x","severity":3,"repro_steps":`+huge+`}`).field("arguments")
	require.Zero(t, r.srv.plan.View().Counts().Completed)
	require.Zero(t, r.allRecords())
}
