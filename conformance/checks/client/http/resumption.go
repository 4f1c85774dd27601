package http

import (
	"net/http"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// resumption returns the scenarios of streams that end before the answer.
func resumption() []trial.Scenario {
	return []trial.Scenario{{ID: "C-RESUME", Play: playResume}, {ID: "C-POLL", Play: playPoll}}
}

const lastEventID = "Last-Event-Id"

// resumes has the client make a call whose stream ends after one event, broken if drop. It
// returns the calls and the requests that resume the stream; events answers those.
func resumes(t *trial.Trial, first string, drop bool, limit time.Duration, events func(last, callID string) string) (calls, resumed []*peer.Message) {
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		x.Stream()
		x.Bytes(first)
		if drop {
			x.Drop()
		}
	})
	t.Peer.Gate = func(x *peer.Exchange) bool {
		last, calls := x.Header.Get(lastEventID), t.Calls("echo")
		if x.Verb != http.MethodGet || last == "" || len(calls) == 0 {
			return false
		}
		x.Status(http.StatusOK, http.Header{"Content-Type": {peer.EventStream}}, events(last, calls[0].ID()))
		return true
	}
	t.Do(trial.Within(limit, trial.Call("echo", `{}`)))
	return t.Called("echo"), t.Messages(func(m *peer.Message) bool { return m.Verb == http.MethodGet && m.Header.Get(lastEventID) != "" })
}

func playResume(t *trial.Trial) {
	const retry = 400 * time.Millisecond
	calls, resumed := resumes(t, "id: stream-7\nretry: 400\ndata:\n\n", true, 5*time.Second, func(_, callID string) string {
		return "id: stream-8\ndata: {\"jsonrpc\":\"2.0\",\"id\":" + callID + `,"result":{"content":[{"type":"text","text":"resumed"}]}}` + "\n\n"
	})
	if len(calls) == 0 {
		return
	}
	t.Check("C-HTTP-23/once", len(calls) == 1, "one tools/call", "%d", len(calls))
	t.Reported("C-HTTP-23/result", 0, trial.Result("resumed"))
	if len(resumed) == 0 {
		t.Check("C-HTTP-23/resume", false, "GET with Last-Event-ID: stream-7", "no GET")
		t.Skip("C-HTTP-25/retry", "the client does not resume")
		return
	}
	last := resumed[0].Header.Get(lastEventID)
	t.Check("C-HTTP-23/resume", last == "stream-7", "Last-Event-ID: stream-7", "%s", last)
	wait := resumed[0].At - calls[0].At
	t.Check("C-HTTP-25/retry", wait >= retry-20*time.Millisecond, retry.String(), "%s", wait.Round(time.Millisecond))
}

// playPoll closes the stream twice.
func playPoll(t *trial.Trial) {
	calls, resumed := resumes(t, "id: p-1\nretry: 100\ndata:\n\n", false, 8*time.Second, func(last, callID string) string {
		if last == "p-2" {
			return "id: p-3\ndata: " + peer.TextAnswer(callID, "polled") + "\n\n"
		}
		return "id: p-2\nretry: 100\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"halfway\"}}\n\n"
	})
	if len(calls) == 0 {
		return
	}
	var ids []string
	for _, m := range resumed {
		ids = append(ids, m.Header.Get(lastEventID))
	}
	t.Check("C-HTTP-24/poll", slices.Contains(ids, "p-1"), "GET with Last-Event-ID: p-1", "%q", ids)
	t.Check("C-HTTP-24/again", slices.Contains(ids, "p-2"), "GET with Last-Event-ID: p-2", "%q", ids)
	t.Reported("C-HTTP-24/result", 0, trial.Result("polled"))
}
