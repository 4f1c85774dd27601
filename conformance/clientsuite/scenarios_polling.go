package clientsuite

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// pollingScenarios are long calls over HTTP whose stream is closed and taken up
// again, and names of headers.
func pollingScenarios() []scenario {
	poll := spec("basic/transports#sending-messages-to-the-server", "The client SHOULD then \"poll\" the SSE stream by attempting to reconnect.")
	return []scenario{
		{
			id: "C-POLL", area: httpArea, title: "the server closes the stream of a call twice, behind events with ids", transport: conformance.TransportHTTP,
			since: mcp.Version2025_11_25, until: mcp.LatestSession,
			checks: []check{
				should("C-HTTP-24/poll", "it is asked for again by GET, with the last id", poll).official("sse-retry"),
				should("C-HTTP-24/again", "and again, with the id that came last", poll).official("sse-retry"),
				should("C-HTTP-24/result", "the caller gets the result", poll).official("sse-retry"),
			},
			play: playPoll,
		},
		{
			id: "C-LOWER-CASE", area: httpArea, title: "the server writes the names of headers in small letters", transport: conformance.TransportHTTP, until: mcp.LatestSession,
			checks: []check{advised("C-HTTP-11/session", "the session id is found", row("HTTP-11"))},
			play: func(t *trial) {
				t.peer.lowerCase = true
				t.do(listTools())
				if listed := t.sent(mcp.MethodToolsList); t.needs(len(listed) > 0, "tools/list was not sent") {
					got := listed[0].header.Get(sessionHeader)
					t.check("C-HTTP-11/session", strings.HasPrefix(got, "session-"), "the session id", "%q", got)
				}
			},
		},
	}
}

func playPoll(t *trial) {
	t.on(mcp.MethodToolsCall, func(x *exchange) {
		x.way.stream()
		x.way.bytes("id: p-1\nretry: 100\ndata:\n\n") // and closes, as it should
	})
	t.peer.gate = func(x *exchange) bool {
		last, calls := x.header.Get("Last-Event-Id"), t.calls("echo")
		if x.verb != http.MethodGet || last == "" || len(calls) == 0 {
			return false
		}
		events := http.Header{"Content-Type": {eventStream}}
		if last == "p-2" {
			asked := exchange{message: calls[0]}
			x.way.status(http.StatusOK, events, "id: p-3\ndata: "+asked.answered("polled")+"\n\n")
		} else {
			x.way.status(http.StatusOK, events, "id: p-2\nretry: 100\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"halfway\"}}\n\n")
		}
		return true
	}
	t.do(call("echo", `{}`).within(8 * time.Second))
	if !t.needs(len(t.calls("echo")) > 0, "echo was not called") {
		return
	}
	var asked []string
	for _, m := range t.tape.all() {
		if id := m.header.Get("Last-Event-Id"); m.verb == http.MethodGet && id != "" {
			asked = append(asked, id)
		}
	}
	t.check("C-HTTP-24/poll", slices.Contains(asked, "p-1"), "GET with Last-Event-ID: p-1", "%q", asked)
	t.check("C-HTTP-24/again", slices.Contains(asked, "p-2"), "GET with Last-Event-ID: p-2", "%q", asked)
	t.told("C-HTTP-24/result", 0, says("polled"), wantsText("polled"))
}
