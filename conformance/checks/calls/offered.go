package calls

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// learnOffers remembers values that the server offers outside of tools: those of its templates in
// the URIs of its resources, and what it completes.
func learnOffers(t *engine.Trial, s *wire.Session) {
	if t.Rev.Capabilities.Has("resources") {
		resources, err := wire.WalkList(t.Ctx, s, wire.ResourceList)
		if err != nil {
			resources = &wire.Listing{} // other checks judge the lists
		}
		templates, err := wire.WalkList(t.Ctx, s, wire.TemplateList)
		if err != nil {
			templates = &wire.Listing{}
		}
		for _, template := range first(templates.Keys(wire.TemplateList), mostOffers) {
			for _, uri := range first(resources.Keys(wire.ResourceList), mostOffers) {
				for name, value := range valuesIn(template, uri) {
					t.Rev.LearnValue(name, value)
				}
			}
			learnCompletions(t, s, map[string]any{"type": "ref/resource", "uri": template}, variables(template))
		}
		for _, uri := range first(resources.Keys(wire.ResourceList), mostOffers) {
			parts := strings.Split(uri, "/")
			if last := parts[len(parts)-1]; last != "" && len(parts) > 1 {
				t.Rev.LearnValue("id", unescaped(last))
				t.Rev.LearnValue(parts[len(parts)-2], unescaped(last)) // clinic://doctor/Reed
			}
		}
	}
	if t.Rev.Capabilities.Has("prompts") {
		if prompts, err := wire.WalkList(t.Ctx, s, wire.PromptList); err == nil {
			for _, e := range first(prompts.Entries, mostOffers) {
				learnCompletions(t, s, map[string]any{"type": "ref/prompt", "name": rawjson.Text(e["name"])}, promptArguments(e))
			}
		}
	}
}

// learnCompletions remembers what the server completes.
func learnCompletions(t *engine.Trial, s *wire.Session, ref map[string]any, names []string) {
	if !t.Rev.Capabilities.Has("completions") {
		return
	}
	for _, name := range names {
		for _, value := range first(completions(t, s, ref, name), 2) {
			t.Rev.LearnValue(name, value)
		}
	}
}

// valuesIn returns the values of a template's variables in a URI.
func valuesIn(template, uri string) map[string]string {
	names := variables(template)
	pattern := regexp.QuoteMeta(template)
	for _, name := range names {
		pattern = strings.Replace(pattern, regexp.QuoteMeta("{"+name+"}"), "([^/?#]+)", 1)
	}
	re, err := regexp.Compile("^" + pattern + "$")
	if err != nil || len(names) == 0 {
		return nil
	}
	found := re.FindStringSubmatch(uri)
	if len(found) != len(names)+1 {
		return nil
	}
	values := map[string]string{}
	for i, name := range names {
		values[name] = unescaped(found[i+1])
	}
	return values
}

// unescaped is a part of a URI without percent-encoding.
func unescaped(part string) string {
	if text, err := url.PathUnescape(part); err == nil {
		return text
	}
	return part
}
