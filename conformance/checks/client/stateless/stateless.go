// Package stateless judges what only the stateless era has: versions in every request,
// rounds, and tasks.
package stateless

import (
	_ "embed" // the file below
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

//go:embed scripts.txt
var scripts string

// Scenarios returns the scenarios of the area stateless, without those of subscriptions.
func Scenarios() []trial.Scenario {
	return trial.Join(trial.Scripts(scripts), []trial.Scenario{
		{ID: "C-REJECTED-ONCE", Play: playRejectedOnce},
		{ID: "C-REJECTED-ALWAYS", Play: playRejectedAlways},
		{ID: "C-DISCOVER", Play: playDiscover},
		{ID: "C-CAPABILITY-MISSING", Play: playCapabilityMissing},
	}, rounds(), tasks())
}

// rejectVersion refuses a request for its version, and lists the revision of the client.
func rejectVersion(x *peer.Exchange) {
	x.Fail(mcp.CodeUnsupportedProtocolVersion, "Unsupported protocol version", fmt.Sprintf(`{"supported":[%q],"requested":"1900-01-01"}`, x.Peer.Revision))
}

func playRejectedOnce(t *trial.Trial) {
	t.Peer.Gate = func(x *peer.Exchange) bool {
		if !x.IsRequest() || x.Method() == mcp.MethodInitialize || x.Peer.Next() > 1 {
			return false
		}
		rejectVersion(x)
		return true
	}
	t.Do(trial.ListTools(), trial.Call("echo", `{"text":"after all"}`))
	requests := t.Messages((*peer.Message).IsRequest)
	if !t.Needs(len(requests) > 0, "no request was sent") {
		return
	}
	t.Reported("C-DISC-07/result", 1, trial.Result("after all"))
	first := requests[0]
	if len(requests) == 1 {
		t.Check("C-DISC-07/again", false, first.Method()+" again", "nothing")
		return
	}
	again := requests[1]
	same := again.Method() == first.Method() && rawjson.Text(again.Param("_meta", mcp.MetaProtocolVersion)) == string(t.Revision)
	t.Check("C-DISC-07/again", same, first.Method()+" with "+string(t.Revision), "%s", again.Data)
	t.Check("C-DISC-07/new-id", again.ID() != first.ID(), "another id", "%s again", again.ID())
}

func playRejectedAlways(t *trial.Trial) {
	t.Peer.Gate = func(x *peer.Exchange) bool {
		if x.IsRequest() {
			rejectVersion(x)
		}
		return x.IsRequest()
	}
	t.Do(trial.Call("echo", `{}`))
	n := len(t.RequestsAfter(0))
	if t.Needs(n > 0, "no request was sent") {
		t.Check("C-DISC-07/bounded", n <= 8, "at most 8 requests", "%d", n)
		t.Reported("C-DISC-07/told", 0, trial.Failed("an error"))
	}
}

func playDiscover(t *trial.Trial) {
	t.On(mcp.MethodDiscover, func(x *peer.Exchange) { x.Discovered("2099-01-01", string(t.Revision), "1999-01-01") })
	t.Do(trial.Call("echo", `{}`))
	if calls := t.Called("echo"); len(calls) > 0 {
		got := rawjson.Text(calls[0].Param("_meta", mcp.MetaProtocolVersion))
		t.Check("C-DISC-04/mutual", got == string(t.Revision), string(t.Revision), "%s", got)
	}
}

func playCapabilityMissing(t *trial.Trial) {
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		x.Fail(mcp.CodeMissingRequiredClientCapability, "Missing capability", `{"requiredCapabilities":{"sampling":{}}}`)
	})
	t.Do(trial.Call("echo", `{}`))
	calls := t.Called("echo")
	if len(calls) == 0 {
		return
	}
	declared := func(m *peer.Message) string { return peer.OrNull(m.Param("_meta", mcp.MetaClientCapabilities)) }
	first, last := declared(calls[0]), declared(calls[len(calls)-1])
	t.Check("C-DISC-09/widen", strings.Contains(first, "sampling") || !strings.Contains(last, "sampling"), first, "%s", last)
	t.Reported("C-DISC-09/told", 0, trial.ErrorCode(mcp.CodeMissingRequiredClientCapability))
}
