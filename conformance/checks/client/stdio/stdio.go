// Package stdio judges the lines of a client, and how it ends its server.
package stdio

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Scenarios returns the scenarios of the area stdio.
func Scenarios() []trial.Scenario {
	return []trial.Scenario{
		trial.Passive("C-LINES", trial.Rule{ID: "C-STDIO-01/lines", Want: "one JSON object to a line", Each: func(_ *trial.Trial, m *peer.Message) (bool, string) {
			if m.Err != nil {
				return true, m.Err.Error() + ": " + peer.Quote(string(m.Data[:min(len(m.Data), 60)]))
			}
			return true, ""
		}}),
		{ID: "C-SHUTDOWN", Play: func(t *trial.Trial) { playEnd(t, "") }},
		{ID: "C-STUBBORN", Play: func(t *trial.Trial) {
			t.Stubborn = true
			playEnd(t, "stubborn-")
		}},
		{ID: "C-NOISE", Play: playNoise},
	}
}

// playEnd judges how the client ends its server, and itself.
func playEnd(t *trial.Trial, prefix string) {
	t.Do(trial.Call("echo", `{}`))
	started, eof, signaled := false, 0, 0
	for _, e := range t.Tape.ProcessEvents() {
		switch e.What {
		case "start":
			started, eof, signaled = true, 0, 0
		case "eof":
			eof = e.Seq
		case "gone":
			if eof == 0 && signaled == 0 {
				signaled = e.Seq // killed before anything else
			}
		default:
			if signaled == 0 {
				signaled = e.Seq
			}
		}
	}
	if !t.Needs(started, "the client did not start its server") {
		return
	}
	t.Check("C-STDIO-06/"+prefix+"eof", eof != 0 && (signaled == 0 || eof < signaled), "stdin closed before a signal",
		map[bool]string{true: "stdin was not closed", false: "a signal came first"}[eof == 0])
	t.Check("C-STDIO-06/"+prefix+"ends", t.Ended != 0, "the client exits", "it had to be killed")
	if t.Needs(t.Ended != 0, "the client did not exit") {
		t.Check("C-STDIO-06/"+prefix+"left", t.Left == 0, "no process", "%d", t.Left)
	}
}

// playNoise writes other text to stdout and stderr.
func playNoise(t *trial.Trial) {
	processes := make(chan *peer.Process, 8)
	t.Started = func(p *peer.Process) { processes <- p }
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		switch rawjson.Text(x.Param("arguments", "text")) {
		case "banner":
			x.Bytes("Starting server v1.0 ...\n{not json}\n")
			x.Default()
		case "lines":
			x.Bytes("\n\r\n" + peer.TextAnswer(x.ID(), "lines") + "\r\n")
		default:
			select {
			case p := <-processes:
				p.Stderr([]byte(strings.Repeat(strings.Repeat("e", 1023)+"\n", 1024)))
			default:
			}
			x.Default()
		}
	})
	t.Do(trial.Call("echo", `{"text":"banner"}`), trial.Call("echo", `{"text":"lines"}`), trial.Call("echo", `{"text":"loud"}`))
	t.Reported("C-STDIO-03/skipped", 0, trial.Result("banner"))
	t.Reported("C-STDIO-02/line-ends", 1, trial.Result("lines"))
	t.Reported("C-STDIO-04/drained", 2, trial.Result("loud"))
}
