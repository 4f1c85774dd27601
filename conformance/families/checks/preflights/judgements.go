package preflights

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/internal/table"
)

// judgements are what tables ask of whole answers, by their words.
var judgements = map[string]func(doc any, kept map[string]any) bool{
	"an artifact of type adr":                       hasADR,
	"id, type, question and what the type asks for": questions(fittingQuestion),
	"no question with depends_on_question_id": questions(func(q any) bool {
		_, there := table.Lookup(q, "depends_on_question_id")
		return !there
	}),
	`"Other (specify)" at the end of each`: questions(func(q any) bool {
		options := table.ArrayAt(q, "options")
		return len(options) == 0 || options[len(options)-1] == "Other (specify)"
	}),
	"three files": func(doc any, kept map[string]any) bool {
		created := table.ArrayAt(doc, "payload.artifacts_created")
		return len(created) == 3 && !slices.ContainsFunc(created, func(a any) bool { return inRepository(kept, table.TextAt(a, "path")) == "" })
	},
	"a UID of this minute": func(doc any, _ map[string]any) bool {
		at, err := time.Parse("20060102T150405.000Z", strings.Split(table.TextAt(doc, "payload.artifacts_created.0.uid"), "-")[0])
		return err == nil && time.Since(at).Abs() < time.Minute
	},
	"no docs/AGENT_PROMPT.md": func(doc any, kept map[string]any) bool {
		return table.TextAt(doc, "payload.status") == "completed" && inRepository(kept, "docs/AGENT_PROMPT.md") == ""
	},
	"the task alone": func(doc any, kept map[string]any) bool {
		return table.TextAt(doc, "payload.status") == "completed" && inRepository(kept, pathTask) != "" && inRepository(kept, pathProjection) == ""
	},
	"the text in the ADR": func(doc any, kept map[string]any) bool {
		return strings.Contains(inRepository(kept, table.TextAt(doc, "payload.artifacts_created.0.path")), "Passkeys of the suite")
	},
	"**Previous UID:** with the uid of the first": func(doc any, kept map[string]any) bool {
		text := inRepository(kept, table.TextAt(doc, "payload.artifacts_created.0.path"))
		return strings.Contains(text, "**Previous UID:** "+fmt.Sprint(kept["first"]))
	},
	"a higher uid": func(doc any, kept map[string]any) bool {
		return table.TextAt(doc, "payload.artifacts_created.0.uid") > fmt.Sprint(kept["first"])
	},
	"a name after the first": func(doc any, kept map[string]any) bool {
		return table.TextAt(doc, "payload.artifacts_created.0.path") > fmt.Sprint(kept["firstPath"])
	},
	"the first ADR with the same bytes": func(doc any, kept map[string]any) bool {
		return table.TextAt(doc, "payload.status") == "completed" && kept["firstText"] != "" && inRepository(kept, fmt.Sprint(kept["firstPath"])) == kept["firstText"]
	},
	"the archived task with the same bytes": func(doc any, kept map[string]any) bool {
		return kept["oldTask"] != "" && inRepository(kept, table.TextAt(doc, "payload.archived.path")) == kept["oldTask"]
	},
	"still no projection": func(doc any, kept map[string]any) bool {
		return table.TextAt(doc, "payload.status") == "success" && inRepository(kept, pathProjection) == ""
	},
	"the file as it was": func(doc any, kept map[string]any) bool {
		return table.TextAt(doc, "payload.status") == "error" && strings.HasPrefix(inRepository(kept, "docs"), "a file")
	},
}

// questions judges each question of an answer that has some.
func questions(holds func(q any) bool) func(doc any, _ map[string]any) bool {
	return func(doc any, _ map[string]any) bool {
		all := table.ArrayAt(doc, "payload.questions")
		return len(all) > 0 && !slices.ContainsFunc(all, func(q any) bool { return !holds(q) })
	}
}

// hasADR reports whether an ADR is among the artifacts that were created.
func hasADR(doc any, _ map[string]any) bool {
	return slices.ContainsFunc(table.ArrayAt(doc, "payload.artifacts_created"), func(a any) bool { return table.TextAt(a, "type") == "adr" })
}

// fittingQuestion reports whether a question has the members of its type.
func fittingQuestion(q any) bool {
	options := len(table.ArrayAt(q, "options"))
	_, least := table.Lookup(q, "min_selections")
	if table.TextAt(q, "id") == "" || table.TextAt(q, "question") == "" {
		return false
	}
	switch table.TextAt(q, "type") {
	case "single_choice":
		return options > 1 && !least
	case "multi_choice":
		return options > 1
	case "free_text":
		return options == 0 && !least
	}
	return false
}
