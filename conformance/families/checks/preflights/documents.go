package preflights

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// decisionTables are about what makes an ADR and what does not.
func decisionTables() []table.Table {
	var words, scope, asked, none []table.Step
	judge := func(all *[]table.Step, word, intention string, want bool) {
		repository := "repo-" + word
		steps := complete(repository, intention, nil)
		title := fmt.Sprintf("%q needs an ADR", intention)
		if !want {
			title = fmt.Sprintf("%q needs none", intention)
		}
		*all = append(*all, steps[0], named(steps[1], word, title, hasType("adr", want)))
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

// documentTables are about what is written, and kept.
func documentTables() []table.Table {
	first := authentication("repo")
	second := complete("repo2nd", "Replace the database of the service", nil)
	second[0].Args["repo_path"] = "$repo"
	first[1].Keep = map[string]string{"first": "payload.artifacts_created.0.uid", "firstPath": "payload.artifacts_created.0.path"}
	remember := func(name, path string) func(r *table.Run) error {
		return func(r *table.Run) error {
			from := path
			if kept, isName := strings.CutPrefix(path, "$"); isName {
				from = fmt.Sprint(r.Kept[kept])
			}
			r.Kept[name] = inRepository(r.Kept, from)
			return nil
		}
	}
	second[0].Before = remember("firstText", "$firstPath")
	second[1].Before = remember("oldTask", pathTask)
	second[1].Keep = map[string]string{"second": "payload.artifacts_created.0.uid"}
	read := table.Step{Tool: ToolRead, Args: table.Members{"repo_path": "$repo"}, Want: table.Succeeds(table.Is("payload.status", "success"))}
	edited := read
	edited.Before = write("repo", pathProjection, "# Architecture State\n\n## Categories\n\n### Authentication\n- **Strategy**: Telepathy (ADR none)\n")
	removed := read
	removed.Before = func(r *table.Run) error {
		return engine.SuiteError(os.Remove(filepath.Join(fmt.Sprint(r.Kept["repo"]), filepath.FromSlash(pathProjection))))
	}
	return []table.Table{
		preflightsTable("S3-ADR-06", "a second decision", first[0], first[1], second[0],
			named(second[1], "created", "a second ADR is created", table.Is("payload.artifacts_created.0.type", "adr"), table.IsNot("payload.artifacts_created.0.uid", "$first")),
			table.Step{Word: "previous", Title: "it names the first one as Previous UID", Want: table.Wants(table.That("**Previous UID:** with the uid of the first", func(doc any, kept map[string]any) bool {
				text := inRepository(kept, table.TextAt(doc, "payload.artifacts_created.0.path"))
				return strings.Contains(text, "**Previous UID:** "+fmt.Sprint(kept["first"]))
			}))},
			table.Step{Requirement: "S3-UID-01", Word: "rising", Title: "its UID is higher", Want: table.Wants(table.That("a higher uid", func(doc any, kept map[string]any) bool {
				return table.TextAt(doc, "payload.artifacts_created.0.uid") > fmt.Sprint(kept["first"])
			}))},
			table.Step{Requirement: "S3-UID-02", Word: "names", Title: "names of files sort as they were made", Want: table.Wants(table.That("a name after the first", func(doc any, kept map[string]any) bool {
				return table.TextAt(doc, "payload.artifacts_created.0.path") > fmt.Sprint(kept["firstPath"])
			}))},
			table.Step{Requirement: "S3-IMM-01", Word: "kept", Title: "the first ADR is as it was", Want: table.Wants(table.That("the same bytes", func(doc any, kept map[string]any) bool {
				return table.TextAt(doc, "payload.status") == "completed" && kept["firstText"] != "" && inRepository(kept, fmt.Sprint(kept["firstPath"])) == kept["firstText"]
			}))},
			table.Step{Requirement: "S3-IMM-02", Word: "archived", Title: "the task before is archived byte for byte", Want: table.Wants(table.Like("payload.archived.path", "^docs/archive/task/"+uidPattern), table.That("the same bytes", func(doc any, kept map[string]any) bool {
				return kept["oldTask"] != "" && inRepository(kept, table.TextAt(doc, "payload.archived.path")) == kept["oldTask"]
			}))},
			named(read, "snapshot", "nothing of the first is lost", table.Is("payload.architecture.uid", "$second"),
				table.Is("payload.architecture.categories.Authentication.Strategy", "OAuth"), table.Is("payload.architecture.categories.Authentication.Library", "next-auth"), table.Has("payload.architecture.categories.Database")),
		),
		preflightsTable("S3-PROJ-02", "a projection that was changed", first[0], first[1],
			named(edited, "edited", "an edited projection does not change what read_architecture says", table.Is("payload.architecture.categories.Authentication.Strategy", "OAuth"), table.Is("payload.architecture.uid", "$first")),
			named(removed, "removed", "nor does one that was deleted", table.Is("payload.architecture.categories.Authentication.Strategy", "OAuth"), table.Is("payload.architecture.uid", "$first")),
			table.Step{Requirement: "S3-READ-03", Word: "nothing", Title: "reading writes nothing", Want: table.Wants(table.That("still no projection", func(doc any, kept map[string]any) bool {
				return table.TextAt(doc, "payload.status") == "success" && inRepository(kept, pathProjection) == ""
			}))},
		),
		preflightsTable("S3-READ-01", "a repository without decisions",
			named(read, "empty", "uid is null and categories are empty", table.IsNull("payload.architecture.uid"), table.Is("payload.architecture.categories", map[string]any{})),
		),
		preflightsTable("S3-READ-04", "a decision nobody can read",
			table.Step{
				Word: "broken", Title: "it is PARSE_ERROR with a hint", Before: write("repo", "docs/adr/20250108T143512.237Z-A001_broken.md", "no ADR at all\n"),
				Tool: ToolRead, Args: table.Members{"repo_path": "$repo"}, Want: preflightFault("PARSE_ERROR"),
			},
		),
		preflightsTable("S3-ERR-02", "a folder that cannot be written",
			func() table.Step {
				st := complete("repo", "Fix typo in login button", nil)[0]
				st.Before = write("repo", "docs", "a file where the folder should be\n")
				return st
			}(),
			table.Step{
				Word: "code", Title: "it is FILESYSTEM_ERROR", Tool: toolClarify,
				Args: table.Members{"user_intention": "Fix typo in login button", "session_id": "$sessionrepo", "answers": "$answersrepo"}, Want: preflightFault("FILESYSTEM_ERROR"),
			},
			table.Step{Word: "unchanged", Title: "nothing has changed", Want: table.Wants(table.That("the file as it was", func(doc any, kept map[string]any) bool {
				return table.TextAt(doc, "payload.status") == "error" && strings.HasPrefix(inRepository(kept, "docs"), "a file")
			}))},
		),
	}
}

// repositoryTables are about which repository a call means.
func repositoryTables() []table.Table {
	read := func(path string) table.Step {
		return table.Step{Tool: ToolRead, Args: table.Members{"repo_path": path}, Want: table.Succeeds(table.Is("payload.status", "success"))}
	}
	first := authentication("repo")
	below := read("$below")
	below.Before = func(r *table.Run) error {
		dir := filepath.Join(fmt.Sprint(r.Kept["repo"]), "src", "deep")
		r.Kept["below"] = dir
		return engine.SuiteError(os.MkdirAll(dir, 0o755)) //nolint:gosec // the server may be another user
	}
	inner := read("$inner")
	inner.Before = func(r *table.Run) error {
		dir := filepath.Join(fmt.Sprint(r.Kept["repo"]), "vendor", "inner")
		r.Kept["inner"] = dir
		return engine.SuiteError(os.MkdirAll(filepath.Join(dir, ".git"), 0o755)) //nolint:gosec // as above
	}
	worktree := read("$plain")
	worktree.Before = write("plain", ".git", "gitdir: /nowhere\n")
	none := table.Step{
		Word: "none", Title: "a folder in no repository is REPO_NOT_FOUND", Tool: ToolRead, Args: table.Members{"repo_path": "$plain"},
		Want: preflightFault("REPO_NOT_FOUND", table.Like("payload.error.message", "^No git repository found")),
	}
	return []table.Table{
		preflightsTable("S3-REPO-01", "folders in a repository", first[0], first[1],
			named(below, "below", "a folder below finds the root", table.Is("payload.architecture.categories.Authentication.Strategy", "OAuth")),
			named(inner, "inner", "a repository within is one of its own", table.IsNull("payload.architecture.uid")),
		),
		preflightsTable("S3-REPO-02", "no repository", none),
		preflightsTable("S3-REPO-03", "paths that are no folder",
			table.Step{Word: "missing", Title: "one that does not exist is REPO_NOT_FOUND", Tool: ToolRead, Args: table.Members{"repo_path": "/no/such/folder/$nonce"}, Want: preflightFault("REPO_NOT_FOUND")},
			table.Step{
				Word: "file", Title: "a file is REPO_NOT_FOUND", Tool: toolClarify, Args: table.Members{"user_intention": "Add authentication", "repo_path": "$file"}, Want: preflightFault("REPO_NOT_FOUND"),
				Before: func(r *table.Run) error {
					r.Kept["file"] = filepath.Join(fmt.Sprint(r.Kept["repo"]), "file")
					return write("repo", "file", "x")(r)
				},
			},
			table.Step{Requirement: "S3-ERR-04", Word: "result", Title: "errors of the family are results with isError", Want: table.Wants(table.Is("isError", true), table.Is("payload.status", "error"), table.Lacks("error"))},
		),
		preflightsTable("S3-REPO-04", "a worktree", named(worktree, "file", ".git may be a file")),
	}
}
