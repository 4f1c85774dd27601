// Package preflights has the checks of the clarification tools and of the files they
// write.
package preflights

import (
	_ "embed" // the tables
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// tables are the checks that are calls, one after the other.
//
//go:generate gzip -9nkf tables.txt
//go:embed tables.txt.gz
var tables string

// Scenarios returns the scenarios of the family.
func Scenarios() []engine.Scenario {
	words := table.Words{
		Area: Area, Needs: func([]string) engine.Needs { return preflightsNeeds() }, Make: makePreflights, Before: before,
		Suits: map[string]func(r *table.Run) (string, error){"": sharedDisk},
		That:  judgements, Phrases: phrases,
	}
	return engine.Join(
		table.Scenarios(table.MustRead(tables, words)...), table.Scenarios(decisionTables()...),
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

// makePreflights makes repositories and what is in them, and answers to the questions kept as
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
	case name == "worktree":
		dir, err := r.Folder()
		return dir, errors.Join(err, write(filepath.Join(dir, ".git"), "gitdir: /nowhere\n"))
	case name == "file":
		path := filepath.Join(fmt.Sprint(r.Kept["repo"]), "file")
		return path, write(path, "x")
	case name == "below":
		dir := filepath.Join(fmt.Sprint(r.Kept["repo"]), "src", "deep")
		return dir, engine.SuiteError(os.MkdirAll(dir, 0o755)) //nolint:gosec // as above
	case name == "inner":
		dir := filepath.Join(fmt.Sprint(r.Kept["repo"]), "vendor", "inner")
		return dir, engine.SuiteError(os.MkdirAll(filepath.Join(dir, ".git"), 0o755)) //nolint:gosec // as above
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

// before reads what happens before a call: "write PATH TEXT" and "remove PATH" change a file
// of the repository, and "remember NAME PATH" keeps its text.
func before(text string) (func(r *table.Run) error, error) {
	verb, rest, _ := strings.Cut(text, " ")
	name, more, _ := strings.Cut(rest, " ")
	switch verb {
	case "write":
		var content string
		err := json.Unmarshal([]byte(more), &content)
		return func(r *table.Run) error {
			return write(filepath.Join(fmt.Sprint(r.Kept["repo"]), filepath.FromSlash(name)), content)
		}, err
	case "remove":
		return func(r *table.Run) error {
			return engine.SuiteError(os.Remove(filepath.Join(fmt.Sprint(r.Kept["repo"]), filepath.FromSlash(name))))
		}, nil
	case "remember":
		return func(r *table.Run) error {
			path := more
			if kept, isName := strings.CutPrefix(path, "$"); isName {
				path = fmt.Sprint(r.Kept[kept])
			}
			r.Kept[name] = inRepository(r.Kept, path)
			return nil
		}, nil
	}
	return nil, errors.New("want write, remove or remember")
}

// write puts a file into a folder, which it makes.
func write(name, content string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // the server may be another user
		return engine.SuiteError(err)
	}
	return engine.SuiteError(os.WriteFile(name, []byte(content), 0o644)) //nolint:gosec // as above
}

// phrases are the two forms of answers of require_clarification that are not its last.
var phrases = map[string]func(text string) ([]table.Expectation, error){
	// An error of the family is a result (S3-ERR-04).
	"fault": func(code string) ([]table.Expectation, error) {
		return table.Wants(
			table.Is("isError", true), table.Is("payload.status", "error"), table.Is("payload.error.code", code), table.Like("payload.error.message", "."),
			table.HasNull("payload.error.details"), table.Like("payload.error.recovery_hint", "."),
			table.That("details that are an object", func(doc any, _ map[string]any) bool {
				v, _ := table.Lookup(doc, "payload.error.details")
				_, ok := v.(map[string]any)
				return ok
			}),
		), nil
	},
	"asks": func(string) ([]table.Expectation, error) { return needsClarification(), nil },
}

// needsClarification expects questions.
func needsClarification() []table.Expectation {
	return table.Succeeds(table.Is("payload.status", "needs_clarification"), table.Like("payload.session_id", "."))
}

// decisionTables are about what makes an ADR and what does not: each row is a session from
// its first call to its end.
func decisionTables() []table.Table {
	var words, scope, asked, none []table.Step
	judge := func(all *[]table.Step, word, intention string, want bool) {
		title := fmt.Sprintf("%q needs an ADR", intention)
		if !want {
			title = fmt.Sprintf("%q needs none", intention)
		}
		adr := table.That("an artifact of type adr", hasADR)
		if !want {
			adr = table.That("no artifact of type adr", func(doc any, _ map[string]any) bool {
				return len(table.ArrayAt(doc, "payload.artifacts_created")) > 0 && !hasADR(doc, nil)
			})
		}
		*all = append(*all,
			table.Step{
				Tool: toolClarify, Args: table.Members{"user_intention": intention, "repo_path": "$repo-" + word}, Want: needsClarification(),
				Keep: map[string]string{"session-" + word: "payload.session_id", "questions-" + word: "payload.questions"},
			},
			table.Step{
				Word: word, Title: title, Tool: toolClarify, Args: table.Members{"user_intention": intention, "session_id": "$session-" + word, "answers": "$answers-" + word},
				Want: table.Succeeds(table.Is("payload.status", "completed"), adr),
			})
	}
	for _, word := range strings.Fields("auth authentication database storage cache framework runtime deployment infrastructure queue messaging") {
		judge(&words, word, "Replace the "+word+" of the service", true)
	}
	judge(&scope, "dependency", "Add a new library for charts", true)
	judge(&scope, "ten", "Touch 10 files", true)
	judge(&scope, "nine", "Touch 9 files", false)
	judge(&scope, "migration", "Plan the migration of the reports", true)
	for _, word := range strings.Fields("architecture strategy approach") {
		judge(&asked, word, "Write down the "+word+" for reports", true)
	}
	judge(&none, "bug", "Bug: the database loses rows", false)
	judge(&none, "refactor", "Refactor the cache to use generics", false)
	judge(&none, "config", "Change the database timeout setting", false)
	return []table.Table{
		preflightsTable("S3-ADR-01", "words of categories", words...), preflightsTable("S3-ADR-02", "how far a change reaches", scope...),
		preflightsTable("S3-ADR-03", "words that ask for a decision", asked...), preflightsTable("S3-ADR-04", "changes within what is decided", none...),
	}
}
