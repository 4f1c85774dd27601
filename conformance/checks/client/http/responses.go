package http

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// responses returns the scenarios of what a server answers over HTTP.
func responses() []trial.Scenario {
	return []trial.Scenario{
		{ID: "C-EVENTS", Play: playEvents},
		{ID: "C-REDIRECT", Play: playRedirect},
		{ID: "C-RETRY-AFTER", Play: playRetryAfter},
		{ID: "C-SESSION-LOST", Play: playSessionLost},
		{ID: "C-NO-GET", Play: playNoGet},
		{ID: "C-LOWER-CASE", Play: playLowerCase},
	}
}

// playEvents answers four calls with event streams of different forms.
func playEvents(t *trial.Trial) {
	const head = `{"jsonrpc":"2.0","id":`
	tail := func(s string) string {
		return `"result":{"resultType":"complete","content":[{"type":"text","text":"` + s + `"}]}}`
	}
	forms := []struct {
		id, text string
		events   func(id string) string
	}{
		{"C-HTTP-03/stream", "plain", func(id string) string { return "data: " + head + id + "," + tail("plain") + "\n\n" }},
		{"C-SSE-01/format", "odd", func(id string) string {
			return ": comment\r\n\r\nretry: 100\r\nx: y\r\ndata:" + head + "\r\ndata:" + id + ",\r\ndata: " + tail("odd") + "\r\n\r\n"
		}},
		{"C-SSE-04/priming", "primed", func(id string) string {
			return "id: 1\ndata:\n\nid: 2\ndata: " + head + id + "," + tail("primed") + "\n\n"
		}},
		{"C-SSE-03/other", "named", func(id string) string {
			return "event: ping\ndata: nonsense\n\ndata: " + head + id + "," + tail("named") + "\n\n"
		}},
	}
	var calls atomic.Int64
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		n := calls.Add(1)
		x.Stream()
		x.Bytes(forms[min(int(n), len(forms))-1].events(x.ID()))
	})
	echo := trial.Call("echo", `{}`)
	t.Do(echo, echo, echo, echo)
	for i, f := range forms {
		t.Reported(f.id, i, trial.Result(f.text))
	}
}

// playRedirect redirects a call to another host, which must not get a request.
func playRedirect(t *trial.Trial) {
	url, asked, stop := t.Elsewhere()
	if url == "" {
		return
	}
	defer stop()
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		x.Status(http.StatusTemporaryRedirect, http.Header{"Location": {url}}, "")
	})
	t.Do(trial.Within(3*time.Second, trial.Call("echo", `{}`)))
	if len(t.Called("echo")) > 0 {
		t.Check("C-HTTP-07/foreign", asked() == "", "no request", "%s", asked())
	}
}

func playRetryAfter(t *trial.Trial) {
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		x.Status(http.StatusTooManyRequests, http.Header{"Retry-After": {"1"}}, "")
	})
	t.Do(trial.Within(3*time.Second, trial.Call("echo", `{}`)))
	calls := t.Called("echo")
	if len(calls) == 0 {
		return
	}
	wait := time.Hour
	if len(calls) > 1 {
		wait = calls[1].At - calls[0].At
	}
	t.Check("C-HTTP-10/waits", wait >= 950*time.Millisecond, "1 s", "%s", wait.Round(time.Millisecond))
	t.Check("C-HTTP-10/bounded", len(calls) <= 5, "at most 5 requests", "%d", len(calls))
}

// playSessionLost answers five calls with 404, and the next with its result.
func playSessionLost(t *trial.Trial) {
	var lost atomic.Bool
	t.Peer.Gate = func(x *peer.Exchange) bool {
		calling := x.Method() == mcp.MethodToolsCall
		if x.Header.Get(peer.SessionHeader) != "session-1~!" || !calling && !lost.Load() {
			return false
		}
		lost.Store(true)
		if calling {
			x.Hold(100 * time.Millisecond) // so that all of them get it
		}
		x.Status(http.StatusNotFound, nil, "")
		return true
	}
	step := trial.Call("echo", `{}`)
	step.Times = 5
	t.Do(step, trial.Call("echo", `{"text":"again"}`))
	if len(t.Called("echo")) == 0 {
		return
	}
	opened := t.Sent(mcp.MethodInitialize)
	if len(opened) < 2 {
		t.Check("C-HTTP-16/initialize", false, "a second initialize", "none")
	} else {
		t.Check("C-HTTP-16/initialize", opened[1].Header.Get(peer.SessionHeader) == "", "initialize without a session id", "%s", opened[1].Header.Get(peer.SessionHeader))
		t.Check("C-HTTP-16/single", len(opened) == 2, "one more initialize", "%d more", len(opened)-1)
	}
	t.Reported("C-HTTP-16/served", 1, trial.Result("again"))
}

func playNoGet(t *trial.Trial) {
	echo := trial.Call("echo", `{}`)
	t.Do(echo, echo, echo)
	if len(t.Called("echo")) > 0 {
		gets := t.Messages(func(m *peer.Message) bool { return m.Verb == http.MethodGet })
		t.Check("C-HTTP-19/405", len(gets) <= 2, "at most two", "%d", len(gets))
	}
}

func playLowerCase(t *trial.Trial) {
	t.Peer.LowerCase = true
	t.Do(trial.ListTools())
	if listed := t.HasSent(mcp.MethodToolsList); len(listed) > 0 {
		got := listed[0].Header.Get(peer.SessionHeader)
		t.Check("C-HTTP-11/session", strings.HasPrefix(got, "session-"), "the session id", "%q", got)
	}
}
