package tools

import (
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// cancels returns the scenarios of calls that the caller gives up.
func cancels() []trial.Scenario {
	return []trial.Scenario{
		givesUp("C-CANCEL", trial.Step{CancelAfterMs: 200}, "C-UTIL-03/canceled", "C-UTIL-03/told", "C-UTIL-07/late"),
		givesUp("C-DEADLINE", trial.Step{DeadlineMs: 300}, "C-LC-15/canceled", "C-LC-15/told", "C-LC-15/next"),
		{ID: "C-CANCEL-STREAM", Play: func(t *trial.Trial) {
			if m := giveUp(t, trial.Step{CancelAfterMs: 200}); m != nil {
				sent := t.Sent(mcp.MethodCancelled)
				t.Check("C-HTTP-34/close", m.Left != 0, "the stream is closed", "it was read to its end")
				t.Check("C-HTTP-34/quiet", len(sent) == 0, "no notifications/cancelled", "%s", trial.Contents(sent))
			}
		}},
		{ID: "C-CANCEL-LINE", Play: func(t *trial.Trial) {
			if m := giveUp(t, trial.Step{CancelAfterMs: 200}); m != nil {
				t.Check("C-STDIO-11/canceled", t.Cancels(m), "notifications/cancelled for "+m.ID(), "%s", trial.Contents(t.Sent(mcp.MethodCancelled)))
			}
		}},
	}
}

// givesUp judges a call that step gives up: what the server and the caller get, and the
// next call.
func givesUp(id string, step trial.Step, server, caller, next string) trial.Scenario {
	return trial.Scenario{ID: id, Play: func(t *trial.Trial) {
		m := giveUp(t, step)
		if m == nil {
			return
		}
		t.Check(server, t.Cancels(m), "the call is cancelled", "%s; the stream was left: %t", trial.Contents(t.Sent(mcp.MethodCancelled)), m.Left != 0)
		t.Reported(caller, 0, trial.Failed("no result, and no wait for one"))
		t.Reported(next, 1, trial.Result("next"))
	}}
}

// giveUp has the client make a call that is answered too late, and another one. It returns
// the first, nil if there is none.
func giveUp(t *trial.Trial, step trial.Step) *peer.Message {
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		if x.Tool() != "echo" {
			x.Hold(300 * time.Millisecond) // by then the client gave up the first
			x.Default()
			return
		}
		x.Stream()
		x.Hold(1500 * time.Millisecond)
		x.Default() // too late
	})
	late := trial.Call("echo", `{"text":"late"}`)
	late.CancelAfterMs, late.DeadlineMs = step.CancelAfterMs, step.DeadlineMs
	t.Do(late, trial.Call("write", `{"text":"next"}`))
	calls, next := t.Called("echo"), t.Calls("write")
	if len(calls) == 0 {
		return nil
	}
	// A client that exits leaves every stream, which cancels nothing.
	if len(next) > 0 && calls[0].Left > next[0].Answered {
		calls[0].Left = 0
	}
	return calls[0]
}
