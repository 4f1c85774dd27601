package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Tools of the artifact family.
const (
	toolValidate = "validate_artifact"
	toolStore    = "store_artifact"
	toolApprove  = "approve_artifact"
	toolAddTask  = "add_task"
	toolNextID   = "get_next_available_id"
	toolReserve  = "reserve_id_range"
)

// artifactTools are all of them.
var artifactTools = []string{toolValidate, toolStore, toolApprove, toolAddTask, toolNextID, toolReserve}

// fixtureTools are the tools that use what the suite shares with a program.
var fixtureTools = append(slices.Clone(artifactTools), toolPDF, toolSave)

// tool is one entry of tools/list.
type tool struct {
	Name        string          `json:"name"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations struct {
		ReadOnlyHint bool `json:"readOnlyHint"`
	} `json:"annotations"`

	// members is the entry as received.
	members map[string]json.RawMessage
}

// page is one answer to tools/list.
type page struct {
	tools []map[string]json.RawMessage
	// next is nil at the end of the list: an empty string is a cursor.
	next *string
}

// maxPages bounds a walk over a list. It is the suite's own bound: a list that
// is longer breaks no rule, and what depends on its end is unknown.
const maxPages = 1000

// listPages walks tools/list to its end.
func listPages(ctx context.Context, s *wire.Session) ([]page, error) {
	var pages []page
	params := map[string]any{}
	seen := map[string]bool{}
	for len(pages) < maxPages {
		a, err := s.Request(ctx, mcp.MethodToolsList, params)
		if err != nil {
			return pages, err
		}
		p, err := readPage(a)
		if err != nil {
			return pages, err
		}
		pages = append(pages, p)
		if p.next == nil {
			return pages, nil
		}
		if seen[*p.next] {
			return pages, fmt.Errorf("%w: the cursor %q comes back", errEndless, rawjson.Clip(*p.next, 60))
		}
		seen[*p.next] = true
		params["cursor"] = *p.next
	}
	return pages, errUnread
}

var (
	// errEndless: following the cursors leads back, or nowhere.
	errEndless = errors.New("the list does not end")
	// errUnread: the walk has stopped at a bound of the suite.
	errUnread = fmt.Errorf("the suite reads %d pages of a list and no more", maxPages)
)

func readPage(a wire.Answer) (page, error) {
	var p page
	result, ok := rawjson.Object(a.Result)
	if !ok {
		return p, errors.New(a.Describe())
	}
	if err := json.Unmarshal(result["tools"], &p.tools); err != nil || p.tools == nil {
		return p, fmt.Errorf("tools is %s, not an array of objects", rawjson.OrAbsent(result["tools"]))
	}
	if next, there := result["nextCursor"]; there && string(next) != "null" {
		if !rawjson.IsString(next) {
			return p, fmt.Errorf("nextCursor is %s", rawjson.OrAbsent(next))
		}
		cursor := rawjson.Text(next)
		p.next = &cursor
	}
	return p, nil
}

// listTools returns the tools of all pages, as far as they can be read.
func listTools(ctx context.Context, s *wire.Session) ([]tool, error) {
	pages, err := listPages(ctx, s)
	if err != nil && !errors.Is(err, errEndless) && !errors.Is(err, errUnread) {
		return nil, err
	}
	var tools []tool
	for _, p := range pages {
		for _, members := range p.tools {
			t := tool{members: members, Name: rawjson.Text(members["name"]), InputSchema: members["inputSchema"]}
			_ = json.Unmarshal(members["annotations"], &t.Annotations) // hints: unreadable means absent
			tools = append(tools, t)
		}
	}
	return tools, nil
}

func callParams(name string, arguments any) map[string]any {
	params := map[string]any{"name": name}
	if arguments != nil {
		params["arguments"] = arguments
	}
	return params
}

// callsPerAgent is how many calls the suite makes under one name: a server may
// allow ten in a second (tools.md §3.5).
const callsPerAgent = 8

// call calls a tool and lets the observer look at the result. To a server of
// the families it is an agent of its own in every scenario, so that no limit
// on one agent's calls decides about another scenario (decisions 30).
// meta is added to the _meta of the call.
func (t *trial) call(s *wire.Session, name string, arguments any, meta ...members) (wire.Answer, error) {
	params := callParams(name, arguments)
	all := map[string]any{}
	if t.leg.family(name) != "" {
		all["agentName"] = fmt.Sprintf("conform/%s/%d", t.scenario.ID, t.calls/callsPerAgent)
		t.calls++
	}
	for _, m := range meta {
		maps.Copy(all, m)
	}
	if len(all) > 0 {
		params["_meta"] = all
	}
	a, err := s.Request(t.ctx, mcp.MethodToolsCall, params)
	if err == nil && s.Opened != nil {
		t.leg.seen.callResult(a, s.Opened.Revision)
		if t.leg.family(name) != "" && a.Err != nil {
			t.leg.seeProfile(name, a)
		}
	}
	if err == nil && usedUp(outcomeOf(a)) {
		return a, errUsedUp
	}
	return a, err
}

// errUsedUp: the server has a limit on the calls of all agents together, and
// the suite has used it up. What could not be asked says nothing about it.
var errUsedUp = errors.New("the server's limit on the calls of all agents is used up")

// usedUp reports whether an answer refuses a call for that reason (tools.md
// §3.5).
func usedUp(doc map[string]any) bool {
	return textAt(doc, "error.data.scope") == "global" || textAt(doc, "payload.error.details.scope") == "global"
}

// family returns the announced error profile of a tool, "" for none.
func (l *leg) family(name string) string {
	profiles, _ := rawjson.Object(l.capabilities.at("experimental.errorProfiles"))
	return rawjson.Text(profiles[name])
}

func (l *leg) seeProfile(name string, a wire.Answer) {
	if a.Err.Code == wire.CodeHeader {
		return // the transport's own, before any family
	}
	data, _ := rawjson.Object(a.ErrorData())
	l.seen.see(seenProfile, rawjson.Text(data["profile"]) == l.family(name), a.In, "data.profile is %s", rawjson.OrAbsent(data["profile"]))
}
