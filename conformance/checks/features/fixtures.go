package features

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/lists"
	"github.com/mainstay-mcp/mainstay/conformance/internal/official"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
)

// fixtureScenarios call the official fixtures that answer with content.
func fixtureScenarios() []conformance.Scenario {
	one := func(word, tool string, kinds ...string) conformance.Scenario {
		return conformance.Scenario{
			ID:    "TOOL-13-" + word,
			Needs: conformance.Needs{Tools: []string{tool}, SideEffects: conformance.SideEffectsReadOnly},
			Run:   func(t *conformance.Trial) error { return fixture(t, "TOOL-13/"+word, tool, kinds) },
		}
	}
	return []conformance.Scenario{
		one("simple-text", official.ToolSimpleText, "text"),
		one("image", "test_image_content", "image"),
		one("audio", "test_audio_content", "audio"),
		one("resource", "test_embedded_resource", "resource"),
		one("mixed", "test_multiple_content_types", "text", "image", "resource"),
		one("failed", "test_error_handling", "text"),
	}
}

func fixture(t *conformance.Trial, id, tool string, kinds []string) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
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
	return err
}

// blocksOf returns the content of a call.
func blocksOf(a wire.Answer) []lists.Entry {
	result, _ := rawjson.Object(a.Result)
	var blocks []lists.Entry
	_ = json.Unmarshal(result["content"], &blocks) // TOOL-13/content judges it
	return blocks
}
