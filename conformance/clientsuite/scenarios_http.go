package clientsuite

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// httpScenarios are how servers answer over HTTP.
func httpScenarios() []scenario {
	sending := "basic/transports#sending-messages-to-the-server"
	both := spec(sending, "Content-Type: text/event-stream, to initiate an SSE stream, or Content-Type: application/json, to return one JSON object. The client MUST support both these cases.")
	modern := spec("basic/transports/streamable-http#sending-messages", "The client MUST support both.")
	events := spec(sending, "The server MAY send JSON-RPC requests and notifications before sending the JSON-RPC response.")
	all := []scenario{
		{
			id: "C-EVENTS", area: httpArea, title: "the answer comes as an event stream with everything such a stream may have",
			checks: []check{
				must("C-HTTP-03/stream", "an event stream with one event is read", both).or(modern),
				must("C-SSE-01/format", "comments, CR LF, several data lines, no space behind the colon and unknown fields are read as the standard has them", both).or(modern),
				must("C-SSE-04/priming", "an event without data is not a message", spec(sending, "The server SHOULD immediately send an SSE event consisting of an event ID and an empty data field in order to prime the client to reconnect")).or(modern),
				advised("C-SSE-03/other", "events of other names are ignored", row("SSE-03")),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					id, head := x.id(), `{"jsonrpc":"2.0","id":`
					tail := func(s string) string {
						return `"result":{"resultType":"complete","content":[{"type":"text","text":"` + s + `"}]}}`
					}
					x.way.stream()
					switch x.peer.next() {
					case 1 + t.sessionsGiven():
						x.way.bytes("data: " + head + id + "," + tail("plain") + "\n\n")
					case 2 + t.sessionsGiven():
						x.way.bytes(": comment\r\n\r\nretry: 100\r\nx: y\r\ndata:" + head + "\r\ndata:" + id + ",\r\ndata: " + tail("odd") + "\r\n\r\n")
					case 3 + t.sessionsGiven():
						x.way.bytes("id: 1\ndata:\n\n" + "id: 2\ndata: " + head + id + "," + tail("primed") + "\n\n")
					default:
						x.way.bytes("event: ping\ndata: nonsense\n\ndata: " + head + id + "," + tail("named") + "\n\n")
					}
				})
				t.do(call("echo", `{}`), call("echo", `{}`), call("echo", `{}`), call("echo", `{}`))
				for i, c := range []struct{ id, text string }{
					{"C-HTTP-03/stream", "plain"}, {"C-SSE-01/format", "odd"}, {"C-SSE-04/priming", "primed"}, {"C-SSE-03/other", "named"},
				} {
					t.told(c.id, i, says(c.text), wantsText(c.text))
				}
			},
		},
		{
			id: "C-CONTENT-TYPE", area: httpArea, title: "a Content-Type with a parameter, in capitals",
			checks: []check{must("C-HTTP-03/parameters", "it is JSON all the same", both).or(modern)},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.way.status(http.StatusOK, http.Header{"Content-Type": {"Application/JSON; Charset=UTF-8"}},
						`{"jsonrpc":"2.0","id":`+x.id()+`,"result":{"resultType":"complete","content":[{"type":"text","text":"json"}]}}`)
				})
				t.do(call("echo", `{}`))
				t.told("C-HTTP-03/parameters", 0, says("json"), wantsText("json"))
			},
		},
		{
			id: "C-ERROR-STATUS", area: httpArea, title: "an error of the server with the status 400",
			checks: []check{advised("C-HTTP-06/body", "the caller gets the error of the body", row("HTTP-06"))},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.way.status(http.StatusBadRequest, http.Header{"Content-Type": {jsonBody}}, `{"jsonrpc":"2.0","id":`+x.id()+`,"error":{"code":-32602,"message":"bad arguments"}}`)
				})
				t.do(call("echo", `{}`))
				t.told("C-HTTP-06/body", 0, func(l Line) bool { return l.Code == jsonrpc.CodeInvalidParams }, "error -32602")
			},
		},
		{
			id: "C-REDIRECT", area: httpArea, title: "the server redirects to another host",
			checks: []check{advised("C-HTTP-07/foreign", "nothing is sent there", row("HTTP-07"))},
			play: func(t *trial) {
				other, asked := t.elsewhere()
				if other == nil {
					return
				}
				defer other.close()
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.way.status(http.StatusTemporaryRedirect, http.Header{"Location": {other.url}}, "")
				})
				t.do(call("echo", `{}`).within(3 * time.Second))
				if t.needs(len(t.calls("echo")) > 0, "echo was not called") {
					t.check("C-HTTP-07/foreign", asked() == "", "no request", "%s", asked())
				}
			},
		},
		{
			id: "C-RETRY-AFTER", area: httpArea, title: "the server asks to wait for a second",
			checks: []check{
				advised("C-HTTP-10/waits", "nothing is sent sooner", row("HTTP-10")),
				advised("C-HTTP-10/bounded", "the call is not sent again and again", row("RSL-08")),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.way.status(http.StatusTooManyRequests, http.Header{"Retry-After": {"1"}}, "")
				})
				t.do(call("echo", `{}`).within(3 * time.Second))
				calls := t.calls("echo")
				if !t.needs(len(calls) > 0, "echo was not called") {
					return
				}
				if len(calls) > 1 {
					wait := calls[1].at - calls[0].at
					t.check("C-HTTP-10/waits", wait >= 950*time.Millisecond, "1 s", "%s", wait.Round(time.Millisecond))
				} else {
					t.check("C-HTTP-10/waits", true, "", "")
				}
				t.check("C-HTTP-10/bounded", len(calls) <= 5, "at most 5 requests", "%d", len(calls))
			},
		},
		{
			id: "C-NO-SESSION-ID", area: httpArea, title: "a server that gives no session id", until: mcp.LatestSession,
			checks: []check{must("C-HTTP-13/none", "none is sent", spec("basic/transports#session-management", "If an MCP-Session-Id is returned by the server during initialization, clients … MUST include it"))},
			play: func(t *trial) {
				t.peer.sessions = false
				t.do(listTools())
				listed := t.sent(mcp.MethodToolsList)
				if t.needs(len(listed) > 0, "tools/list was not sent") {
					t.check("C-HTTP-13/none", listed[0].header.Get(sessionHeader) == "", "no session id", "%s", listed[0].header.Get(sessionHeader))
				}
			},
		},
		{
			id: "C-ACCEPTED", area: httpArea, title: "notifications are answered with 200 and a body", until: mcp.LatestSession,
			checks: []check{advised("C-HTTP-04/status", "the client goes on", row("HTTP-04"))},
			play: func(t *trial) {
				t.on(mcp.MethodInitialized, func(x *exchange) {
					x.way.status(http.StatusOK, http.Header{"Content-Type": {jsonBody}}, "{}")
				})
				t.do(call("echo", `{"text":"on"}`))
				if t.needs(len(t.sent(mcp.MethodInitialized)) > 0, "notifications/initialized was not sent") {
					t.check("C-HTTP-04/status", len(t.calls("echo")) > 0, "tools/call", "nothing")
				}
			},
		},
		{
			id: "C-SESSION-LOST", area: httpArea, title: "the session is gone: 404", until: mcp.LatestSession,
			checks: []check{
				must("C-HTTP-16/initialize", "a new session is opened, without a session id", spec("basic/transports#session-management", "When a client receives HTTP 404 in response to a request containing an MCP-Session-Id, it MUST start a new session by sending a new InitializeRequest without a session ID attached.")),
				advised("C-HTTP-16/single", "it is opened once, however many calls met the 404", row("HTTP-16")),
				advised("C-HTTP-16/served", "the next calls are served", row("HTTP-16")),
			},
			play: playSessionLost,
		},
		{
			id: "C-RESUME", area: httpArea, title: "the stream of a call breaks off behind an event with an id", until: mcp.LatestSession,
			checks: []check{
				should("C-HTTP-23/resume", "it is resumed by GET with Last-Event-ID", spec("basic/transports#resumability-and-redelivery", "it SHOULD issue an HTTP GET to the MCP endpoint, and include the Last-Event-ID header to indicate the last event ID it received.")).official("sse-retry"),
				must("C-HTTP-25/retry", "not before the time that retry asked for", spec(sending, "The client MUST respect the retry field, waiting the given number of milliseconds before attempting to reconnect.")).from(mcp.Version2025_11_25).official("sse-retry"),
				advised("C-HTTP-23/once", "the call is not sent again", row("RSL-04")),
				should("C-HTTP-23/result", "the caller gets the result", spec("basic/transports#resumability-and-redelivery", "it SHOULD issue an HTTP GET to the MCP endpoint")),
			},
			play: playResume,
		},
		{
			id: "C-NO-GET", area: httpArea, title: "the server offers no stream: 405", until: mcp.LatestSession,
			checks: []check{advised("C-HTTP-19/405", "GET is not tried again and again", row("HTTP-19"))},
			play: func(t *trial) {
				t.do(call("echo", `{}`), call("echo", `{}`), call("echo", `{}`))
				if t.needs(len(t.calls("echo")) > 0, "echo was not called") {
					gets := 0
					for _, m := range t.tape.all() {
						if m.verb == http.MethodGet {
							gets++
						}
					}
					t.check("C-HTTP-19/405", gets <= 2, "at most two", "%d", gets)
				}
			},
		},
		{
			id: "C-DROPPED", area: httpArea, title: "the stream of a call breaks off without an id",
			checks: []check{
				advised("C-RSL-03/once", "a call that may have run is not sent again", row("RSL-03")),
				must("C-RSL-03/told", "the caller is told that there is no result", events),
			},
			play: func(t *trial) {
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.way.stream()
					x.way.bytes(": working\n\n")
					x.way.drop()
				})
				t.do(call("write", `{"text":"pay"}`).within(3 * time.Second))
				if n := len(t.calls("write")); t.needs(n > 0, "write was not called") {
					t.check("C-RSL-03/once", n == 1, "one tools/call", "%d", n)
					t.told("C-RSL-03/told", 0, Line.failed, "no result")
				}
			},
		},
	}
	for i := range all {
		all[i].transport = conformance.TransportHTTP
	}
	return all
}

// sessionsGiven is how often the peer counted before the first call: once for the
// session id of the session era.
func (r *run) sessionsGiven() int {
	if r.rev.stateless() || !r.peer.sessions {
		return 0
	}
	return 1
}

func playSessionLost(t *trial) {
	var lost atomic.Bool
	t.peer.gate = func(x *exchange) bool {
		calling := x.method() == mcp.MethodToolsCall
		if x.header.Get(sessionHeader) != "session-1~!" || !calling && !lost.Load() {
			return false
		}
		lost.Store(true)
		if calling {
			x.hold(100 * time.Millisecond) // so that all of them meet it
		}
		x.way.status(http.StatusNotFound, nil, "")
		return true
	}
	step := call("echo", `{}`)
	step.Times = 5
	t.do(step, call("echo", `{"text":"again"}`))
	if !t.needs(len(t.calls("echo")) > 0, "echo was not called") {
		return
	}
	opened := t.sent(mcp.MethodInitialize)
	if len(opened) < 2 {
		t.check("C-HTTP-16/initialize", false, "a second initialize", "none")
	} else {
		t.check("C-HTTP-16/initialize", opened[1].header.Get(sessionHeader) == "", "initialize without a session id", "%s", opened[1].header.Get(sessionHeader))
		t.check("C-HTTP-16/single", len(opened) == 2, "one more initialize", "%d more", len(opened)-1)
	}
	t.told("C-HTTP-16/served", 1, says("again"), wantsText("again"))
}

func playResume(t *trial) {
	const retry = 400 * time.Millisecond
	t.on(mcp.MethodToolsCall, func(x *exchange) {
		x.way.stream()
		x.way.bytes(fmt.Sprintf("id: stream-7\nretry: %d\ndata:\n\n", retry.Milliseconds()))
		x.way.drop()
	})
	t.peer.gate = func(x *exchange) bool {
		if x.verb != http.MethodGet || x.header.Get("Last-Event-Id") == "" {
			return false
		}
		calls := t.calls("echo")
		if len(calls) == 0 {
			return false
		}
		x.way.status(http.StatusOK, http.Header{"Content-Type": {eventStream}},
			"id: stream-8\ndata: {\"jsonrpc\":\"2.0\",\"id\":"+calls[0].id()+`,"result":{"content":[{"type":"text","text":"resumed"}]}}`+"\n\n")
		return true
	}
	t.do(call("echo", `{}`).within(5 * time.Second))
	calls := t.calls("echo")
	if !t.needs(len(calls) > 0, "echo was not called") {
		return
	}
	var resumed *message
	for _, m := range t.tape.all() {
		if m.verb == http.MethodGet && m.header.Get("Last-Event-Id") != "" {
			resumed = m
			break
		}
	}
	t.check("C-HTTP-23/once", len(calls) == 1, "one tools/call", "%d", len(calls))
	t.told("C-HTTP-23/result", 0, says("resumed"), wantsText("resumed"))
	if resumed == nil {
		t.check("C-HTTP-23/resume", false, "GET with Last-Event-ID: stream-7", "no GET")
		t.skip("C-HTTP-25/retry", conformance.SkipNotDeclared, "the client does not resume")
		return
	}
	t.check("C-HTTP-23/resume", resumed.header.Get("Last-Event-Id") == "stream-7", "Last-Event-ID: stream-7", "%s", resumed.header.Get("Last-Event-Id"))
	wait := resumed.at - calls[0].at
	t.check("C-HTTP-25/retry", wait >= retry-20*time.Millisecond, retry.String(), "%s", wait.Round(time.Millisecond))
}
