package clientsuite

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

const stdioArea = "stdio"

// stdioScenarios are the lines and the process of a stdio server.
func stdioScenarios() []scenario {
	shutdown := spec("basic/lifecycle#stdio", "the client SHOULD initiate shutdown by: First, closing the input stream to the child process (the server)")
	modern := spec("basic/transports/stdio#shutdown", "The client SHOULD initiate shutdown by: Closing the input stream to the child process (the server)")
	kill := spec("basic/lifecycle#stdio", "Sending SIGKILL if the server does not exit within a reasonable time after SIGTERM")
	all := []scenario{
		observed(scenario{id: "C-LINES", area: stdioArea, title: "every line the client wrote"}, []seenCheck{{
			must("C-STDIO-01/lines", "every line is a message", spec("basic/transports#stdio", "The client MUST NOT write anything to the server's stdin that is not a valid MCP message.")).
				or(spec("basic/transports/stdio", "The client MUST NOT write anything to the server's stdin that is not a valid MCP message.")),
			"one JSON object to a line", each(func(_ *trial, m *message) (bool, string) {
				if m.err != nil {
					return true, m.err.Error() + ": " + quote(string(m.data[:min(len(m.data), 60)]))
				}
				return true, ""
			}),
		}}),
		{
			id: "C-SHUTDOWN", area: stdioArea, title: "the client closes",
			checks: []check{
				should("C-STDIO-06/eof", "the server's stdin is closed first", shutdown).or(modern),
				should("C-STDIO-06/left", "no process of the server is left", kill).or(modern),
				should("C-STDIO-06/ends", "the client ends", shutdown).or(modern),
			},
			play: func(t *trial) {
				t.do(call("echo", `{}`))
				t.judgeEnd("C-STDIO-06/eof", "C-STDIO-06/left", "C-STDIO-06/ends")
			},
		},
		{
			id: "C-STUBBORN", area: stdioArea, title: "the client closes, and the server ends neither by that nor when told",
			checks: []check{
				should("C-STDIO-06/stubborn-eof", "its stdin is closed first, and it has time to end", shutdown).or(modern),
				should("C-STDIO-06/stubborn-left", "it is killed in the end", kill).or(modern),
				should("C-STDIO-06/stubborn-ends", "the client ends", shutdown).or(modern),
			},
			play: func(t *trial) {
				t.stubborn = true
				t.do(call("echo", `{}`))
				t.judgeEnd("C-STDIO-06/stubborn-eof", "C-STDIO-06/stubborn-left", "C-STDIO-06/stubborn-ends")
			},
		},
		{
			id: "C-NOISE", area: stdioArea, title: "the server writes to stdout and stderr what is no message",
			checks: []check{
				advised("C-STDIO-03/skipped", "what is no message on stdout is skipped", row("STDIO-03")),
				advised("C-STDIO-02/line-ends", "CR LF and blank lines are read", row("STDIO-02")),
				should("C-STDIO-04/drained", "a megabyte on stderr holds nothing up", spec("basic/transports#stdio", "The client MAY capture, forward, or ignore the server's stderr output and SHOULD NOT assume stderr output indicates error conditions.")).
					or(spec("basic/transports/stdio", "SHOULD NOT assume stderr output indicates error conditions.")),
			},
			play: func(t *trial) {
				processes := make(chan *process, 8)
				t.started = func(c *process) { processes <- c }
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					switch text(x.param("arguments", "text")) {
					case "banner":
						x.way.bytes("Starting server v1.0 ...\n{not json}\n")
						x.good()
					case "lines":
						x.way.bytes("\n\r\n" + `{"jsonrpc":"2.0","id":` + x.id() + `,"result":{"resultType":"complete","content":[{"type":"text","text":"lines"}]}}` + "\r\n")
					default:
						select {
						case c := <-processes:
							c.stderr([]byte(strings.Repeat(strings.Repeat("e", 1023)+"\n", 1024)))
						default:
						}
						x.good()
					}
				})
				t.do(call("echo", `{"text":"banner"}`), call("echo", `{"text":"lines"}`), call("echo", `{"text":"loud"}`))
				t.told("C-STDIO-03/skipped", 0, says("banner"), wantsText("banner"))
				t.told("C-STDIO-02/line-ends", 1, says("lines"), wantsText("lines"))
				t.told("C-STDIO-04/drained", 2, says("loud"), wantsText("loud"))
			},
		},
	}
	for i := range all {
		all[i].transport = conformance.TransportStdio
	}
	return all
}

// judgeEnd judges how the client ended its server, and itself.
func (t *trial) judgeEnd(first, left, ends string) {
	started, eof, signaled := false, 0, 0
	for _, e := range t.tape.happenings() {
		switch e.what {
		case "start":
			started, eof, signaled = true, 0, 0
		case "eof":
			eof = e.seq
		case "gone":
			if eof == 0 && signaled == 0 {
				signaled = e.seq // killed before anything else
			}
		default:
			if signaled == 0 {
				signaled = e.seq
			}
		}
	}
	if !t.needs(started, "the client did not start its server") {
		return
	}
	t.check(first, eof != 0 && (signaled == 0 || eof < signaled), "stdin closed before a signal", map[bool]string{true: "stdin was not closed", false: "a signal came first"}[eof == 0])
	t.check(ends, t.over != 0, "the client ends by itself", "it had to be killed")
	if t.needs(t.over != 0, "the client did not end") {
		t.check(left, t.left == 0, "no process", "%d", t.left)
	}
}
