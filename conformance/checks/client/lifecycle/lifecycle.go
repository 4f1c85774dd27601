// Package lifecycle judges how a client opens a session, finds the era of a server, and
// answers what the server sends.
package lifecycle

import (
	_ "embed" // the file below
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

//go:embed scripts.txt
var scripts string

// Scenarios returns the scenarios of the areas lifecycle and negotiation.
func Scenarios() []trial.Scenario {
	return trial.Join(trial.Scripts(scripts), []trial.Scenario{
		{ID: "C-SPOKEN", Judge: judgeSpoken},
		{ID: "C-HANDSHAKE", Play: playHandshake},
	}, negotiation())
}

// judgeSpoken judges the first run of the client, its introduction. No rule forbids to speak
// other revisions, so what is found is no failure, but the client is not judged as if it
// spoke this one.
func judgeSpoken(t *trial.Trial, all []*trial.Trial) {
	const id = "C-LC-02/spoken"
	if !t.Needs(len(all) > 0, "the client was not started") {
		return
	}
	first := all[0]
	older := first.OldOffer()
	switch other := first.Unspoken(); {
	case other != "":
		t.Needs(false, other)
	case t.Setting.Asked && older != "":
		t.Needs(false, "it offers "+older+": a server that speaks this, too, will not use "+string(t.Revision)+" with it")
	default:
		t.Check(id, true, "", "")
	}
}

func playHandshake(t *trial.Trial) {
	t.On(mcp.MethodInitialize, func(x *peer.Exchange) {
		x.Hold(100 * time.Millisecond) // time to send something too early
		x.Default()
	})
	t.Do(trial.ListTools(), trial.Call("echo", `{"text":"hello"}`))
	requests := t.Messages(func(m *peer.Message) bool { return m.IsRequest() && m.Method() != mcp.MethodDiscover })
	if !t.Needs(len(requests) > 0, "no request was sent") {
		return
	}
	t.Check("C-LC-01/first", requests[0].Method() == mcp.MethodInitialize, "initialize", "%s", requests[0].Method())
	opened := t.HasSent(mcp.MethodInitialize)
	if len(opened) == 0 {
		return
	}
	judgeInitialize(t, opened[0])
	if other := t.Unspoken(); other != "" {
		t.Skip("C-LC-02/latest", other)
		t.Needs(false, "no session was opened: "+other)
		return
	}
	judgeOffer(t, "C-LC-02/latest")
	judgeInitialized(t, opened[0])
}

// judgeOffer decides a check: the server speaks only the revision of the run, so a client
// that goes on supports it. Servers that speak more follow the offer. Where the server has
// listed its versions before, an older offer would be right; these servers list none.
func judgeOffer(t *trial.Trial, id string) {
	older := t.OldOffer()
	t.Check(id, older == "", "no version before "+string(t.Revision)+", which the client accepts", "%s", older)
}

func judgeInitialize(t *trial.Trial, open *peer.Message) {
	info := open.Param("clientInfo")
	complete := rawjson.IsString(open.Param("protocolVersion")) && rawjson.IsObject(open.Param("capabilities")) &&
		rawjson.IsString(peer.At(info, "name")) && rawjson.IsString(peer.At(info, "version"))
	t.Check("C-LC-01/params", complete, "protocolVersion, capabilities, clientInfo{name, version}", "%s", open.Members["params"])
	offered, _ := mcp.ParseVersion(rawjson.Text(open.Param("protocolVersion")))
	t.Check("C-LC-02/session-era", offered.Era() == mcp.EraSession, "a revision with sessions", "%q", offered)
	early := t.Requests(open.Seq, open.Answered)
	t.Check("C-LC-08/quiet", len(early) == 0, "no request before the answer to initialize", "%s", trial.Names(early))
}

func judgeInitialized(t *trial.Trial, open *peer.Message) {
	ready := t.Sent(mcp.MethodInitialized)
	if len(ready) == 0 {
		t.Check("C-LC-07/initialized", false, "notifications/initialized", "it was not sent")
		return
	}
	tooEarly := ready[0].Seq < open.Answered
	before := t.Requests(open.Answered, ready[0].Seq)
	t.Check("C-LC-07/initialized", !tooEarly && len(before) == 0, "notifications/initialized first after the answer",
		"%s before it%s", trial.Names(before), map[bool]string{true: "; it came before the answer"}[tooEarly])
	t.Check("C-LC-07/once", len(ready) == 1, "one notifications/initialized", "%d", len(ready))
}
