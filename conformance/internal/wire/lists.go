package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// ListEntry is one member of a list of the server, as received.
type ListEntry = map[string]json.RawMessage

// ListKind is one of the four lists of a server.
type ListKind struct {
	Method, Member string
	// Key is the member that identifies an entry.
	Key string
	// Capability is the capability of servers that have the list.
	Capability string
}

// The lists of a server.
var (
	ToolList     = ListKind{mcp.MethodToolsList, "tools", "name", "tools"}
	PromptList   = ListKind{mcp.MethodPromptsList, "prompts", "name", "prompts"}
	ResourceList = ListKind{mcp.MethodResourcesList, "resources", "uri", "resources"}
	TemplateList = ListKind{mcp.MethodResourceTemplatesList, "resourceTemplates", "uriTemplate", "resources"}
)

// Listing is a list that was walked.
type Listing struct {
	Entries []ListEntry
	// pages has the number of entries of each page, Twice an entry that is on two pages.
	pages []int
	Twice string
	// Scopes has the cacheScope of each page.
	Scopes []json.RawMessage
	// first is the first result, as received.
	first ListEntry
}

// Has reports whether an entry has the key.
func (l *Listing) Has(kind ListKind, key string) bool {
	for _, e := range l.Entries {
		if rawjson.Text(e[kind.Key]) == key {
			return true
		}
	}
	return false
}

// Keys returns the keys of the entries, in order.
func (l *Listing) Keys(kind ListKind) []string {
	keys := make([]string, len(l.Entries))
	for i, e := range l.Entries {
		keys[i] = rawjson.Text(e[kind.Key])
	}
	return keys
}

// ErrListRefused reports an error in answer to a list, which is allowed for any request.
var ErrListRefused = errors.New("the list was refused")

// WalkList reads all pages of a list. The error is errEndless if there is no last page,
// errUnread if the suite stopped before it.
func WalkList(ctx context.Context, s *Session, kind ListKind) (*Listing, error) {
	out := &Listing{}
	params := map[string]any{}
	cursors, on := map[string]bool{}, map[string]int{}
	for len(out.pages) < cmp.Or(s.MaxPages, maxPages) {
		a, err := s.Request(ctx, kind.Method, params)
		if err != nil {
			return out, err
		}
		if a.Err != nil && len(out.pages) == 0 {
			return out, fmt.Errorf("%w: %s: %s", ErrListRefused, kind.Method, a.Describe())
		}
		result, ok := rawjson.Object(a.Result)
		var entries []ListEntry
		if !ok || json.Unmarshal(result[kind.Member], &entries) != nil || entries == nil {
			err := fmt.Errorf("%s: %s", kind.Method, a.Describe())
			if len(out.pages) > 0 { // the cursor was the server's own
				err = fmt.Errorf("%w: page %d: %w", ErrEndless, len(out.pages)+1, err)
			}
			return out, err
		}
		if out.first == nil {
			out.first = result
		}
		for _, e := range entries {
			key := rawjson.Text(e[kind.Key])
			if page, seen := on[key]; seen && page != len(out.pages) {
				out.Twice = fmt.Sprintf("%q on pages %d and %d", key, page+1, len(out.pages)+1)
			}
			on[key] = len(out.pages)
		}
		out.Entries = append(out.Entries, entries...)
		out.pages = append(out.pages, len(entries))
		out.Scopes = append(out.Scopes, result["cacheScope"])
		next, there := result["nextCursor"]
		if !there || string(next) == "null" {
			return out, nil
		}
		cursor := string(next)
		if cursors[cursor] {
			return out, fmt.Errorf("%w: the cursor %s comes back", ErrEndless, rawjson.Clip(cursor, 60))
		}
		cursors[cursor] = true
		params["cursor"] = next
	}
	return out, ErrUnread
}
