// Package tools judges how a client calls and lists tools, and cancels calls.
package tools

import (
	_ "embed" // the file below
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

//go:embed scripts.txt
var scripts string

// Scenarios returns the scenarios of the area tools.
func Scenarios() []trial.Scenario {
	return trial.Join(trial.Scripts(scripts), []trial.Scenario{
		{ID: "C-CALL", Play: playCall},
		{ID: "C-CONCURRENT", Play: playConcurrent},
		{ID: "C-LARGE", Play: playLarge},
		{ID: "C-REF", Play: playRef},
		{ID: "C-DUPLICATE", Play: playDuplicate},
	}, lists(), cancels())
}

func playCall(t *trial.Trial) {
	const large = "9007199254740993" // 2^53 + 1
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		if x.Tool() == "write" {
			x.Result(`"content":[{"type":"text","text":"disk full"}],"isError":true`)
			return
		}
		x.Default()
	})
	arguments := `{"text":"grüße \u0000 <&>","n":` + large + `}`
	t.Do(trial.Call("echo", arguments), trial.Call("write", `{"text":"x"}`))
	echoed := "n " + large
	if calls := t.Called("echo"); len(calls) > 0 {
		got := calls[0].Param("arguments")
		n := string(peer.At(got, "n"))
		t.Check("C-TOOL-10/params", rawjson.Text(peer.At(got, "text")) == "grüße \u0000 <&>" && n != "", arguments, "%s", got)
		echoed = "n " + n // digits that the client lost are not in the answer
		t.Check("C-RPC-21/exact", n == large, large, "%s", n)
	}
	t.Reported("C-TOOL-12/result", 0, trial.Result(echoed))
	t.Reported("C-TOOL-12/is-error", 1, trial.Want{Text: "tool-error", Ok: func(l trial.Line) bool { return l.Outcome == trial.OutcomeToolError }})
}

// playConcurrent answers ten calls in another order, when all have arrived.
func playConcurrent(t *trial.Trial) {
	const n = 10
	var count atomic.Int64
	all := make(chan struct{})
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		if count.Add(1) == n {
			close(all)
		}
		var i int
		_ = json.Unmarshal(x.Param("arguments", "n"), &i) // no number: 0
		x.WaitFor(all, 2*time.Second)
		x.Hold(time.Duration(n-i) * 5 * time.Millisecond)
		x.Default()
	})
	step := trial.Call("echo", `{}`)
	step.Times = n
	t.Do(step)
	calls := t.Calls("echo")
	if !t.Needs(len(calls) > 1, "the calls were not made") {
		return
	}
	parallel := len(calls) >= n && !slices.ContainsFunc(calls[:n], func(m *peer.Message) bool { return m.Answered != 0 && m.Answered < calls[n-1].Seq })
	t.Check("C-RSL-09/parallel", parallel, "ten calls in flight", "%d calls, the first answered before the last was sent", len(calls))
	if lines := len(t.Step(0)); lines > 0 && lines != n {
		t.Check("C-RPC-06/each", false, "ten lines", "%d", lines)
		return
	}
	t.Reported("C-RPC-06/each", 0, trial.Want{Text: `the text "n N"`, Ok: func(l trial.Line) bool {
		return l.Outcome == trial.OutcomeResult && l.Text() == fmt.Sprint("n ", l.N)
	}})
}

func playLarge(t *trial.Trial) {
	large := strings.Repeat("0123456789abcdef", 128<<10)
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) { x.Text(large) })
	t.Do(trial.Call("echo", `{"text":"x"}`))
	t.Reported("C-STDIO-02/large", 0, trial.Want{Text: "2 MiB of text", Ok: func(l trial.Line) bool { return l.Text() == large }})
}

// playRef has a schema that refers to a server, which must not get a request.
func playRef(t *trial.Trial) {
	url, fetched, stop := t.Elsewhere()
	if url == "" {
		return
	}
	defer stop()
	t.Peer.Tools = `[{"name":"echo","inputSchema":{"type":"object","properties":{"text":{"$ref":"` + url + `"}}}}]`
	t.Do(trial.ListTools(), trial.Call("echo", `{"text":"x"}`))
	if len(t.HasSent(mcp.MethodToolsList)) > 0 {
		t.Check("C-TOOL-08/fetch", fetched() == "", "no request for the schema", "%s", fetched())
	}
}

// playDuplicate answers a call twice, and a third time during the next.
func playDuplicate(t *trial.Trial) {
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		x.Stream()
		if x.Tool() == "echo" {
			x.Send([]byte(peer.TextAnswer(x.ID(), "first")))
			x.Send([]byte(peer.TextAnswer(x.ID(), "second")))
			return
		}
		if calls := t.Calls("echo"); len(calls) > 0 {
			x.Send([]byte(peer.TextAnswer(calls[0].ID(), "stale")))
		}
		x.Hold(50 * time.Millisecond)
		x.Default()
	})
	t.Do(trial.Call("echo", `{}`), trial.Call("write", `{"text":"next"}`))
	t.Reported("C-RPC-18/first", 0, trial.Result("first"))
	t.Reported("C-RPC-18/next", 1, trial.Result("next"))
}
