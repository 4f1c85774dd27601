package coe

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func quoted(n int) string { return `"` + strings.Repeat("é", n) + `"` }

func TestAsk_S1_ASK_01_Sure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	got := r.call("askQuestion", `{"question":"Should sidebar collapse on mobile?","context":"Working on Navigation component, unsure about responsive behavior",
		"currentTaskId":"TASK-003","searchInPlan":"responsive-design|mobile","includeRelatedDecisions":true}`).ok()
	require.Equal(t, 0.98, got["confidence"])
	require.Equal(t, "Should sidebar collapse on mobile?", got["question"])
	require.Equal(t, "Yes, sidebar should collapse to hamburger menu on screens < 768px", got["answerFromPlan"])
	require.Equal(t, map[string]any{
		"source": "Docs/Plans/my-app/plan.json", "planVersion": "1.0.0", "section": "designChoices.navigationStyle",
		"exactQuote": "Sidebar collapses to hamburger menu on mobile (< 768px breakpoint)", "lineNumbers": []any{45.0, 48.0}, "sampleData": true,
	}, got["evidence"])
	require.Equal(t, "Collapse with 200ms slide-out animation using CSS transition", dig(t, got, "guidance", "animation"))
	require.Len(t, got["relatedDesignChoices"], 3)
	require.NotContains(t, got, "uncertainty")

	// S1-ASK-04
	require.Equal(t, "DEC-003", dig(t, got, "relatedDecisions", 0, "id"))
	got = r.call("askQuestion", `{"question":"Should sidebar collapse on mobile?","includeRelatedDecisions":false}`).ok()
	require.NotContains(t, got, "relatedDecisions")
	require.Contains(t, r.logs.String(), `"task_id":"TASK-003"`)
}

func TestAsk_S1_ASK_02_Unsure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for question, want := range map[string]float64{
		"What animation library should I use?": 0.35,
		"Which cloud provider hosts this?":     0,
		"???":                                  0,
	} {
		got := r.call("askQuestion", fmt.Sprintf(`{"question":%q}`, question)).ok()
		require.Equal(t, want, got["confidence"], question)
		require.NotEmpty(t, got["uncertainty"])
		require.NotContains(t, got, "answerFromPlan")
		require.NotContains(t, got, "evidence")
	}
	got := r.call("askQuestion", `{"question":"What animation library should I use?"}`).ok()
	require.Contains(t, dig(t, got, "guidance", "implementation"), "Framer Motion")
}

func TestAsk_S1_ASK_03_Refused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, args := range []string{`{}`, `{"question":""}`, `{"question":"  \n"}`, `{"question":"\u0001"}`} {
		require.Equal(t, "question", r.call("askQuestion", args).number(400, "")["field"], args)
	}
	p := r.call("askQuestion", `{"question":"x","currentTaskId":"TASK-999"}`)
	require.NotEmpty(t, p.number(404, "Current task not found")["suggestion"])
	require.Equal(t, "includeRelatedDecisions", r.call("askQuestion", `{"question":"x","includeRelatedDecisions":1}`).number(400, "")["field"])
}

func TestAsk_S1_ASK_05_Context(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.call("askQuestion", `{"question":"Should we use X or Y?","context":{"taskId":"TASK-001"}}`).ok()
	r.call("askQuestion", `{"question":"Should we use X or Y?","context":"words"}`).ok()
	for _, context := range []string{`7`, `null`, `[]`, `true`} {
		require.Equal(t, "context", r.call("askQuestion", `{"question":"x","context":`+context+`}`).number(400, "")["field"])
	}
}

const ask12 = `{"question":%s,"context_summary":"navigation","task_id":"TASK-001"%s}`

func TestAsk_S1_ASK_06_V12(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.Equal(t,
		`{"answer":"Yes, sidebar should collapse to hamburger menu on screens < 768px","source":"Docs/Plans/my-app/plan.json#designChoices.navigationStyle","confidence":98,"follow_up_needed":false,"escalated_to_user":false,"sample_data":true}`,
		r.call("askQuestion", fmt.Sprintf(ask12, `"Should sidebar collapse on mobile?"`, "")).text)
	got := r.call("askQuestion", fmt.Sprintf(ask12, `"What animation library should I use?"`,
		`,"current_file":null,"relevant_snippets":[{"file":"a.go","content":"x"}],"confidence_level":0,"priority_level":1,"possible_options":["GSAP"]`)).ok()
	require.Nil(t, got["source"])
	require.Equal(t, 35.0, got["confidence"])
	require.Equal(t, true, got["follow_up_needed"])
	require.Equal(t, true, got["escalated_to_user"], "it blocks everything and the plan does not know")
	got = r.call("askQuestion", fmt.Sprintf(ask12, `"What animation library should I use?"`, `,"possible_options":null`)).ok()
	require.Equal(t, false, got["escalated_to_user"], "S1-ASK-09: priority 2 by default")
	const nearly = `"Does the sidebar menu collapse on purple phones?"`
	got = r.call("askQuestion", fmt.Sprintf(ask12, nearly, "")).ok()
	require.Equal(t, false, got["escalated_to_user"], "something comes near")
	require.Equal(t, true, got["follow_up_needed"])
	require.Contains(t, got["answer"], "This may not be the answer")
	require.Contains(t, got["answer"], "hamburger")
	require.Equal(t, "Docs/Plans/my-app/plan.json#designChoices.navigationStyle", got["source"])
	got = r.call("askQuestion", fmt.Sprintf(ask12, nearly, `,"priority_level":1`)).ok()
	require.Equal(t, true, got["escalated_to_user"], "it blocks everything")
	got = r.call("askQuestion", fmt.Sprintf(ask12, `"Which cloud provider hosts this?"`, "")).ok()
	require.Equal(t, false, got["escalated_to_user"], "what the sample lacks is no question for a user")
	require.Nil(t, got["source"])
}

func TestAsk_S1_ASK_08_Required(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for args, field := range map[string]string{
		`{"question":"x","task_id":"TASK-001"}`:    "context_summary",
		`{"question":"x","context_summary":"y"}`:   "task_id",
		`{"question":"x","priority_level":1}`:      "context_summary",
		`{"question":"x","possible_options":[""]}`: "context_summary",
	} {
		e := r.call("askQuestion", args).enveloped("INVALID_PARAM")
		require.Equal(t, map[string]any{"field": field, "reason": "required"}, e["details"])
	}
}

func TestAsk_S1_ASK_07_09_Limits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.call("askQuestion", fmt.Sprintf(ask12, quoted(300), "")).ok()
	for args, field := range map[string]string{
		fmt.Sprintf(ask12, quoted(301), ""):                                                                                    "question",
		fmt.Sprintf(ask12, `""`, ""):                                                                                           "question",
		`{"context_summary":"y","task_id":"TASK-001"}`:                                                                         "question",
		fmt.Sprintf(ask12, `"x"`, `,"confidence_level":-1`):                                                                    "confidence_level",
		fmt.Sprintf(ask12, `"x"`, `,"confidence_level":101`):                                                                   "confidence_level",
		fmt.Sprintf(ask12, `"x"`, `,"confidence_level":1.5`):                                                                   "confidence_level",
		fmt.Sprintf(ask12, `"x"`, `,"priority_level":4`):                                                                       "priority_level",
		fmt.Sprintf(ask12, `"x"`, `,"priority_level":0`):                                                                       "priority_level",
		fmt.Sprintf(ask12, `"x"`, `,"current_file":"/etc/passwd"`):                                                             "current_file",
		fmt.Sprintf(ask12, `"x"`, `,"possible_options":"a"`):                                                                   "possible_options",
		fmt.Sprintf(ask12, `"x"`, `,"relevant_snippets":[{"file":"a"}]`):                                                       "relevant_snippets[0].content",
		fmt.Sprintf(ask12, `"x"`, `,"relevant_snippets":[{"file":"..","content":""}]`):                                         "relevant_snippets[0].file",
		fmt.Sprintf(ask12, `"x"`, `,"relevant_snippets":[{"file":"a","content":`+quoted(2001)+`}]`):                            "relevant_snippets[0].content",
		fmt.Sprintf(ask12, `"x"`, `,"relevant_snippets":[{"file":"a","content":`+quoted(2000)+`},{"file":"b","content":"x"}]`): "relevant_snippets",
		fmt.Sprintf(ask12, `"x"`, `,"context":"of the other version"`):                                                         "context",
	} {
		r.call("askQuestion", args).field(field)
	}
	r.call("askQuestion", fmt.Sprintf(ask12, `"x"`, `,"confidence_level":100,"priority_level":3,"relevant_snippets":[{"file":"a","content":`+quoted(2000)+`}]`)).ok()
}

func TestAsk_S1_ASK_10_Timeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, args := range []string{`{"question":"Should we use X or Y?","context":{"taskId":"TASK-001"}}`, fmt.Sprintf(ask12, `"x"`, "")} {
			r := newRig(t)
			r.call("_test/inject", `{"tool":"askQuestion","kind":"delay","delay":"35s"}`).ok()
			begin := time.Now()
			p := r.call("askQuestion", args)
			require.Equal(t, 30*time.Second, time.Since(begin))
			e := p.enveloped("TIMEOUT")
			require.Contains(t, e["message"], "Create ticket")
			require.Equal(t, true, e["retryable"])
			require.Equal(t, 10.0, e["retry_after_seconds"])
			require.Equal(t, true, p.payload["fallback_suggested"], "S1-ERR-06")
			r.call("askQuestion", args).ok() // the team is back
			r.call("createTicket", `{"title":"Should we use X or Y?","type":"question"}`).ok()
		}
	})
}

func TestAsk_S1_ASK_10_SlowIsNotLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.AnswerDelay, o.AnswerTimeout = 2*time.Second, 2*time.Second+1 })
		r.call("askQuestion", `{"question":"x"}`).ok()
		r = newRig(t, func(o *Options) { o.AnswerDelay, o.AnswerTimeout = 3*time.Second, 2*time.Second })
		require.Contains(t, r.call("askQuestion", `{"question":"x"}`).enveloped("TIMEOUT")["message"], "2s")
	})
}

func TestAsk_S1_ASK_11_TokenLimit(t *testing.T) {
	t.Parallel()
	whole := newRig(t) // 5000 tokens: 80 % are 4000, which are 16000 characters
	whole.call("askQuestion", `{"question":"x","context":`+quoted(15_999)+`}`).ok()
	whole.call("askQuestion", `{"question":"x","context":`+quoted(16_000)+`}`).enveloped("TOKEN_LIMIT_EXCEEDED")
	r := newRig(t, func(o *Options) { o.TokenLimit = 50 })
	for n, ok := range map[int]bool{159: true, 160: true, 161: false} {
		for _, args := range []string{
			`{"question":"x","context":` + quoted(n-1) + `}`,
			`{"question":"x","context_summary":` + quoted(n-1) + `,"task_id":"TASK-001"}`,
			`{"question":"x","context":{"k":` + quoted(n-9) + `}}`,
		} {
			p := r.call("askQuestion", args)
			if ok {
				p.ok()
				continue
			}
			e := p.enveloped("TOKEN_LIMIT_EXCEEDED")
			require.Equal(t, false, e["retryable"])
			require.Equal(t, true, e["fallback_suggested"])
			require.Equal(t, "HIGH", e["severity"])
		}
	}
	small := newRig(t, func(o *Options) { o.TokenLimit = 10 })
	small.call("askQuestion", `{"question":`+quoted(32)+`}`).ok()
	small.call("askQuestion", `{"question":`+quoted(33)+`}`).enveloped("TOKEN_LIMIT_EXCEEDED")
}

func TestAsk_S1_ASK_12_MalformedAndInactive(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, question := range []string{`7`, `{}`, `["x"]`, `"{\"broken\":"`, `" [1,"`, `"{"`} {
		for _, args := range []string{`{"question":` + question + `}`, fmt.Sprintf(ask12, question, "")} {
			r.call("askQuestion", args).field("question")
		}
	}
	r.call("askQuestion", `{"question":"{\"valid\": \"json\"}"}`).ok()
	r.call("askQuestion", `{"question":"x","context_summary":"y","task_id":"TASK-999"}`).enveloped("INVALID_STATE")
	r.call("reportTaskDone", `{"taskId":"TASK-001","status":"done"}`).ok()
	r.call("askQuestion", fmt.Sprintf(ask12, `"x"`, "")).enveloped("INVALID_STATE")
}

func TestAsk_S1_ASK_13_ForcedVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, meta := range []string{`{"version":"1.2"}`, `{"version":"v1.2"}`, `{"version":1.2}`} {
		r.meta = meta
		r.call("askQuestion", `{"question":"x"}`).field("context_summary")
	}
	r.meta = `{"version":"1.0"}`
	require.Equal(t, "context_summary", r.call("askQuestion", fmt.Sprintf(ask12, `"x"`, "")).number(400, "")["field"])
	r.call("askQuestion", `{"question":"x"}`).ok()
	r.meta = `{"version":"2.0"}`
	r.call("askQuestion", fmt.Sprintf(ask12, `"x"`, "")).field("_meta.version")
	require.Equal(t, "_meta.version", r.call("askQuestion", `{"question":"x"}`).number(400, "")["field"])
	r.next(`{}`) // tools with one version do not mind
}

func TestImmediate_S1_IMM_01_Answer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.Equal(t, `{"answer":"All transitions take 200ms","source":"Docs/Plans/my-app/plan.json#designChoices.animation","timeout":false,"sample_data":true}`,
		r.call("getImmediateAnswer", `{"query":"How long is a transition animation?","context_bundle":{"any":["thing"]},"max_wait_seconds":120}`).text)
	got := r.call("getImmediateAnswer", `{"query":"Which cloud provider?"}`).ok()
	require.Nil(t, got["source"])
	require.NotEmpty(t, got["answer"])
}

func TestImmediate_S1_IMM_02_Timeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for wait, args := range map[time.Duration]string{
			time.Second:      `{"query":"x","max_wait_seconds":1}`,
			30 * time.Second: `{"query":"x"}`, // S1-IMM-03
		} {
			r := newRig(t, func(o *Options) { o.AnswerDelay = time.Minute })
			begin := time.Now()
			p := r.call("getImmediateAnswer", args)
			require.Equal(t, wait, time.Since(begin))
			e := p.enveloped("TIMEOUT")
			require.Equal(t, "HIGH", e["severity"])
			require.Equal(t, false, e["retryable"])
			require.Nil(t, e["retry_after_seconds"])
			require.Equal(t, true, p.payload["timeout"])
			require.Empty(t, p.payload["answer"])
			require.Contains(t, p.payload, "answer")
			require.Contains(t, p.payload, "source")
			require.Nil(t, p.payload["source"])
		}
	})
}

func TestImmediate_S1_IMM_03_Limits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.call("getImmediateAnswer", `{"query":`+quoted(400)+`}`).ok()
	for args, field := range map[string]string{
		`{}`:                                    "query",
		`{"query":""}`:                          "query",
		`{"query":7}`:                           "query",
		`{"query":` + quoted(401) + `}`:         "query",
		`{"query":"x","max_wait_seconds":0}`:    "max_wait_seconds",
		`{"query":"x","max_wait_seconds":121}`:  "max_wait_seconds",
		`{"query":"x","max_wait_seconds":"30"}`: "max_wait_seconds",
		`{"query":"x","context_bundle":"text"}`: "context_bundle",
		`{"query":"x","other":1}`:               "other",
	} {
		r.call("getImmediateAnswer", args).field(field)
	}
}

func TestImmediate_S1_IMM_04_Cancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(o *Options) { o.AnswerDelay = time.Hour })
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begin := time.Now()
		p := r.callWith(ctx, "getImmediateAnswer", `{"query":"x","max_wait_seconds":60}`)
		require.Equal(t, 3*time.Second, time.Since(begin), "the wait ends with the caller")
		p.enveloped("INTERNAL_ERROR")
	})
}
