package features

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// fixtureScenarios call the official fixtures that answer with content.
func fixtureScenarios() []engine.Scenario {
	one := func(word, tool string, kinds ...string) engine.Scenario {
		return engine.Scenario{
			ID:     "TOOL-13-" + word,
			Gentle: true,
			Needs:  engine.Needs{Tools: []string{tool}, SideEffects: conformance.SideEffectsReadOnly},
			Run:    func(t *engine.Trial) { judgeFixture(t, "TOOL-13/"+word, tool, kinds) },
		}
	}
	return []engine.Scenario{
		one("simple-text", fixture.ToolSimpleText, "text"),
		one("image", "test_image_content", "image"),
		one("audio", "test_audio_content", "audio"),
		one("resource", "test_embedded_resource", "resource"),
		one("mixed", "test_multiple_content_types", "text", "image", "resource"),
		one("failed", "test_error_handling", "text"),
	}
}

func judgeFixture(t *engine.Trial, id, tool string, kinds []string) {
	s := t.Shared()
	a, err := t.Call(s, tool, struct{}{})
	result, _ := rawjson.Object(a.Result)
	found := map[string]bool{}
	for _, block := range blocksOf(a) {
		found[rawjson.Text(block["type"])] = true
	}
	missing := ""
	for _, kind := range kinds {
		if !found[kind] {
			missing = kind
		}
	}
	failed := string(result["isError"]) == "true"
	t.Check(id, err == nil && missing == "" && failed == (id == "TOOL-13/failed"), "its content", "no %s block, isError %v: %s", missing, failed, a.OrError(err))
	t.NoError(err)
}

// blocksOf returns the content of a call.
func blocksOf(a wire.Answer) []wire.ListEntry {
	result, _ := rawjson.Object(a.Result)
	var blocks []wire.ListEntry
	_ = json.Unmarshal(result["content"], &blocks) // TOOL-13/content judges it
	return blocks
}
