package features

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// dialectScenarios are about schemas that arrive as they were written: a server
// that rebuilds them from types of its own loses keywords.
func dialectScenarios() []engine.Scenario {
	return []engine.Scenario{{ID: "TOOL-06", Gentle: true, Needs: engine.Needs{Capability: "tools"}, Run: runDialect}}
}

func runDialect(t *engine.Trial) {
	s := t.Shared()
	tools, err := wire.ListTools(t.Ctx, s)
	t.NoError(err)
	for _, tool := range tools {
		if tool.Name == fixture.ToolDialect {
			dialect, keywords := lostKeywords(tool.InputSchema)
			t.Check("TOOL-06/dialect", dialect == "", "what the fixture is made with", "%s is not there", dialect)
			if t.Rev.Stateless() {
				t.Check("TOOL-06/keywords", keywords == "", "what the fixture is made with", "%s is not there", keywords)
			}
			return
		}
	}
	t.SkipRest(conformance.SkipNoFixture, "no tool "+fixture.ToolDialect)
}

// lostKeywords names what the schema of the fixture has lost, "" for nothing:
// of what 2025-11-25 speaks of, and of the rest.
func lostKeywords(raw json.RawMessage) (dialect, keywords string) {
	schema, _ := rawjson.Object(raw)
	defs, _ := rawjson.Object(schema["$defs"])
	address, _ := rawjson.Object(defs["address"])
	var all []wire.ListEntry
	_ = json.Unmarshal(schema["allOf"], &all) // not there, then
	switch {
	case rawjson.Text(schema["$schema"]) != "https://json-schema.org/draft/2020-12/schema":
		dialect = "$schema"
	case address == nil:
		dialect = "$defs.address"
	case string(schema["additionalProperties"]) != "false":
		dialect = "additionalProperties"
	}
	switch {
	case len(all) == 0 || !rawjson.IsArray(all[0]["anyOf"]):
		keywords = "allOf with anyOf"
	case !rawjson.IsObject(schema["if"]) || !rawjson.IsObject(schema["then"]) || !rawjson.IsObject(schema["else"]):
		keywords = "if, then or else"
	case rawjson.Text(address["$anchor"]) == "":
		keywords = "$anchor"
	}
	return dialect, keywords
}
