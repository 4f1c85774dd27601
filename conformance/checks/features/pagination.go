package features

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// paginationScenarios are about the pages of lists.
func paginationScenarios() []engine.Scenario {
	one := func(word string, kind wire.ListKind) engine.Scenario {
		return engine.Scenario{ID: "UTIL-14-" + word, Gentle: true, Needs: engine.Needs{Capability: kind.Capability}, Run: func(t *engine.Trial) { pages(t, word, kind) }}
	}
	return []engine.Scenario{
		{ID: "UTIL-14", Gentle: true, Needs: engine.Needs{Capability: wire.ToolList.Capability}, Run: runPages},
		one("prompts", wire.PromptList), one("resources", wire.ResourceList), one("templates", wire.TemplateList),
	}
}

func runPages(t *engine.Trial) {
	s := t.Shared()
	pages, err := wire.ToolPages(t.Ctx, s)
	unread := err
	switch {
	case errors.Is(err, wire.ErrUnread):
		t.Inconclusive("UTIL-14/ends", err.Error())
	case err != nil && !errors.Is(err, wire.ErrEndless):
		t.NoError(err)
		return
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
	if errors.Is(err, wire.ErrEndless) {
		t.Skip("UTIL-14/disjoint", conformance.SkipPrerequisite, "the list does not end")
	} else {
		disjoint(t, "UTIL-14/disjoint", twice, unread)
	}
	scopes := make([]json.RawMessage, len(pages))
	for i, p := range pages {
		scopes[i] = p.Scope
	}
	oneScope(t, "CACHE-01/tools-pages", scopes)
	if !t.MayProvoke() {
		return
	}
	t.Step(s)
	a, err := s.Request(t.Ctx, mcp.MethodToolsList, map[string]any{"cursor": "mainstay-no-such-cursor"})
	t.Check("UTIL-15/bad-cursor", a.HasCode(err, wire.CodeInvalidParams), "error -32602", a.OrError(err))
	t.NoError(err)
}

func pages(t *engine.Trial, word string, kind wire.ListKind) {
	s := t.Shared()
	list, err := wire.WalkList(t.Ctx, s, kind)
	switch {
	case errors.Is(err, wire.ErrUnread):
		t.Inconclusive("UTIL-14/"+word+"-ends", err.Error())
		disjoint(t, "UTIL-14/"+word+"-disjoint", list.Twice, err)
	case err != nil && !errors.Is(err, wire.ErrEndless):
		t.SkipRest(conformance.SkipPrerequisite, err.Error())
		return
	default:
		t.Check("UTIL-14/"+word+"-ends", err == nil, "an end", "%v", err)
		disjoint(t, "UTIL-14/"+word+"-disjoint", list.Twice, nil)
	}
	oneScope(t, "CACHE-01/"+word+"-pages", list.Scopes)
	if !t.MayProvoke() {
		return
	}
	t.Step(s)
	a, err := s.Request(t.Ctx, kind.Method, map[string]any{"cursor": "mainstay-no-such-cursor"})
	t.Check("UTIL-15/"+word, a.HasCode(err, wire.CodeInvalidParams), "error -32602", a.OrError(err))
	t.NoError(err)
}

// oneScope decides that all pages of a list have the same cacheScope.
func oneScope(t *engine.Trial, id string, scopes []json.RawMessage) {
	if len(scopes) < 2 {
		t.Skip(id, conformance.SkipNoFixture, "the list has one page")
		return
	}
	for i, scope := range scopes {
		if string(scope) != string(scopes[0]) {
			t.Fail(id, "the cacheScope of page 1, "+rawjson.OrAbsent(scopes[0]), "%s on page %d", rawjson.OrAbsent(scope), i+1)
		}
	}
	if !t.Decided(id) {
		t.Pass(id)
	}
}

// disjoint decides that nothing stands twice in a list: of one that was read in
// part only what was seen twice is certain.
func disjoint(t *engine.Trial, id, twice string, unread error) {
	if unread != nil && twice == "" {
		t.Inconclusive(id, unread.Error())
		return
	}
	t.Check(id, twice == "", "each once", "%s", twice)
}
