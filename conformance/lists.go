package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// entry is one member of a list of the server, as received.
type entry = map[string]json.RawMessage

// listKind is one of the four lists of a server.
type listKind struct {
	method, member string
	// key is the member that tells its entries apart.
	key string
	// capability is what a server that has the list declares.
	capability string
}

// The lists of a server.
var (
	toolKind     = listKind{mcp.MethodToolsList, "tools", "name", "tools"}
	promptKind   = listKind{mcp.MethodPromptsList, "prompts", "name", "prompts"}
	resourceKind = listKind{mcp.MethodResourcesList, "resources", "uri", "resources"}
	templateKind = listKind{mcp.MethodResourceTemplatesList, "resourceTemplates", "uriTemplate", "resources"}
)

// listing is a list that was walked.
type listing struct {
	entries []entry
	// pages is how many entries each page has, twice what stands on two pages.
	pages []int
	twice string
	// first is the first result, as received.
	first entry
}

// has reports whether an entry has the key.
func (l *listing) has(kind listKind, key string) bool {
	for _, e := range l.entries {
		if rawjson.Text(e[kind.key]) == key {
			return true
		}
	}
	return false
}

// keys returns the keys of the entries, in order.
func (l *listing) keys(kind listKind) []string {
	keys := make([]string, len(l.entries))
	for i, e := range l.entries {
		keys[i] = rawjson.Text(e[kind.key])
	}
	return keys
}

// featureScenarios are about what a server offers, in both eras.
func featureScenarios() []Scenario {
	return slices.Concat(
		resourceScenarios(), promptScenarios(), loggingScenarios(), paginationScenarios(), fixtureScenarios(), clientFeatureScenarios(), contentScenarios(),
	)
}

// errRefused: a list was answered with an error, which any request may be.
var errRefused = errors.New("the list was refused")

// walk reads a list from its first page to its last. The error is errEndless
// when there is no last one, errUnread when the suite did not read as far.
func walk(ctx context.Context, s *wire.Session, kind listKind) (*listing, error) {
	out := &listing{}
	params := map[string]any{}
	cursors, on := map[string]bool{}, map[string]int{}
	for len(out.pages) < maxPages {
		a, err := s.Request(ctx, kind.method, params)
		if err != nil {
			return out, err
		}
		if a.Err != nil && len(out.pages) == 0 {
			return out, fmt.Errorf("%w: %s: %s", errRefused, kind.method, a.Describe())
		}
		result, ok := rawjson.Object(a.Result)
		var entries []entry
		if !ok || json.Unmarshal(result[kind.member], &entries) != nil || entries == nil {
			err := fmt.Errorf("%s: %s", kind.method, a.Describe())
			if len(out.pages) > 0 { // the cursor was the server's own
				err = fmt.Errorf("%w: page %d: %w", errEndless, len(out.pages)+1, err)
			}
			return out, err
		}
		if out.first == nil {
			out.first = result
		}
		for _, e := range entries {
			key := rawjson.Text(e[kind.key])
			if page, seen := on[key]; seen && page != len(out.pages) {
				out.twice = fmt.Sprintf("%q on pages %d and %d", key, page+1, len(out.pages)+1)
			}
			on[key] = len(out.pages)
		}
		out.entries = append(out.entries, entries...)
		out.pages = append(out.pages, len(entries))
		next, there := result["nextCursor"]
		if !there || string(next) == "null" {
			return out, nil
		}
		cursor := string(next)
		if cursors[cursor] {
			return out, fmt.Errorf("%w: the cursor %s comes back", errEndless, rawjson.Clip(cursor, 60))
		}
		cursors[cursor] = true
		params["cursor"] = next
	}
	return out, errUnread
}
