package features

import (
	"errors"
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/lists"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// paginationScenarios are about the pages of lists.
func paginationScenarios() []conformance.Scenario {
	one := func(word string, kind lists.Kind) conformance.Scenario {
		return conformance.Scenario{ID: "UTIL-14-" + word, Needs: conformance.Needs{Capability: kind.Capability}, Run: func(t *conformance.Trial) error { return pages(t, word, kind) }}
	}
	return []conformance.Scenario{
		{ID: "UTIL-14", Needs: conformance.Needs{Capability: lists.ToolList.Capability}, Run: runPages},
		one("prompts", lists.PromptList), one("resources", lists.ResourceList), one("templates", lists.TemplateList),
	}
}

func runPages(t *conformance.Trial) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	pages, err := lists.Pages(t.Ctx, s)
	unread := err
	switch {
	case errors.Is(err, lists.ErrUnread):
		t.Unknown("UTIL-14/ends", err.Error())
	case err != nil && !errors.Is(err, lists.ErrEndless):
		return err
	default:
		t.Check("UTIL-14/ends", err == nil, "an end", "%v", err)
		unread = nil
	}
	twice := ""
	on := map[string]int{}
	for i, p := range pages {
		for _, members := range p.Tools {
			name := rawjson.Text(members["name"])
			if at, seen := on[name]; seen && at != i {
				twice = fmt.Sprintf("%q on pages %d and %d", name, at+1, i+1)
			}
			on[name] = i
		}
	}
	if errors.Is(err, lists.ErrEndless) {
		t.Skip("UTIL-14/disjoint", conformance.SkipPrerequisite, "the list does not end")
	} else {
		disjoint(t, "UTIL-14/disjoint", twice, unread)
	}
	t.Step(s)
	a, err := s.Request(t.Ctx, mcp.MethodToolsList, map[string]any{"cursor": "mainstay-no-such-cursor"})
	t.Check("UTIL-15/bad-cursor", a.HasCode(err, wire.CodeInvalidParams), "error -32602", a.OrError(err))
	return err
}

func pages(t *conformance.Trial, word string, kind lists.Kind) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	list, err := lists.Walk(t.Ctx, s, kind)
	switch {
	case errors.Is(err, lists.ErrUnread):
		t.Unknown("UTIL-14/"+word+"-ends", err.Error())
		disjoint(t, "UTIL-14/"+word+"-disjoint", list.Twice, err)
	case err != nil && !errors.Is(err, lists.ErrEndless):
		t.SkipRest(conformance.SkipPrerequisite, err.Error())
		return nil
	default:
		t.Check("UTIL-14/"+word+"-ends", err == nil, "an end", "%v", err)
		disjoint(t, "UTIL-14/"+word+"-disjoint", list.Twice, nil)
	}
	t.Step(s)
	a, err := s.Request(t.Ctx, kind.Method, map[string]any{"cursor": "mainstay-no-such-cursor"})
	t.Check("UTIL-15/"+word, a.HasCode(err, wire.CodeInvalidParams), "error -32602", a.OrError(err))
	return err
}

// disjoint decides that nothing stands twice in a list: of one that was read in
// part only what was seen twice is certain.
func disjoint(t *conformance.Trial, id, twice string, unread error) {
	if unread != nil && twice == "" {
		t.Unknown(id, unread.Error())
		return
	}
	t.Check(id, twice == "", "each once", "%s", twice)
}
