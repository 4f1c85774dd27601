package conformance

import (
	"encoding/json"
	"errors"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// paginationScenarios are about the pages of the lists beside that of tools.
func paginationScenarios() []Scenario {
	const page = "server/utilities/pagination"
	one := func(word string, kind listKind) Scenario {
		return Scenario{
			ID: "UTIL-14-" + word, Area: kind.capability, Title: "pages of " + kind.method, Needs: Needs{Capability: kind.capability},
			Checks: []Check{
				quoted(Should, "UTIL-14/"+word+"-ends", "following the cursors comes to an end", page+"#implementation-guidelines", stableCursors),
				quoted(Advice, "UTIL-14/"+word+"-disjoint", "nothing stands on two pages", page, "Pagination allows servers to yield results in smaller chunks rather than all at once."),
				quoted(Should, "UTIL-15/"+word, "a cursor the server never gave is refused with -32602", page+"#error-handling", "Invalid cursors SHOULD result in an error with code -32602 (Invalid params)."),
			},
			run: func(t *trial) error { return pages(t, word, kind) },
		}
	}
	return []Scenario{one("prompts", promptKind), one("resources", resourceKind), one("templates", templateKind)}
}

func pages(t *trial, word string, kind listKind) error {
	s, err := t.shared()
	if err != nil {
		return err
	}
	list, err := walk(t.ctx, s, kind)
	switch {
	case errors.Is(err, errUnread):
		t.unknown("UTIL-14/"+word+"-ends", err.Error())
		disjoint(t, "UTIL-14/"+word+"-disjoint", list.twice, err)
	case err != nil && !errors.Is(err, errEndless):
		skipAll(t, SkipPrerequisite, err.Error())
		return nil
	default:
		t.check("UTIL-14/"+word+"-ends", err == nil, "an end", "%v", err)
		disjoint(t, "UTIL-14/"+word+"-disjoint", list.twice, nil)
	}
	t.step(s)
	a, err := s.Request(t.ctx, kind.method, map[string]any{"cursor": "mainstay-no-such-cursor"})
	t.check("UTIL-15/"+word, a.HasCode(err, wire.CodeInvalidParams), "error -32602", a.OrError(err))
	return err
}

// disjoint decides that nothing stands twice in a list: of one that was read in
// part only what was seen twice is certain.
func disjoint(t *trial, id, twice string, unread error) {
	if unread != nil && twice == "" {
		t.unknown(id, unread.Error())
		return
	}
	t.check(id, twice == "", "each once", "%s", twice)
}

// fixtureScenarios call the official fixtures that answer with content.
func fixtureScenarios() []Scenario {
	one := func(word, tool string, kinds ...string) Scenario {
		return Scenario{
			ID: "TOOL-13-" + word, Area: "content", Title: "the official tool " + tool, Needs: Needs{Tools: []string{tool}, SideEffects: SideEffectsReadOnly},
			Checks: []Check{{
				ID: "TOOL-13/" + word, Title: "it answers with what its name says", Level: Must,
				Spec: Spec{Section: "server/tools#tool-result", Quote: "Unstructured content is returned in the content field of a result, and can contain multiple content items of different types"},
			}},
			run: func(t *trial) error { return fixture(t, "TOOL-13/"+word, tool, kinds) },
		}
	}
	audio := one("audio", "test_audio_content", "audio")
	audio.Since = mcp.Version2025_03_26 // which has brought audio
	return []Scenario{
		one("simple-text", toolSimpleText, "text"),
		one("image", "test_image_content", "image"),
		audio,
		one("resource", "test_embedded_resource", "resource"),
		one("mixed", "test_multiple_content_types", "text", "image", "resource"),
		one("failed", "test_error_handling", "text"),
	}
}

func fixture(t *trial, id, tool string, kinds []string) error {
	s, err := t.shared()
	if err != nil {
		return err
	}
	a, err := t.call(s, tool, struct{}{})
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
	t.check(id, err == nil && missing == "" && failed == (id == "TOOL-13/failed"), "its content", "no %s block, isError %v: %s", missing, failed, a.OrError(err))
	return err
}

// blocksOf returns the content of a call.
func blocksOf(a wire.Answer) []entry {
	result, _ := rawjson.Object(a.Result)
	var blocks []entry
	_ = json.Unmarshal(result["content"], &blocks) // TOOL-13/content judges it
	return blocks
}
