package features

import (
	"encoding/json"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// undeclared is a request for a part of a capability that the client did not declare.
type undeclared struct {
	check            string
	capability, part string
	method, params   string
	answers          trial.Answers
	code             string // of the error in the session era; empty for any
}

// refusals returns the scenarios of requests that the client must refuse, and of pages
// that the user is sent to.
func refusals() []trial.Scenario {
	tools := undeclared{
		"C-SAMP-02/tools", "sampling", "tools", mcp.MethodSamplingCreateMessage,
		`{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5,"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`, sample, "",
	}
	page := undeclared{
		"C-ELIC-01/mode", "elicitation", "url", mcp.MethodElicitationCreate,
		`{"mode":"url","message":"Sign in","url":"https://example.invalid/sign-in","elicitationId":"e-1"}`, accept, "-32602",
	}
	return []trial.Scenario{
		{ID: "C-SAMPLE-TOOLS", Play: tools.play},
		{ID: "C-ELICIT-MODE", Play: page.play},
		{ID: "C-ELICIT-URL", Play: playPage},
	}
}

// ask sends a request to the client: as a request in the session era, as a round in the
// stateless era. It reports whether it answered the call.
func ask(t *trial.Trial, x *peer.Exchange, method, params string) bool {
	if !t.Stateless() {
		x.Ask(`"q"`, method, params)
		return false
	}
	if x.Param("inputResponses") != nil || x.Peer.Next() > 1 {
		return false
	}
	x.InputRequired(`{"q":{"method":`+peer.Quote(method)+`,"params":`+params+`}}`, "")
	return true
}

func (u *undeclared) play(t *trial.Trial) {
	t.Answers = u.answers
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		if !ask(t, x, u.method, u.params) {
			x.Default()
		}
	})
	t.Do(trial.Call("echo", `{"text":"asked"}`))
	switch {
	case !t.Asked(u.capability):
	case t.Declares(u.capability, u.part):
		t.Skip(u.check, "the client declares "+u.capability+"."+u.part)
	case t.Stateless():
		answered := slices.DeleteFunc(t.Calls("echo"), func(m *peer.Message) bool { return m.Param("inputResponses", "q") == nil })
		t.Check(u.check, len(answered) == 0, "no answer to it", "%s", trial.Contents(answered))
	default:
		got := t.AnswersTo(`"q"`)
		ok := len(got) == 1 && got[0].Members["error"] != nil && (u.code == "" || string(peer.At(got[0].Members["error"], "code")) == u.code)
		t.Check(u.check, ok, "error "+u.code, "%s", trial.Contents(got))
	}
}

// playPage sends the user to a page, which the client must not fetch.
func playPage(t *trial.Trial) {
	url, fetched, stop := t.Elsewhere()
	if url == "" {
		return
	}
	defer stop()
	t.Answers.ElicitURL = "accept"
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		params := `{"mode":"url","message":"Sign in","url":` + peer.Quote(url) + `,"elicitationId":"e-1"}`
		if !t.Declares("elicitation", "url") || !ask(t, x, mcp.MethodElicitationCreate, params) {
			x.Default()
		}
	})
	t.Do(trial.Call("echo", `{"text":"asked"}`))
	if !t.Asked("elicitation") {
		return
	}
	if !t.Declares("elicitation", "url") {
		t.SkipAll("the client does not declare elicitation.url")
		return
	}
	t.Check("C-ELIC-05/fetch", fetched() == "", "no request for it", "%s", fetched())
	var answer json.RawMessage
	if got := t.AnswersTo(`"q"`); len(got) > 0 {
		answer = got[0].Members["result"]
	}
	for _, m := range t.Calls("echo") {
		if r := m.Param("inputResponses", "q"); r != nil {
			answer = r
		}
	}
	t.Check("C-ELIC-05/action", rawjson.Text(peer.At(answer, "action")) == "accept", `{"action":"accept"}`, "%s", peer.OrNull(answer))
}
