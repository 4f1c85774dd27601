package artifact

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"unicode"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// artifactType is one of the ten kinds of document of tools.md §2.1.
type artifactType struct {
	Name   string // as in metadata and in the storage directory: prd
	Prefix string // of the ids: PRD
	Plural string // of the resource URI: prds
}

// types are in the order in which S0's companion lists the prefixes, which an
// error message repeats.
var types = []artifactType{
	{"epic", "EPIC", "epics"},
	{"prd", "PRD", "prds"},
	{"hls", "HLS", "hls"},
	{"backlog_story", "US", "backlog_stories"},
	{"tech_spec", "SPEC", "tech_specs"},
	{"adr", "ADR", "adrs"},
	{"spike", "SPIKE", "spikes"},
	{"task", "TASK", "tasks"},
	{"product_vision", "VIS", "product_visions"},
	{"initiative", "INIT", "initiatives"},
}

// maxID bounds an id, which becomes part of a file name.
const maxID = 64

var idPattern = regexp.MustCompile(`^[A-Z]+-[0-9]{3,}$`)

// typeOf infers the type from an id that matches idPattern.
func typeOf(id string) (artifactType, error) {
	prefix, _, _ := strings.Cut(id, "-")
	for _, t := range types {
		if t.Prefix == prefix {
			return t, nil
		}
	}
	return artifactType{}, family.Invalid("artifact_id", "prefix",
		"Unknown artifact ID prefix: %s. Valid prefixes: %s", prefix, strings.Join(prefixes(), ", "))
}

func prefixes() []string {
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = t.Prefix
	}
	return out
}

// idForms says in words what an id is.
const idForms = "a prefix in capitals, a hyphen and at least three digits, such as EPIC-006"

// checkID refuses what is not an id, traversal first: that one is a security
// event of its own, with a warning in the log (S0).
func checkID(ctx context.Context, call *family.Call, field, id string) (artifactType, error) {
	if traverses(id) {
		call.Warn(ctx, "Path traversal attempt detected", slog.String("artifact_id", quoted(id)))
		return artifactType{}, traversal("Artifact ID", id)
	}
	return parseID(field, id)
}

// parseID returns the type of an id, or the error for what is none.
func parseID(field, id string) (artifactType, error) {
	if !idPattern.MatchString(id) || len(id) > maxID {
		return artifactType{}, family.Invalid(field, "pattern", "%s must be %s, and have at most %d characters", field, idForms, maxID)
	}
	return typeOf(id)
}

func traversal(what, name string) *family.Error {
	return &family.Error{
		Code:    codeInvalidParams,
		Message: "Invalid params: " + what + " contains path traversal",
		Data:    map[string]any{"resource_name": quoted(name), "validation_failed": "path_traversal_check"},
	}
}

// traverses reports whether s could leave the folder it is joined to, also
// when something on the way decodes its percent escapes, once or repeatedly.
func traverses(s string) bool {
	return strings.Contains(s, "..") || strings.ContainsAny(s, "/\\\x00") || escaped.MatchString(s)
}

// escaped finds the escapes of what traverses looks for, and of the percent
// sign itself, behind which they could hide.
var escaped = regexp.MustCompile(`(?i)%(?:2e|2f|5c|00|25)`)

// quoted shortens what was given for a name to what a log line and an error
// may carry: somebody may have put a whole document there.
func quoted(name string) string {
	const most = 256
	if r := []rune(name); len(r) > most {
		return string(r[:most]) + "…"
	}
	return name
}

func typeNames() string {
	out := make([]string, len(types))
	for i, t := range types {
		out[i] = t.Name
	}
	return strings.Join(out, ", ")
}

// checkProject refuses what no name of a project has: control characters. All
// else is text to the services, quotes and semicolons too.
func checkProject(name string) error {
	if strings.ContainsFunc(name, unicode.IsControl) {
		return family.Invalid("project_id", "characters", "project_id must not contain control characters")
	}
	return nil
}
