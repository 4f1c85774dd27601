package artifact

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/services/rest"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// maxTasks bounds a batch (tools.md §2.5).
const maxTasks = 100

var (
	taskStatuses    = []string{"pending", "in_progress", "completed"}
	classifications = []string{mandatory, recommended, conditional}
)

// parseTasks decodes the tasks of add_task. It judges the shape only; what a
// task says is judged by [taskChecker].
func parseTasks(raw json.RawMessage) ([]rest.Task, error) {
	elements, err := elements(raw, "tasks")
	if err != nil {
		return nil, err
	}
	if n := len(elements); n < 1 || n > maxTasks {
		return nil, family.Invalid("tasks", "length", "tasks must have 1 to %d elements", maxTasks)
	}
	out := make([]rest.Task, len(elements))
	for i, raw := range elements {
		if out[i], err = parseTask(raw, fmt.Sprintf("tasks[%d]", i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func parseTask(raw json.RawMessage, at string) (t rest.Task, err error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) == nil && members["parent_id"] != nil {
		e := family.Invalid(at, "old_form", "%s has the old form with parent_id", at)
		e.Data["hint"] = "give generator and inputs, a list of GeneratorInput with resolved resource URIs, instead of parent_id"
		return t, e
	}
	r := reader{at: at}
	r.open(raw, "artifact_id", "generator", "task_id", "inputs", "status", "description")
	t = rest.Task{
		ArtifactID:  r.text("artifact_id", 0),
		Generator:   r.text("generator", 0),
		TaskID:      r.text("task_id", 128),
		Status:      r.choice("status", taskStatuses, "pending"),
		Description: r.optional("description"),
	}
	inputs := r.list("inputs")
	if r.err == nil && t.TaskID == "" {
		r.fail("task_id", "length", "must not be empty")
	}
	for i, raw := range inputs {
		if r.err == nil {
			var in rest.Input
			in, r.err = parseInput(raw, fmt.Sprintf("%s.inputs[%d]", at, i))
			t.Inputs = append(t.Inputs, in)
		}
	}
	return t, r.err
}

func parseInput(raw json.RawMessage, at string) (rest.Input, error) {
	r := reader{at: at}
	r.open(raw, "name", "classification", "artifact_type", "artifact_id", "resource_path", "mcp_resource_uri", "resource_uri", "status")
	in := rest.Input{
		Name:           r.text("name", 0),
		Classification: r.choice("classification", classifications, ""),
		ArtifactType:   r.text("artifact_type", 0),
		ArtifactID:     r.text("artifact_id", 0),
		ResourcePath:   r.text("resource_path", 0),
		MCPResourceURI: r.optional("mcp_resource_uri"),
		Status:         r.text("status", 0),
	}
	// S0 uses both names (C-18).
	switch alias := r.optional("resource_uri"); {
	case r.err != nil:
	case in.MCPResourceURI == "" && alias == "":
		r.fail("mcp_resource_uri", "missing", "is missing")
	case in.MCPResourceURI != "" && alias != "" && in.MCPResourceURI != alias:
		r.fail("resource_uri", "conflict", "and mcp_resource_uri differ")
	case in.MCPResourceURI == "":
		in.MCPResourceURI = alias
	}
	return in, r.err
}

// A reader takes the members of one object of a list. After the first fault
// it returns zero values; err says what the fault was.
type reader struct {
	at   string
	args family.Args
	err  error
}

func (r *reader) open(raw json.RawMessage, known ...string) {
	if json.Unmarshal(raw, &r.args) != nil || r.args == nil {
		r.err = family.Invalid(r.at, "type", "%s must be an object", r.at)
		return
	}
	_, r.err = family.ParseArgs(raw, known...)
}

func (r *reader) fail(name, reason, format string, args ...any) {
	field := r.at + "." + name
	r.err = family.Invalid(field, reason, "%s %s", field, fmt.Sprintf(format, args...))
}

// text returns a required string. A NUL in it is refused: no database keeps
// one, and no name has one.
func (r *reader) text(name string, most int) string {
	if r.err != nil {
		return ""
	}
	if r.args[name] == nil {
		r.err = family.Invalid(r.at+"."+name, "missing", "Missing required argument: %s.%s", r.at, name)
		return ""
	}
	s, err := r.args.String(name, 0, most)
	switch {
	case err != nil && most > 0:
		r.fail(name, "type", "must be a string of at most %d characters", most)
	case err != nil:
		r.fail(name, "type", "must be a string")
	case strings.ContainsRune(s, 0):
		r.fail(name, "characters", "must not contain NUL")
	}
	return s
}

func (r *reader) optional(name string) string {
	if r.args[name] == nil {
		return ""
	}
	return r.text(name, 0)
}

func (r *reader) choice(name string, values []string, absent string) string {
	if r.err == nil && r.args[name] == nil && absent != "" {
		return absent
	}
	s := r.text(name, 0)
	if r.err == nil && !slices.Contains(values, s) {
		r.fail(name, "enum", "must be one of %s", strings.Join(values, ", "))
	}
	return s
}

func (r *reader) list(name string) []json.RawMessage {
	if r.err != nil {
		return nil
	}
	out, err := elements(r.args[name], r.at+"."+name)
	r.err = err
	return out
}

// elements decodes a required list.
func elements(raw json.RawMessage, field string) ([]json.RawMessage, error) {
	if raw == nil {
		return nil, family.Invalid(field, "missing", "Missing required argument: %s", field)
	}
	var out []json.RawMessage
	if json.Unmarshal(raw, &out) != nil || out == nil {
		return nil, family.Invalid(field, "type", "%s must be an array", field)
	}
	return out, nil
}
