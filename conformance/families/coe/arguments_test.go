package coe

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// goodArguments are natural arguments for each tool, after the first task of
// the sample plan has been reported as done; for tools with two versions there
// are two, told apart by what follows the "@".
var goodArguments = map[string]string{
	"getNextTask":           `{"filter":"ready","priority":"high","includeContext":true}`,
	"reportTaskDone":        `{"taskId":"TASK-002","status":"done","observations":["x"],"followUpTasks":[{"title":"t","why":"w"}]}`,
	"askQuestion@1.0":       `{"question":"Should sidebar collapse on mobile?","context":{"taskId":"TASK-002"},"currentTaskId":"TASK-002"}`,
	"askQuestion@1.2":       `{"question":"Should sidebar collapse on mobile?","context_summary":"navigation","task_id":"TASK-002"}`,
	"reportObservation@1.0": `{"taskId":"TASK-001","observation":"x","type":"discovery","severity":"low"}`,
	"reportObservation@1.1": `{"observation":"x","category":"other"}`,
	"reportTestFailure":     `{"taskId":"TASK-001","testName":"n","testFile":"a_test.go","failureDetails":{"error":"e"},"previousStatus":"flaky","needsInvestigation":false,"actionNeeded":"a"}`,
	"reportVerificationResult": `{"verificationTaskId":"TASK-VERIFY-001","originalTaskId":"TASK-001","verificationStatus":"passed",
		"verification":{"checklist":[{"item":"i","status":"passed"}],"summary":"s"},"originalTaskStatus":"done"}`,
	"reportTaskCompleted": `{"task_id":"TASK-003","status":"success"}`,
	"reportIssue":         `{"issue_description":"x","severity":2}`,
	"getImmediateAnswer":  `{"query":"Which contrast ratio?"}`,
	"reportTaskStatus":    `{"task_id":"TASK-004","status":"in_progress"}`,
	"createTicket":        `{"title":"x","type":"question"}`,
	"callCOEAgent":        `{"command":"verify","args":{"code":"x"}}`,
}

func toolOf(name string) string {
	tool, _, _ := strings.Cut(name, "@")
	return tool
}

func compiled(t testing.TB, r *rig) map[string]*jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	out := map[string]*jsonschema.Schema{}
	for _, tool := range r.fam.Tools {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(tool.InputSchema))
		require.NoError(t, err, tool.Name)
		require.NoError(t, c.AddResource(tool.Name, doc))
		out[tool.Name], err = c.Compile(tool.Name)
		require.NoError(t, err, tool.Name)
	}
	return out
}

func fits(t testing.TB, s *jsonschema.Schema, args string) bool {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(args))
	return err == nil && s.Validate(doc) == nil
}

// refused says whether a call was refused for its arguments, in one of the
// family's forms (X-WIRE-08, X-WIRE-09).
func refused(p *reply) bool {
	if p.failure != nil {
		return p.failure.Code == 400 || p.failure.Code == -32602
	}
	e, _ := p.payload["error"].(map[string]any)
	return p.isError && e["code"] == "INVALID_PARAM"
}

func TestArguments_EveryTool(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	schemas := compiled(t, r)
	require.Len(t, r.fam.Tools, 12)
	covered := map[string]bool{}
	for name, args := range goodArguments {
		tool := toolOf(name)
		covered[tool] = true
		require.True(t, fits(t, schemas[tool], args), name)
		fresh := verified(t)
		p := fresh.call(tool, args)
		require.Nil(t, p.failure, name)
		require.False(t, p.isError, p.text)

		var members map[string]json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(args), &members))
		for member := range members {
			wrong := map[string]json.RawMessage{}
			for k, v := range members {
				wrong[k] = v
			}
			delete(wrong, member)
			if without := encode(t, wrong); !fits(t, schemas[tool], without) {
				require.True(t, refused(fresh.call(tool, without)), "X-WIRE-08: %s without %s", name, member)
			}
			for _, value := range []string{`7`, `"x"`, `true`, `[]`, `{}`, `null`, `[7]`} {
				wrong[member] = json.RawMessage(value)
				if other := encode(t, wrong); !fits(t, schemas[tool], other) {
					require.True(t, refused(fresh.call(tool, other)), "X-WIRE-09: %s with %s", name, other)
				}
			}
		}
		for _, odd := range []string{`7`, `"x"`, `[]`, `true`} {
			require.True(t, refused(fresh.call(tool, odd)), "%s with %s", name, odd)
		}
	}
	require.Len(t, covered, 12)
}

func TestDescriptions(t *testing.T) {
	t.Parallel()
	for _, tool := range newRig(t).fam.Tools {
		require.NotEmpty(t, tool.Title)
		require.Greater(t, len(tool.Description), 60, tool.Name)
	}
}

func encode(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

// hugeExponent is what the oracle would compute exactly, forever.
var hugeExponent = regexp.MustCompile(`[eE][+-]?[0-9]{4,}`)

// Whatever a schema refuses, its tool refuses too, and no arguments bring a
// tool down.
func FuzzArguments(f *testing.F) {
	r := newRig(f)
	schemas := compiled(f, r)
	for name, args := range goodArguments {
		f.Add(toolOf(name), []byte(args))
	}
	for _, args := range []string{`{"filter":"ready","filter":"x"}`, `{"question":"{"}`, `{"taskId":"%252e%252e/x","status":"done"}`, "\xff", `{"a":1e999}`} {
		f.Add("getNextTask", []byte(args))
		f.Add("askQuestion", []byte(args))
		f.Add("reportTaskDone", []byte(args))
	}
	f.Fuzz(func(t *testing.T, tool string, args []byte) {
		s := schemas[tool]
		if s == nil || !json.Valid(args) || hugeExponent.Match(args) {
			return
		}
		r.logs.mu.Lock()
		r.logs.buf.Reset()
		r.logs.mu.Unlock()
		run := *r
		run.t = t
		p := run.call(tool, string(args))
		if !fits(t, s, string(args)) && strings.TrimSpace(string(args)) != "null" {
			require.True(t, p.failure != nil || p.isError, "the schema of %s refuses %s", tool, args)
		}
	})
}
