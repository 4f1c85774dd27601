package clientsuite

import (
	"encoding/json"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// wish is what a server asks for although the client did not declare that part
// of a capability.
type wish struct {
	check              check
	capability, lacked string
	method, params     string
	answers            Answers
	code               string // of the error that must come in the session era; empty for any
	until              mcp.Version
}

// refusalScenarios are wishes that the client must refuse, and places that users
// are sent to.
func refusalScenarios() []scenario {
	const tooled = `{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":5,"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
	const page = `{"mode":"url","message":"Sign in","url":"https://example.invalid/sign-in","elicitationId":"e-1"}`
	const fields = "schema#createmessagerequestparams"
	sample := Answers{Sample: json.RawMessage(`{"role":"assistant","content":{"type":"text","text":"Paris"},"model":"none","stopReason":"endTurn"}`)}
	form := Answers{Elicit: json.RawMessage(`{"action":"accept","content":{"name":"Ada"}}`)}
	return []scenario{
		wish{
			check:      must("C-SAMP-02/tools", "the wish is refused", spec(fields, "The client MUST return an error if this field is provided but ClientCapabilities.sampling.tools is not declared.")),
			capability: "sampling", lacked: "tools", method: mcp.MethodSamplingCreateMessage, params: tooled, answers: sample,
		}.scenario("C-SAMPLE-TOOLS", "the server asks for a completion with tools, which the client did not offer"),
		wish{
			check:      must("C-ELIC-01/mode", "the wish is refused", spec("client/elicitation#error-handling", "Server sends an elicitation/create request with a mode not declared in client capabilities: -32602 (Invalid params)")),
			capability: "elicitation", lacked: "url", method: mcp.MethodElicitationCreate, params: page, answers: form, code: "-32602", until: mcp.LatestSession,
		}.scenario("C-ELICIT-MODE", "the server sends the user to a page, which the client did not offer"),
		{
			id: "C-ELICIT-URL", area: features, title: "the server sends the user to a page", since: mcp.Version2025_11_25,
			checks: []check{
				must("C-ELIC-05/fetch", "the client does not fetch it", spec("client/elicitation#safe-url-handling", "MUST NOT automatically pre-fetch the URL or any of its metadata.")),
				must("C-ELIC-05/action", "the answer has the user's action", spec("client/elicitation#response-actions", "Elicitation responses use a three-action model to clearly distinguish between different user actions")),
			},
			play: playPage,
		},
		{
			id: "C-ELICIT-COMPLETE", area: features, title: "the server tells of an errand that nobody was on", since: mcp.Version2025_11_25, until: mcp.LatestSession,
			checks: []check{must("C-ELIC-07/unknown", "the call goes on", spec("client/elicitation#completion-notifications-for-url-mode-elicitation", "MUST ignore notifications referencing unknown or already-completed IDs."))},
			play: func(t *trial) {
				t.answers.ElicitURL = "accept"
				t.on(mcp.MethodToolsCall, func(x *exchange) {
					x.notify(mcp.MethodElicitationComplete, `{"elicitationId":"nobody's"}`)
					x.notify(mcp.MethodElicitationComplete, `{"elicitationId":"nobody's"}`)
					x.good()
				})
				t.do(call("echo", `{"text":"on"}`))
				t.told("C-ELIC-07/unknown", 0, says("on"), wantsText("on"))
			},
		},
	}
}

func (w wish) scenario(id, title string) scenario {
	return scenario{
		id: id, area: features, title: title, since: mcp.Version2025_11_25, until: w.until,
		checks: []check{w.check},
		play: func(t *trial) {
			t.answers = w.answers
			t.on(mcp.MethodToolsCall, func(x *exchange) {
				if t.rev.stateless() && x.peer.next() == 1 {
					x.wants(`{"w":{"method":`+quote(w.method)+`,"params":`+w.params+`}}`, "")
					return
				}
				if !t.rev.stateless() {
					x.ask(`"w"`, w.method, w.params)
				}
				x.good()
			})
			t.do(call("echo", `{"text":"asked"}`))
			if !t.asked(w.capability) {
				return
			}
			if t.offers(w.capability, w.lacked) {
				t.skip(w.check.ID, conformance.SkipNotDeclared, "the client declares "+w.capability+"."+w.lacked)
				return
			}
			if t.rev.stateless() {
				answered := slices.DeleteFunc(t.calls("echo"), func(m *message) bool { return m.param("inputResponses", "w") == nil })
				t.check(w.check.ID, len(answered) == 0, "no answer to it", "%s", contents(answered))
				return
			}
			got := t.answersTo(`"w"`)
			ok := len(got) == 1 && got[0].members["error"] != nil && (w.code == "" || string(at(got[0].members["error"], "code")) == w.code)
			t.check(w.check.ID, ok, "error "+w.code, "%s", contents(got))
		},
	}
}

// offers reports whether the client declared a part of a capability.
func (r *run) offers(capability, part string) bool {
	return slices.ContainsFunc(r.tape.all(), func(m *message) bool {
		return at(m.param("capabilities", capability), part) != nil || at(m.param("_meta", mcp.MetaClientCapabilities, capability), part) != nil
	})
}

func playPage(t *trial) {
	page, fetched := t.elsewhere()
	if page == nil {
		return
	}
	defer page.close()
	params := `{"mode":"url","message":"Sign in","url":` + quote(page.url) + `,"elicitationId":"e-1"}`
	t.answers.ElicitURL = "accept"
	t.on(mcp.MethodToolsCall, func(x *exchange) {
		switch {
		case !t.offers("elicitation", "url"): // it is not to be asked
		case !t.rev.stateless():
			x.ask(`"p"`, mcp.MethodElicitationCreate, params)
		case x.param("inputResponses") == nil && x.peer.next() == 1:
			x.wants(`{"p":{"method":"elicitation/create","params":`+params+`}}`, "")
			return
		}
		x.good()
	})
	t.do(call("echo", `{"text":"asked"}`))
	if !t.asked("elicitation") {
		return
	}
	if !t.offers("elicitation", "url") {
		t.skip("C-ELIC-05/fetch", conformance.SkipNotDeclared, "the client does not declare elicitation.url")
		t.skip("C-ELIC-05/action", conformance.SkipNotDeclared, "the client does not declare elicitation.url")
		return
	}
	t.check("C-ELIC-05/fetch", fetched() == "", "no request for it", "%s", fetched())
	var answer json.RawMessage
	if got := t.answersTo(`"p"`); len(got) > 0 {
		answer = got[0].members["result"]
	}
	for _, m := range t.calls("echo") {
		if r := m.param("inputResponses", "p"); r != nil {
			answer = r
		}
	}
	t.check("C-ELIC-05/action", text(at(answer, "action")) == "accept", `{"action":"accept"}`, "%s", orNull(answer))
}
