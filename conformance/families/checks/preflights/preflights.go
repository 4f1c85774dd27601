// Package preflights has the checks of the clarification tools and of the files they
// write.
package preflights

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/profile"
	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// Tools of the preflights family.
const (
	toolClarify = "require_clarification"
	ToolRead    = "read_architecture"
)

const Area = "preflights"

// The documents of a repository.
const (
	pathTask       = "docs/CURRENT_TASK.md"
	pathProjection = "docs/ARCHITECTURE_STATE.md"
)

const uidPattern = `\d{8}T\d{6}\.\d{3}Z-[0-9A-Z]{4}`

// Scenarios returns the scenarios of the family.
func Scenarios() []engine.Scenario {
	return slices.Concat(
		table.Scenarios(clarifyTables()...), table.Scenarios(decisionTables()...), table.Scenarios(documentTables()...), table.Scenarios(repositoryTables()...),
		[]engine.Scenario{
			notJudged("S3-SESS-01", "a clock"),
			notJudged("S3-UID-03", "two servers on copies of a repository"),
			notJudged("S3-UID-04", "a clock"),
			notJudged("S3-LLM-02", "a language model that fails"),
			notJudged("S3-LLM-04", "a language model that extracts nothing"),
			notJudged("S3-LLM-05", "a look at the server's connections"),
		},
	)
}

func preflightsNeeds() engine.Needs {
	return engine.Needs{Capability: "tools", Profile: profile.Preflights, SideEffects: conformance.SideEffectsAll, Tools: []string{toolClarify, ToolRead}}
}

// notJudged is a requirement no subject offers the means to judge.
func notJudged(id, control string) engine.Scenario {
	needs := preflightsNeeds()
	needs.Control = control
	return engine.Scenario{ID: id, Needs: needs}
}

// preflightsTable is a table of the family, with repositories that the suite makes
// and the server sees.
func preflightsTable(id, title string, steps ...table.Step) table.Table {
	return table.Table{ID: id, Area: Area, Title: title, Needs: preflightsNeeds(), Steps: steps, Make: makePreflights, Suits: sharedDisk}
}

// makePreflights makes repositories, and answers to the questions kept as
// questions.
func makePreflights(r *table.Run, name string) (any, error) {
	switch {
	case strings.HasPrefix(name, "repo"):
		dir, err := r.Folder()
		if err != nil {
			return nil, err
		}
		return dir, engine.SuiteError(os.Mkdir(filepath.Join(dir, ".git"), 0o755)) //nolint:gosec // the server may be another user
	case strings.HasPrefix(name, "answers"):
		answers := answersTo(r.Kept["questions"+strings.TrimPrefix(name, "answers")])
		return answers, nil
	case name == "plain":
		return r.Folder()
	}
	return nil, fmt.Errorf("%w: no answer before had %s", table.ErrPrerequisite, name)
}

// answersTo answers each question with its first option, or a text.
func answersTo(questions any) map[string]any {
	answers := map[string]any{}
	for _, q := range table.ArrayAt(map[string]any{"q": questions}, "q") {
		var answer any = "as it is now"
		if options := table.ArrayAt(q, "options"); len(options) > 0 {
			answer = options[0]
		}
		if table.TextAt(q, "type") == "multi_choice" {
			answer = []any{answer}
		}
		answers[table.TextAt(q, "id")] = answer
	}
	return answers
}

// sharedDisk keeps a table to servers that see the folders of the suite.
func sharedDisk(r *table.Run) (string, error) {
	dir, err := r.Value("repo")
	if err != nil {
		return "", err
	}
	doc, err := r.Prepare(ToolRead, table.Members{"repo_path": dir})
	if err == nil && table.TextAt(doc, "payload.error.code") == "REPO_NOT_FOUND" {
		return "needs a server that sees the folders of the suite", nil
	}
	return "", err
}

// inRepository reads a file of the repository of the scenario, "" for none.
func inRepository(kept map[string]any, path string) string {
	dir, _ := kept["repo"].(string)
	if dir == "" {
		return ""
	}
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
	if err != nil {
		return ""
	}
	return string(data)
}

// write puts a file into a repository before a call.
func write(repository, path, content string) func(r *table.Run) error {
	return func(r *table.Run) error {
		dir, err := r.Value(repository)
		if err != nil {
			return err
		}
		name := filepath.Join(fmt.Sprint(dir), filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // the server may be another user
			return engine.SuiteError(err)
		}
		return engine.SuiteError(os.WriteFile(name, []byte(content), 0o644)) //nolint:gosec // as above
	}
}

// preflightFault expects an error of the family, which is a result (S3-ERR-04).
func preflightFault(code string, more ...table.Expectation) []table.Expectation {
	return append([]table.Expectation{
		table.Is("isError", true), table.Is("payload.status", "error"), table.Is("payload.error.code", code), table.Like("payload.error.message", "."),
		table.HasNull("payload.error.details"), table.Like("payload.error.recovery_hint", "."),
		table.That("details that are an object", func(doc any, _ map[string]any) bool {
			v, _ := table.Lookup(doc, "payload.error.details")
			_, ok := v.(map[string]any)
			return ok
		}),
	}, more...)
}

// needsClarification expects questions.
func needsClarification(more ...table.Expectation) []table.Expectation {
	return table.Succeeds(append([]table.Expectation{table.Is("payload.status", "needs_clarification"), table.Like("payload.session_id", ".")}, more...)...)
}

// complete is a session from its first call to its end: keep names its
// repository, and word and title are those of the check of its end.
func complete(repository, intention string, preferences any) []table.Step {
	first := table.Members{"user_intention": intention, "repo_path": "$" + repository}
	if preferences != nil {
		first["preferences"] = preferences
	}
	return []table.Step{
		{
			Tool: toolClarify, Args: first, Want: needsClarification(),
			Keep: map[string]string{"session" + repository: "payload.session_id", "questions" + repository: "payload.questions"},
		},
		{
			Tool: toolClarify, Args: table.Members{"user_intention": intention, "session_id": "$session" + repository, "answers": "$answers" + repository},
			Want: table.Succeeds(table.Is("payload.status", "completed")),
		},
	}
}

// authentication is the example of S3, answered with OAuth and next-auth.
func authentication(repository string) []table.Step {
	steps := complete(repository, "Add authentication", nil)
	steps[1].Args = steps[1].Args.With(table.Members{"answers": table.Members{"auth_strategy": "OAuth", "auth_library": "next-auth"}})
	return steps
}

// named gives a step a check.
func named(st table.Step, word, title string, more ...table.Expectation) table.Step {
	st.Word, st.Title, st.Want = word, title, append(slices.Clone(st.Want), more...)
	return st
}

// hasType expects an artifact of a type among those created, or none.
func hasType(kind string, want bool) table.Expectation {
	words := "an artifact of type " + kind
	if !want {
		words = "no artifact of type " + kind
	}
	return table.That(words, func(doc any, _ map[string]any) bool {
		created := table.ArrayAt(doc, "payload.artifacts_created")
		return len(created) > 0 && want == slices.ContainsFunc(created, func(a any) bool { return table.TextAt(a, "type") == kind })
	})
}
