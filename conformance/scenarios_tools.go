package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// stableCursors is what the page on pagination asks of servers.
const stableCursors = "Servers SHOULD: Provide stable cursors; Handle invalid cursors gracefully"

func toolListScenarios() []Scenario {
	tools := Needs{Capability: "tools"}
	list := Spec{Section: "server/tools#listing-tools", Quote: "To discover available tools, clients send a tools/list request. This operation supports pagination."}
	return []Scenario{
		{
			ID: "TOOL-01", Area: "tools", Title: "tools and their capability", Needs: tools,
			Checks: []Check{
				{ID: "TOOL-01/list", Title: "tools/list is answered with an array of objects", Level: Must, Spec: list},
				{ID: "TOOL-01/params", Title: "tools/list takes an empty params object, and none", Level: Must, Spec: list},
			},
			run: runToolsListed,
		},
		{
			ID: "X-WIRE-07", Area: "tools", Title: "what tools/list says of each tool", Needs: tools,
			Checks: []Check{
				{ID: "X-WIRE-07/names", Title: "each tool has a name that is a string", Level: Must, Spec: Spec{Section: "server/tools#tool", Quote: "name: Unique identifier for the tool"}},
				{ID: "X-WIRE-07/unique", Title: "names are unique", Level: Should, Spec: Spec{Section: "server/tools#tool-names", Quote: "Tool names SHOULD be unique within a server."}},
				{ID: "TOOL-05/characters", Title: "names have 1 to 128 of A-Z a-z 0-9 _ - .", Level: Should, Spec: Spec{Section: "server/tools#tool-names", Quote: "Tool names SHOULD be between 1 and 128 characters in length (inclusive)."}},
				{ID: "X-WIRE-07/description", Title: "each tool has a description", Level: Advice, House: Must, Spec: Spec{Section: "server/tools#tool", Quote: "description: Human-readable description of functionality"}},
				{ID: "TOOL-06/object", Title: "inputSchema is a JSON object", Level: Must, Spec: Spec{Section: "server/tools#tool", Quote: "MUST be a valid JSON Schema object (not null)"}},
				{ID: "TOOL-07/root", Title: `inputSchema has type "object" at its root`, Level: Must, Spec: Spec{Section: "schema#tool", Quote: "A JSON Schema object defining the expected parameters for the tool."}},
				{ID: "X-WIRE-07/compiles", Title: "inputSchema compiles as JSON Schema", Level: Must, Spec: Spec{Section: "server/tools#tool", Quote: "MUST be a valid JSON Schema object (not null)"}},
				{ID: "TOOL-03/output", Title: "outputSchema, when present, compiles as JSON Schema", Level: Must, Spec: Spec{Section: "server/tools#output-schema", Quote: "Tools may also provide an output schema for validation of structured results."}},
				{ID: "TOOL-04/annotations", Title: "annotations, when present, have the types of the schema", Level: Must, Spec: Spec{Section: "schema#toolannotations", Quote: "Additional properties describing a Tool to clients."}},
			},
			run: runToolEntries,
		},
		{
			ID: "UTIL-14", Area: "tools", Title: "pages of tools/list", Needs: tools,
			Checks: []Check{
				{ID: "UTIL-14/ends", Title: "following the cursors comes to an end", Level: Should, Spec: Spec{Section: "server/utilities/pagination#implementation-guidelines", Quote: stableCursors}},
				{ID: "UTIL-14/disjoint", Title: "no tool stands on two pages", Level: Advice, Spec: Spec{Section: "server/utilities/pagination", Quote: "Pagination allows servers to yield results in smaller chunks rather than all at once."}},
				{ID: "UTIL-15/bad-cursor", Title: "a cursor the server never gave is answered with -32602", Level: Should, Spec: Spec{Section: "server/utilities/pagination#error-handling", Quote: "Invalid cursors SHOULD result in an error with code -32602 (Invalid params)."}},
			},
			run: runPages,
		},
	}
}

func runToolsListed(t *trial) error {
	s, err := t.shared()
	if err != nil {
		return err
	}
	a, err := s.Request(t.ctx, mcp.MethodToolsList, nil)
	if err != nil {
		return err
	}
	if a.Err != nil {
		t.unknown("TOOL-01/list", a.Describe()) // LC-14 judges whether it may be
	} else {
		_, err = readPage(a)
		t.check("TOOL-01/list", err == nil, "tools as an array of objects", "%v", err)
	}
	t.step(s)
	b, err := s.Request(t.ctx, mcp.MethodToolsList, struct{}{})
	t.check("TOOL-01/params", err == nil && (a.Err == nil) == (b.Err == nil), "the same answer", b.OrError(err))
	return err
}

// toolName is what TOOL-05 asks of names.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

func runToolEntries(t *trial) error {
	s, err := t.shared()
	if err != nil {
		return err
	}
	tools, err := listTools(t.ctx, s)
	if err != nil {
		return err
	}
	wrong := map[string]string{}
	note := func(id string, ok bool, format string, args ...any) {
		if !ok && wrong[id] == "" {
			wrong[id] = fmt.Sprintf(format, args...)
		}
	}
	seen := map[string]bool{}
	for i, tool := range tools {
		named := rawjson.IsString(tool.members["name"]) && tool.Name != ""
		note("X-WIRE-07/names", named, "tools[%d].name is %s", i, rawjson.OrAbsent(tool.members["name"]))
		note("X-WIRE-07/unique", !named || !seen[tool.Name], "%q stands there twice", tool.Name)
		seen[tool.Name] = true
		note("TOOL-05/characters", !named || toolName.MatchString(tool.Name), "%q", rawjson.Clip(tool.Name, 140))
		note("X-WIRE-07/description", rawjson.Text(tool.members["description"]) != "", "%s has none", tool.Name)
		schema, isObject := rawjson.Object(tool.InputSchema)
		note("TOOL-06/object", isObject, "inputSchema of %s is %s", tool.Name, rawjson.OrAbsent(tool.InputSchema))
		if isObject {
			note("TOOL-07/root", rawjson.Text(schema["type"]) == "object", "type of %s is %s", tool.Name, rawjson.OrAbsent(schema["type"]))
			err := compiles(tool.InputSchema)
			note("X-WIRE-07/compiles", err == nil, "%s: %v", tool.Name, err)
		}
		if output, there := tool.members["outputSchema"]; there {
			err := compiles(output)
			note("TOOL-03/output", err == nil, "%s: %v", tool.Name, err)
		}
		if annotations, there := tool.members["annotations"]; there {
			fault := annotationFault(annotations)
			note("TOOL-04/annotations", fault == "", "%s: %s", tool.Name, fault)
		}
	}
	for _, c := range t.scenario.Checks {
		if c.ID == "TOOL-05/characters" && !s.Opened.Revision.AtLeast(mcp.Version2025_11_25) {
			t.skip(c.ID, SkipNotInRevision, "since "+string(mcp.Version2025_11_25))
			continue
		}
		t.check(c.ID, wrong[c.ID] == "", "that for each tool", "%s", wrong[c.ID])
	}
	return nil
}

// compiles reports why a schema is none. Nothing is fetched: a reference out
// of the document is judged elsewhere, by whoever would follow it.
func compiles(raw json.RawMessage) error {
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return err
	}
	if _, err := schema.Resolve(nil); err != nil {
		return err
	}
	return checkTypes(raw)
}

func annotationFault(raw json.RawMessage) string {
	annotations, ok := rawjson.Object(raw)
	if !ok {
		return "annotations is " + rawjson.OrAbsent(raw)
	}
	for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
		if v, there := annotations[hint]; there && string(v) != "true" && string(v) != "false" {
			return hint + " is " + rawjson.OrAbsent(v)
		}
	}
	if title, there := annotations["title"]; there && !rawjson.IsString(title) {
		return "title is " + rawjson.OrAbsent(title)
	}
	return ""
}

func runPages(t *trial) error {
	s, err := t.shared()
	if err != nil {
		return err
	}
	pages, err := listPages(t.ctx, s)
	unread := err
	switch {
	case errors.Is(err, errUnread):
		t.unknown("UTIL-14/ends", err.Error())
	case err != nil && !errors.Is(err, errEndless):
		return err
	default:
		t.check("UTIL-14/ends", err == nil, "an end", "%v", err)
		unread = nil
	}
	twice := ""
	on := map[string]int{}
	for i, p := range pages {
		for _, members := range p.tools {
			name := rawjson.Text(members["name"])
			if at, seen := on[name]; seen && at != i {
				twice = fmt.Sprintf("%q on pages %d and %d", name, at+1, i+1)
			}
			on[name] = i
		}
	}
	if errors.Is(err, errEndless) {
		t.skip("UTIL-14/disjoint", SkipPrerequisite, "the list does not end")
	} else {
		disjoint(t, "UTIL-14/disjoint", twice, unread)
	}
	t.step(s)
	a, err := s.Request(t.ctx, mcp.MethodToolsList, map[string]any{"cursor": "mainstay-no-such-cursor"})
	t.check("UTIL-15/bad-cursor", a.HasCode(err, wire.CodeInvalidParams), "error -32602", a.OrError(err))
	return err
}
