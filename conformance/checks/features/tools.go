package features

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func toolListScenarios() []engine.Scenario {
	tools := engine.Needs{Capability: "tools"}
	return []engine.Scenario{
		{ID: "TOOL-01", Gentle: true, Needs: tools, Run: runToolsListed},
		{ID: "X-WIRE-07", Gentle: true, Needs: tools, Run: runToolEntries},
	}
}

func runToolsListed(t *engine.Trial) {
	s := t.Shared()
	a, err := s.Request(t.Ctx, mcp.MethodToolsList, nil)
	t.NoError(err)
	if a.Err != nil {
		t.Inconclusive("TOOL-01/list", a.Describe()) // LC-14 judges whether it may be
	} else {
		_, err = wire.ReadToolPage(a)
		t.Check("TOOL-01/list", err == nil, "tools as an array of objects", "%v", err)
	}
	t.Step(s)
	b, err := s.Request(t.Ctx, mcp.MethodToolsList, struct{}{})
	t.Check("TOOL-01/params", err == nil && (a.Err == nil) == (b.Err == nil), "the same answer", b.OrError(err))
	t.NoError(err)
}

// toolName is what TOOL-05 asks of names, beside the length: {1,128} takes 0.1 MB of
// every run of mcpctl.
var toolName = lazyregexp.New(`^[A-Za-z0-9_.-]+$`)

func runToolEntries(t *engine.Trial) {
	s := t.Shared()
	tools, err := wire.ListTools(t.Ctx, s)
	t.NoError(err)
	wrong := map[string]string{}
	note := func(id string, ok bool, format string, args ...any) {
		if !ok && wrong[id] == "" {
			wrong[id] = fmt.Sprintf(format, args...)
		}
	}
	seen, annotated := map[string]bool{}, false
	for i, tool := range tools {
		named := rawjson.IsString(tool.Members["name"]) && tool.Name != ""
		note("X-WIRE-07/names", named, "tools[%d].name is %s", i, rawjson.OrAbsent(tool.Members["name"]))
		note("X-WIRE-07/unique", !named || !seen[tool.Name], "%q stands there twice", tool.Name)
		seen[tool.Name] = true
		note("TOOL-05/characters", !named || len(tool.Name) <= 128 && toolName.MatchString(tool.Name), "%q", rawjson.Clip(tool.Name, 140))
		note("X-WIRE-07/description", rawjson.Text(tool.Members["description"]) != "", "%s has none", tool.Name)
		schema, isObject := rawjson.Object(tool.InputSchema)
		note("TOOL-06/object", isObject, "inputSchema of %s is %s", tool.Name, rawjson.OrAbsent(tool.InputSchema))
		if isObject {
			note("TOOL-07/root", rawjson.Text(schema["type"]) == "object", "type of %s is %s", tool.Name, rawjson.OrAbsent(schema["type"]))
			err := compiles(tool.InputSchema)
			note("X-WIRE-07/compiles", err == nil, "%s: %v", tool.Name, err)
			names := map[string]bool{}
			eachHeader(schema, func(header, kind json.RawMessage) {
				name := rawjson.Text(header)
				note("HDR-06/name", headerName.MatchString(name), "x-mcp-header of %s is %s", tool.Name, rawjson.Clip(string(header), 80))
				note("HDR-06/unique", !names[strings.ToLower(name)], "%s has x-mcp-header %q twice", tool.Name, name)
				note("HDR-06/type", !rawjson.IsString(kind) || slices.Contains([]string{"string", "integer", "boolean"}, rawjson.Text(kind)), "%s has x-mcp-header on the type %s", tool.Name, kind)
				names[strings.ToLower(name)], annotated = true, true
			})
		}
		if output, there := tool.Members["outputSchema"]; there {
			err := compiles(output)
			note("TOOL-03/output", err == nil, "%s: %v", tool.Name, err)
		}
		if annotations, there := tool.Members["annotations"]; there {
			fault := annotationFault(annotations)
			note("TOOL-04/annotations", fault == "", "%s: %s", tool.Name, fault)
		}
	}
	for _, c := range t.Scenario.Checks {
		if c.ID == "TOOL-05/characters" && !s.Opened.Revision.AtLeast(mcp.Version2025_11_25) {
			t.Skip(c.ID, conformance.SkipNotInRevision, "since "+string(mcp.Version2025_11_25))
			continue
		}
		if strings.HasPrefix(c.ID, "HDR-06/") && !annotated {
			t.Skip(c.ID, conformance.SkipNotDeclared, "no x-mcp-header")
			continue
		}
		t.Check(c.ID, wrong[c.ID] == "", "that for each tool", "%s", wrong[c.ID])
	}
}

// headerName is the name of a header (RFC 9110, 5.1).
var headerName = lazyregexp.New("^[-A-Za-z0-9!#$%&'*+.^_`|~]+$")

// eachHeader visits the annotations x-mcp-header of a schema, each with the type of its
// property.
func eachHeader(schema map[string]json.RawMessage, visit func(header, kind json.RawMessage)) {
	properties, _ := rawjson.Object(schema["properties"])
	for _, name := range rawjson.SortedKeys(properties) {
		property, _ := rawjson.Object(properties[name])
		if header, there := property["x-mcp-header"]; there {
			visit(header, property["type"])
		}
		eachHeader(property, visit)
	}
}

// compiles reports why a schema is none. Nothing is fetched: a reference out
// of the document is judged elsewhere, by those that follow it.
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
