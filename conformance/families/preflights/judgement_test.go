package preflights

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/llm"
)

// model is a language model over HTTP that answers questions with a text, and
// extractions with a decision.
type model struct {
	questions string

	mu   sync.Mutex
	sent []string
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	text := m.questions
	if strings.Contains(string(body), "You record architecture decisions") {
		text = `{"title":"From the model","categories":{"Database":{"Type":"CouchDB"}}}`
	}
	m.mu.Lock()
	m.sent = append(m.sent, string(body))
	m.mu.Unlock()
	_ = json.NewEncoder(w).Encode(map[string]any{"choices": []any{map[string]any{"message": map[string]any{"content": text}}}})
}

func withModel(t *testing.T, m *model) *rig {
	t.Helper()
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	return withClient(t, newRepo(t), server.URL, server.Client())
}

func withClient(t *testing.T, root, url string, client *http.Client) *rig {
	t.Helper()
	s, err := newService(Options{WorkDir: root, LLM: llm.Config{Provider: "openai", APIKey: "sk-test", BaseURL: url, Client: client}})
	require.NoError(t, err)
	return &rig{service: s, root: root, logs: &logs{}}
}

const oneQuestion = `"questions":[{"id":"q","type":"free_text","question":"?"}]`

// RoundTrip is a request without a network, for tests in virtual time.
func (m *model) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	m.ServeHTTP(w, r)
	return w.Result(), nil
}

// TestJudgement_Decides: a real provider judges whether a record is needed,
// against the rule in both directions. What the caller says still wins.
func TestJudgement_Decides(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		intention, judgement string
		force, want          bool
	}{
		"the rule sees nothing":  {"Nobody may hear of it twice", `,"needs_adr":true`, false, true},
		"the rule sees too much": {"Print a note beside the database picture", `,"needs_adr":false`, false, false},
		"both say yes":           {"Add a database", `,"needs_adr":true`, false, true},
		"both say no":            {"Fix typo", `,"needs_adr":false`, false, false},
		"force_adr wins":         {"Fix typo", `,"needs_adr":false`, true, true},
		"a wish for one wins":    {"Fix typo and write an ADR", `,"needs_adr":false`, false, true},
		"no judgement, yes":      {"Add a database", ``, false, true},
		"no judgement, no":       {"Fix typo", ``, false, false},
		"null is none":           {"Add a database", `,"needs_adr":null`, false, true},
		"a hint is none":         {"Fix typo", `,"decision_hint":"adr"`, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &model{questions: "Sure. {" + oneQuestion + tt.judgement + "}"}
			r := withModel(t, m)
			first := r.clarify(t, args{"user_intention": tt.intention, "preferences": args{"force_adr": tt.force}})
			require.Equal(t, []string{"q"}, first.ids())
			done := r.clarify(t, args{"user_intention": tt.intention, "session_id": first.SessionID, "answers": args{"q": "yes"}})
			require.Equal(t, "completed", done.Status, done.text)
			require.Empty(t, done.Warning)
			want := []string{"task"}
			if tt.want {
				want = []string{"adr", "task", "projection"}
			}
			require.Equal(t, want, done.paths())
			require.Contains(t, m.sent[0], "needs_adr", "the model is asked for it")
		})
	}
}

// TestJudgement_Hostile: an answer that is no judgement is none. The rule and
// the mock take over, with the warning, and nothing of the answer is written.
func TestJudgement_Hostile(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"text":       `{` + oneQuestion + `,"needs_adr":"true"}`,
		"number":     `{` + oneQuestion + `,"needs_adr":1}`,
		"object":     `{` + oneQuestion + `,"needs_adr":{"value":true}}`,
		"list":       `{` + oneQuestion + `,"needs_adr":[true]}`,
		"deep":       `{` + oneQuestion + `,"needs_adr":` + strings.Repeat("[", 20_000) + `}`,
		"cut":        `{` + oneQuestion + `,"needs_adr":tr`,
		"alone":      `{"needs_adr":true}`,
		"prose":      `Yes, this needs an ADR: ../../etc/passwd`,
		"nothing":    ``,
		"long":       `{` + oneQuestion + `,"needs_adr":true,"x":"` + strings.Repeat("x", 2<<20) + `"}`,
		"many marks": strings.Repeat("{", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := newRepo(t)
			synctest.Test(t, func(t *testing.T) {
				m := &model{questions: text}
				r := withClient(t, root, "http://model.test", &http.Client{Transport: m})
				done := r.run(t, "Fix typo", nil)
				require.Equal(t, "completed", done.Status, done.text)
				require.Equal(t, []string{"task"}, done.paths(), "the rule decides")
				require.Equal(t, "llm_fallback", done.Warning)
				require.Len(t, m.sent, 3, "two retries")
				done = r.run(t, "Add authentication", authAnswers)
				require.Equal(t, []string{"adr", "task", "projection"}, done.paths())
			})
		})
	}
}

// TestJudgement_KnowsWhatIsDecided: "modifies an existing category" can be
// judged by who knows the categories.
func TestJudgement_KnowsWhatIsDecided(t *testing.T) {
	t.Parallel()
	m := &model{questions: "{" + oneQuestion + `,"needs_adr":true}`}
	r := withModel(t, m)
	r.run(t, "Add a database", args{"q": "CouchDB"})
	r.clarify(t, args{"user_intention": "Another one"})
	require.Contains(t, m.sent[len(m.sent)-1], `\"decided_categories\":[\"Database\"]`)
}

// TestJudgement_TheModelIsGoneAfterwards: the session of a model that asked and
// then fails ends with a record of what was answered.
func TestJudgement_TheModelIsGoneAfterwards(t *testing.T) {
	t.Parallel()
	m := &model{questions: "{" + oneQuestion + `,"needs_adr":true}`}
	r := withModel(t, m)
	first := r.clarify(t, args{"user_intention": "Nobody may hear of it twice"})
	r.with(&scripted{err: io.ErrUnexpectedEOF})
	done := r.clarify(t, args{"user_intention": "Nobody may hear of it twice", "session_id": first.SessionID, "answers": args{"q": "Deduplicate by a key"}})
	require.Equal(t, []string{"adr", "task", "projection"}, done.paths(), done.text)
	require.Equal(t, "llm_fallback", done.Warning)
	require.Contains(t, r.read(t).text, "Deduplicate by a key")
}
