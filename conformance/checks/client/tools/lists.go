package tools

import (
	"fmt"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func lists() []trial.Scenario {
	return []trial.Scenario{
		{ID: "C-PAGES", Play: playPages},
		{ID: "C-EMPTY-CURSOR", Play: playEmptyCursor},
		{ID: "C-CURSOR-LOOP", Play: playCursorLoop},
	}
}

// pages answers tools/list with pages of one tool, and these cursors on all but the last.
func pages(cursors ...string) func(x *peer.Exchange) {
	return func(x *peer.Exchange) {
		page := 0
		if raw := x.Param("cursor"); raw != nil {
			page = slices.Index(cursors, rawjson.Text(raw)) + 1
			if page == 0 {
				x.Fail(jsonrpc.CodeInvalidParams, "no such cursor", "")
				return
			}
		}
		next := ""
		if page < len(cursors) {
			next = `,"nextCursor":` + peer.Quote(cursors[page])
		}
		x.Result(fmt.Sprintf(`"tools":[{"name":"tool%d","inputSchema":{"type":"object"}}]%s`, page, next))
	}
}

func playPages(t *trial.Trial) {
	const odd = "eyJ8 ä+/=%20&?\\\"\u2028<>"
	t.On(mcp.MethodToolsList, pages(odd, "3"))
	t.Do(trial.ListTools())
	sent := t.HasSent(mcp.MethodToolsList)
	if len(sent) == 0 {
		return
	}
	for _, m := range sent {
		if raw := m.Param("cursor"); raw != nil && rawjson.Text(raw) != odd && rawjson.Text(raw) != "3" {
			t.Check("C-UTIL-12/opaque", false, peer.Quote(odd), "%s", raw)
		}
	}
	if len(sent) > 1 {
		t.Check("C-UTIL-12/opaque", true, "", "")
	}
	t.Check("C-UTIL-12/follow", len(sent) >= 3, "3 pages", "%d", len(sent))
	t.Reported("C-TOOL-02/all", 0, trial.Want{Text: "tool0, tool1, tool2", Ok: func(l trial.Line) bool {
		return l.Outcome == trial.OutcomeResult && slices.Equal(l.Tools(), []string{"tool0", "tool1", "tool2"})
	}})
}

func playEmptyCursor(t *trial.Trial) {
	t.On(mcp.MethodToolsList, pages(""))
	t.Do(trial.ListTools())
	if sent := t.HasSent(mcp.MethodToolsList); len(sent) > 0 {
		followed := len(sent) > 1 && string(sent[1].Param("cursor")) == `""`
		t.Check("C-UTIL-13/empty", followed, `a second page with "cursor":""`, "%d requests", len(sent))
	}
}

// loopLimit is how many pages a client may request before the suite calls it a loop.
const loopLimit = 1100

func playCursorLoop(t *trial.Trial) {
	t.On(mcp.MethodToolsList, func(x *peer.Exchange) {
		if x.Peer.Next() > loopLimit {
			x.Fail(jsonrpc.CodeInternalError, "enough", "")
			return
		}
		x.Result(`"tools":[{"name":"echo","inputSchema":{"type":"object"}}],"nextCursor":"again"`)
	})
	t.Do(trial.ListTools())
	if sent := t.HasSent(mcp.MethodToolsList); len(sent) > 0 {
		t.Check("C-UTIL-14/bounded", len(sent) < loopLimit, "an end", "%d requests and more", len(sent))
		t.Reported("C-UTIL-14/ends", 0, trial.Want{Text: "a result or an error", Ok: func(l trial.Line) bool {
			return l.Outcome == trial.OutcomeResult || l.Outcome == trial.OutcomeError
		}})
	}
}
