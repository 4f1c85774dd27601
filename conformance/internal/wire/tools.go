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

// Tool is one entry of tools/list.
type Tool struct {
	Name        string          `json:"name"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations struct {
		ReadOnlyHint    bool `json:"readOnlyHint"`
		DestructiveHint bool `json:"destructiveHint"` // false, too, when it is left out
	} `json:"annotations"`

	// Members is the entry as received.
	Members map[string]json.RawMessage
}

// TaskSupport is what the tool says of tasks in revision 2025-11-25; saying nothing forbids them.
func (t Tool) TaskSupport() string {
	execution, _ := rawjson.Object(t.Members["execution"])
	if support := rawjson.Text(execution["taskSupport"]); support != "" {
		return support
	}
	return "forbidden"
}

// ToolPage is one answer to tools/list.
type ToolPage struct {
	Tools []map[string]json.RawMessage
	// Scope is the cacheScope.
	Scope json.RawMessage
	// next is nil at the end of the list: an empty string is a cursor.
	next *string
}

// maxPages bounds a walk over a list. It is the suite's own bound: a list that
// is longer breaks no rule, and what depends on its end is unknown.
const maxPages = 1000

// ToolPages walks tools/list to its end.
func ToolPages(ctx context.Context, s *Session) ([]ToolPage, error) {
	var pages []ToolPage
	params := map[string]any{}
	seen := map[string]bool{}
	for len(pages) < cmp.Or(s.MaxPages, maxPages) {
		a, err := s.Request(ctx, mcp.MethodToolsList, params)
		if err != nil {
			return pages, err
		}
		p, err := ReadToolPage(a)
		if err != nil {
			return pages, err
		}
		pages = append(pages, p)
		if p.next == nil {
			return pages, nil
		}
		if seen[*p.next] {
			return pages, fmt.Errorf("%w: the cursor %q comes back", ErrEndless, rawjson.Clip(*p.next, 60))
		}
		seen[*p.next] = true
		params["cursor"] = *p.next
	}
	return pages, ErrUnread
}

var (
	// ErrEndless says that following the cursors leads back, or nowhere.
	ErrEndless = errors.New("the list does not end")
	// ErrUnread says that the walk has stopped at a bound of the suite.
	ErrUnread = errors.New("the list has more pages than the suite reads")
)

// ReadToolPage reads the answer to tools/list.
func ReadToolPage(a Answer) (ToolPage, error) {
	var p ToolPage
	result, ok := rawjson.Object(a.Result)
	if !ok {
		return p, errors.New(a.Describe())
	}
	if err := json.Unmarshal(result["tools"], &p.Tools); err != nil || p.Tools == nil {
		return p, fmt.Errorf("tools is %s, not an array of objects", rawjson.OrAbsent(result["tools"]))
	}
	p.Scope = result["cacheScope"]
	if next, there := result["nextCursor"]; there && string(next) != "null" {
		if !rawjson.IsString(next) {
			return p, fmt.Errorf("nextCursor is %s", rawjson.OrAbsent(next))
		}
		cursor := rawjson.Text(next)
		p.next = &cursor
	}
	return p, nil
}

// ListTools returns the tools of all pages, as far as they can be read.
func ListTools(ctx context.Context, s *Session) ([]Tool, error) {
	pages, err := ToolPages(ctx, s)
	if err != nil && !errors.Is(err, ErrEndless) && !errors.Is(err, ErrUnread) {
		return nil, err
	}
	var tools []Tool
	for _, p := range pages {
		for _, members := range p.Tools {
			t := Tool{Members: members, Name: rawjson.Text(members["name"]), InputSchema: members["inputSchema"]}
			_ = json.Unmarshal(members["annotations"], &t.Annotations) // hints: unreadable means absent
			tools = append(tools, t)
		}
	}
	return tools, nil
}
