package stateless

import (
	"context"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/lists"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// cacheScenarios are about what the stateless era tells caches.
func cacheScenarios() []conformance.Scenario {
	one := func(word, capability, method string) conformance.Scenario {
		return conformance.Scenario{ID: "CACHE-01-" + word, Needs: conformance.Needs{Capability: capability}, Run: func(t *conformance.Trial) error { return cacheHints(t, word, method) }}
	}
	return []conformance.Scenario{
		one("discover", "", mcp.MethodDiscover), one("tools", "tools", mcp.MethodToolsList), one("prompts", "prompts", mcp.MethodPromptsList),
		one("resources", "resources", mcp.MethodResourcesList), one("templates", "resources", mcp.MethodResourceTemplatesList),
		one("read", "resources", mcp.MethodResourcesRead),
	}
}

func cacheHints(t *conformance.Trial, word, method string) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
	var params map[string]any
	if method == mcp.MethodResourcesRead {
		uri, err := firstResource(t.Ctx, s)
		if err != nil {
			return err
		}
		if uri == "" {
			t.SkipRest(conformance.SkipNoFixture, "no resources")
			return nil
		}
		params = map[string]any{"uri": uri}
	}
	t.Step(s)
	a, err := s.Request(t.Ctx, method, params)
	if err != nil {
		return err
	}
	result, ok := rawjson.Object(a.Result)
	if !ok {
		t.SkipRest(conformance.SkipPrerequisite, a.Describe())
		return nil
	}
	ttl := result["ttlMs"]
	t.Check("CACHE-01/"+word+"-ttl", rawjson.IsInteger(ttl) && ttl[0] != '-', "an integer, not below 0", "ttlMs is %s", rawjson.OrAbsent(ttl))
	scope := rawjson.Text(result["cacheScope"])
	t.Check("CACHE-01/"+word+"-scope", scope == "public" || scope == "private", "public or private", "cacheScope is %s", rawjson.OrAbsent(result["cacheScope"]))
	return nil
}

// firstResource returns the uri of the first resource, "" when there is none.
func firstResource(ctx context.Context, s *wire.Session) (string, error) {
	a, err := s.Request(ctx, mcp.MethodResourcesList, nil)
	result, _ := rawjson.Object(a.Result)
	var resources []lists.Entry
	_ = json.Unmarshal(result["resources"], &resources) // no list: no resources
	if err != nil || len(resources) == 0 {
		return "", err
	}
	return rawjson.Text(resources[0]["uri"]), nil
}
