package checks

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// decisionTables are about what makes an ADR and what does not.
func decisionTables() []table {
	var words, scope, asked, none []step
	judge := func(all *[]step, word, intention string, want bool) {
		repository := "repo-" + word
		steps := complete(repository, intention, nil)
		title := fmt.Sprintf("%q needs an ADR", intention)
		if !want {
			title = fmt.Sprintf("%q needs none", intention)
		}
		*all = append(*all, steps[0], steps[1].named(word, title, hasType("adr", want)))
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
	return []table{
		preflightsTable("S3-ADR-01", "words of categories", words...), preflightsTable("S3-ADR-02", "how far a change reaches", scope...),
		preflightsTable("S3-ADR-03", "words that ask for a decision", asked...), preflightsTable("S3-ADR-04", "changes within what is decided", none...),
	}
}

// documentTables are about what is written, and kept.
func documentTables() []table {
	first := authentication("repo")
	second := complete("repo2nd", "Replace the database of the service", nil)
	second[0].args["repo_path"] = "$repo"
	first[1].keep = map[string]string{"first": "payload.artifacts_created.0.uid", "firstPath": "payload.artifacts_created.0.path"}
	remember := func(name, path string) func(r *tableRun) error {
		return func(r *tableRun) error {
			from := path
			if kept, isName := strings.CutPrefix(path, "$"); isName {
				from = fmt.Sprint(r.kept[kept])
			}
			r.kept[name] = inRepository(r.kept, from)
			return nil
		}
	}
	second[0].before = remember("firstText", "$firstPath")
	second[1].before = remember("oldTask", pathTask)
	second[1].keep = map[string]string{"second": "payload.artifacts_created.0.uid"}
	read := step{tool: toolRead, args: members{"repo_path": "$repo"}, want: succeeds(is("payload.status", "success"))}
	edited := read
	edited.before = write("repo", pathProjection, "# Architecture State\n\n## Categories\n\n### Authentication\n- **Strategy**: Telepathy (ADR none)\n")
	removed := read
	removed.before = func(r *tableRun) error {
		return conformance.Ours(os.Remove(filepath.Join(fmt.Sprint(r.kept["repo"]), filepath.FromSlash(pathProjection))))
	}
	return []table{
		preflightsTable("S3-ADR-06", "a second decision", first[0], first[1], second[0],
			second[1].named("created", "a second ADR is created", is("payload.artifacts_created.0.type", "adr"), isNot("payload.artifacts_created.0.uid", "$first")),
			step{word: "previous", title: "it names the first one as Previous UID", want: wants(that("**Previous UID:** with the uid of the first", func(doc any, kept map[string]any) bool {
				text := inRepository(kept, textAt(doc, "payload.artifacts_created.0.path"))
				return strings.Contains(text, "**Previous UID:** "+fmt.Sprint(kept["first"]))
			}))},
			step{req: "S3-UID-01", word: "rising", title: "its UID is higher", want: wants(that("a higher uid", func(doc any, kept map[string]any) bool {
				return textAt(doc, "payload.artifacts_created.0.uid") > fmt.Sprint(kept["first"])
			}))},
			step{req: "S3-UID-02", word: "names", title: "names of files sort as they were made", want: wants(that("a name after the first", func(doc any, kept map[string]any) bool {
				return textAt(doc, "payload.artifacts_created.0.path") > fmt.Sprint(kept["firstPath"])
			}))},
			step{req: "S3-IMM-01", word: "kept", title: "the first ADR is as it was", want: wants(that("the same bytes", func(doc any, kept map[string]any) bool {
				return textAt(doc, "payload.status") == "completed" && kept["firstText"] != "" && inRepository(kept, fmt.Sprint(kept["firstPath"])) == kept["firstText"]
			}))},
			step{req: "S3-IMM-02", word: "archived", title: "the task before is archived byte for byte", want: wants(like("payload.archived.path", "^docs/archive/task/"+uidPattern), that("the same bytes", func(doc any, kept map[string]any) bool {
				return kept["oldTask"] != "" && inRepository(kept, textAt(doc, "payload.archived.path")) == kept["oldTask"]
			}))},
			read.named("snapshot", "nothing of the first is lost", is("payload.architecture.uid", "$second"),
				is("payload.architecture.categories.Authentication.Strategy", "OAuth"), is("payload.architecture.categories.Authentication.Library", "next-auth"), has("payload.architecture.categories.Database")),
		),
		preflightsTable("S3-PROJ-02", "a projection that was changed", first[0], first[1],
			edited.named("edited", "an edited projection does not change what read_architecture says", is("payload.architecture.categories.Authentication.Strategy", "OAuth"), is("payload.architecture.uid", "$first")),
			removed.named("removed", "nor does one that was deleted", is("payload.architecture.categories.Authentication.Strategy", "OAuth"), is("payload.architecture.uid", "$first")),
			step{req: "S3-READ-03", word: "nothing", title: "reading writes nothing", want: wants(that("still no projection", func(doc any, kept map[string]any) bool {
				return textAt(doc, "payload.status") == "success" && inRepository(kept, pathProjection) == ""
			}))},
		),
		preflightsTable("S3-READ-01", "a repository without decisions",
			read.named("empty", "uid is null and categories are empty", isNull("payload.architecture.uid"), is("payload.architecture.categories", map[string]any{})),
		),
		preflightsTable("S3-READ-04", "a decision nobody can read",
			step{
				word: "broken", title: "it is PARSE_ERROR with a hint", before: write("repo", "docs/adr/20250108T143512.237Z-A001_broken.md", "no ADR at all\n"),
				tool: toolRead, args: members{"repo_path": "$repo"}, want: preflightFault("PARSE_ERROR"),
			},
		),
		preflightsTable("S3-ERR-02", "a folder that cannot be written",
			func() step {
				st := complete("repo", "Fix typo in login button", nil)[0]
				st.before = write("repo", "docs", "a file where the folder should be\n")
				return st
			}(),
			step{
				word: "code", title: "it is FILESYSTEM_ERROR", tool: toolClarify,
				args: members{"user_intention": "Fix typo in login button", "session_id": "$sessionrepo", "answers": "$answersrepo"}, want: preflightFault("FILESYSTEM_ERROR"),
			},
			step{word: "unchanged", title: "nothing has changed", want: wants(that("the file as it was", func(doc any, kept map[string]any) bool {
				return textAt(doc, "payload.status") == "error" && strings.HasPrefix(inRepository(kept, "docs"), "a file")
			}))},
		),
	}
}

// repositoryTables are about which repository a call means.
func repositoryTables() []table {
	read := func(path string) step {
		return step{tool: toolRead, args: members{"repo_path": path}, want: succeeds(is("payload.status", "success"))}
	}
	first := authentication("repo")
	below := read("$below")
	below.before = func(r *tableRun) error {
		dir := filepath.Join(fmt.Sprint(r.kept["repo"]), "src", "deep")
		r.kept["below"] = dir
		return conformance.Ours(os.MkdirAll(dir, 0o755)) //nolint:gosec // the server may be another user
	}
	inner := read("$inner")
	inner.before = func(r *tableRun) error {
		dir := filepath.Join(fmt.Sprint(r.kept["repo"]), "vendor", "inner")
		r.kept["inner"] = dir
		return conformance.Ours(os.MkdirAll(filepath.Join(dir, ".git"), 0o755)) //nolint:gosec // as above
	}
	worktree := read("$plain")
	worktree.before = write("plain", ".git", "gitdir: /nowhere\n")
	none := step{
		word: "none", title: "a folder in no repository is REPO_NOT_FOUND", tool: toolRead, args: members{"repo_path": "$plain"},
		want: preflightFault("REPO_NOT_FOUND", like("payload.error.message", "^No git repository found")),
	}
	return []table{
		preflightsTable("S3-REPO-01", "folders in a repository", first[0], first[1],
			below.named("below", "a folder below finds the root", is("payload.architecture.categories.Authentication.Strategy", "OAuth")),
			inner.named("inner", "a repository within is one of its own", isNull("payload.architecture.uid")),
		),
		preflightsTable("S3-REPO-02", "no repository", none),
		preflightsTable("S3-REPO-03", "paths that are no folder",
			step{word: "missing", title: "one that does not exist is REPO_NOT_FOUND", tool: toolRead, args: members{"repo_path": "/no/such/folder/$nonce"}, want: preflightFault("REPO_NOT_FOUND")},
			step{
				word: "file", title: "a file is REPO_NOT_FOUND", tool: toolClarify, args: members{"user_intention": "Add authentication", "repo_path": "$file"}, want: preflightFault("REPO_NOT_FOUND"),
				before: func(r *tableRun) error {
					r.kept["file"] = filepath.Join(fmt.Sprint(r.kept["repo"]), "file")
					return write("repo", "file", "x")(r)
				},
			},
			step{req: "S3-ERR-04", word: "result", title: "errors of the family are results with isError", want: wants(is("isError", true), is("payload.status", "error"), lacks("error"))},
		),
		preflightsTable("S3-REPO-04", "a worktree", worktree.named("file", ".git may be a file")),
	}
}
