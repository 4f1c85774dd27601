package clientsuite

import (
	"encoding/json"
	"fmt"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// pageOf answers tools/list with pages: a tool on each, and these cursors behind
// all but the last.
func pageOf(cursors ...string) func(x *exchange) {
	return func(x *exchange) {
		at := 0
		if raw := x.param("cursor"); raw != nil {
			at = -1
			for i, c := range cursors {
				if text(raw) == c {
					at = i + 1
				}
			}
		}
		if at < 0 {
			x.fail(jsonrpc.CodeInvalidParams, "no such cursor", "")
			return
		}
		next := ""
		if at < len(cursors) {
			next = `,"nextCursor":` + quote(cursors[at])
		}
		x.result(fmt.Sprintf(`"tools":[{"name":"tool%d","inputSchema":{"type":"object"}}]%s`, at, next))
	}
}

// listed are the names of the tools in a line.
func listed(l Line) (names []string) {
	var result struct{ Tools []struct{ Name string } }
	_ = json.Unmarshal(l.Result, &result) // no result: none
	for _, t := range result.Tools {
		names = append(names, t.Name)
	}
	return names
}

func lists(want ...string) func(Line) bool {
	return func(l Line) bool { return l.Outcome == OutcomeResult && fmt.Sprint(listed(l)) == fmt.Sprint(want) }
}

func listScenarios() []scenario {
	const cursors = "Clients MUST treat cursors as opaque tokens: Don't make assumptions about cursor format, Don't attempt to parse or modify cursors"
	odd := "eyJ8 ä+/=%20&?\\\"\u2028<>"
	return []scenario{
		{
			id: "C-PAGES", area: tools, title: "a list of three pages",
			checks: []check{
				must("C-UTIL-12/opaque", "the cursor comes back to the byte", spec("server/utilities/pagination#implementation-guidelines", cursors)),
				should("C-UTIL-12/follow", "every page is asked for", spec("server/utilities/pagination#implementation-guidelines", "Clients SHOULD: Treat a missing nextCursor as the end of results, Support both paginated and non-paginated flows")),
				should("C-TOOL-02/all", "the caller gets the tools of all pages, in order", spec("server/utilities/pagination#pagination-flow", "The client continues with the cursor until no nextCursor is returned")),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsList, pageOf(odd, "3"))
				t.do(listTools())
				sent := t.sent(mcp.MethodToolsList)
				if !t.needs(len(sent) > 0, "tools/list was not sent") {
					return
				}
				for _, m := range sent {
					if raw := m.param("cursor"); raw != nil && text(raw) != odd && text(raw) != "3" {
						t.check("C-UTIL-12/opaque", false, quote(odd), "%s", raw)
					}
				}
				if len(sent) > 1 {
					t.check("C-UTIL-12/opaque", true, "", "")
				}
				t.check("C-UTIL-12/follow", len(sent) >= 3, "3 pages", "%d", len(sent))
				t.told("C-TOOL-02/all", 0, lists("tool0", "tool1", "tool2"), "tool0, tool1, tool2")
			},
		},
		{
			id: "C-EMPTY-CURSOR", area: tools, title: "a cursor that is the empty string", since: mcp.Version2026_07_28,
			checks: []check{must("C-UTIL-13/empty", "an empty cursor is followed as any other", spec("server/utilities/pagination#implementation-guidelines", "an empty string is a valid cursor and thus MUST NOT be treated as the end of results"))},
			play: func(t *trial) {
				t.on(mcp.MethodToolsList, pageOf(""))
				t.do(listTools())
				sent := t.sent(mcp.MethodToolsList)
				if t.needs(len(sent) > 0, "tools/list was not sent") {
					followed := len(sent) > 1 && string(sent[1].param("cursor")) == `""`
					t.check("C-UTIL-13/empty", followed, `a second page with "cursor":""`, "%d requests", len(sent))
				}
			},
		},
		{
			id: "C-CURSOR-LOOP", area: tools, title: "a list that never ends",
			checks: []check{
				advised("C-UTIL-14/bounded", "a cursor that repeats ends the walk", row("UTIL-14")),
				advised("C-UTIL-14/ends", "the caller gets an answer", row("UTIL-14")),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsList, func(x *exchange) {
					if x.peer.next() > loopLimit {
						x.fail(jsonrpc.CodeInternalError, "enough", "")
						return
					}
					x.result(`"tools":[{"name":"echo","inputSchema":{"type":"object"}}],"nextCursor":"again"`)
				})
				t.do(listTools())
				sent := t.sent(mcp.MethodToolsList)
				if t.needs(len(sent) > 0, "tools/list was not sent") {
					t.check("C-UTIL-14/bounded", len(sent) < loopLimit, "an end", "%d requests and more", len(sent))
					t.told("C-UTIL-14/ends", 0, func(l Line) bool { return l.Outcome == OutcomeResult || l.Outcome == OutcomeError }, "a result or an error")
				}
			},
		},
	}
}

// loopLimit is how many pages a client may ask for before the suite calls it a
// loop: a list of as many differs from none in practice.
const loopLimit = 1100
