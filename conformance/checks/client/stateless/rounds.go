package stateless

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// rounds returns the scenarios of multi round-trip requests.
func rounds() []trial.Scenario {
	return []trial.Scenario{
		{ID: "C-STATE", Play: playState},
		{ID: "C-QUESTION", Play: playQuestion},
		{ID: "C-QUESTION-UNDECLARED", Play: playUndeclared},
		{ID: "C-ROUNDS-ENDLESS", Play: playEndless},
		{ID: "C-ROUNDS-WRONG", Play: playListRound},
	}
}

// state is a request state that a client breaks if it reads it or encodes it again.
const state = "eyJ4IjoxfQ== \u2028<&>\"\\ ä\t1e400 {\"a\": 1.0}"

func playState(t *trial.Trial) {
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		if x.Tool() == "echo" && x.Param("requestState") == nil && x.Peer.Next() == 1 {
			x.InputRequired("", state)
			return
		}
		x.Default()
	})
	t.Do(trial.Call("echo", `{"text":"final","n":1}`), trial.Call("write", `{"text":"x"}`))
	calls := t.Called("echo")
	if len(calls) == 0 {
		return
	}
	t.Reported("C-MRTR-04/result", 0, trial.Result("n 1"))
	if len(calls) == 1 {
		t.Check("C-MRTR-04/state", false, "tools/call again", "nothing")
		return
	}
	first, again := calls[0], calls[1]
	t.Check("C-MRTR-04/state", rawjson.Text(again.Param("requestState")) == state, peer.Quote(state), "%s", again.Param("requestState"))
	same := rawjson.Text(again.Param("arguments", "text")) == "final" && string(again.Param("arguments", "n")) == "1"
	t.Check("C-MRTR-04/params", same, string(first.Param("arguments")), "%s", again.Param("arguments"))
	t.Check("C-MRTR-05/new-id", again.ID() != first.ID(), "another id", "%s", again.ID())
	if others := t.Called("write"); len(others) > 0 {
		clean := others[0].Param("requestState") == nil && others[0].Param("inputResponses") == nil
		t.Check("C-MRTR-06/leak", clean, "neither requestState nor inputResponses", "%s", others[0].Data)
	}
}

// playQuestion asks the user in a round without a state.
func playQuestion(t *trial.Trial) {
	t.Answers.Elicit = json.RawMessage(`{"action":"accept","content":{"name":"Ada"}}`)
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		if x.Param("inputResponses") == nil && trial.Declared(x.Message, "elicitation") && x.Peer.Next() == 1 {
			x.InputRequired(`{"who":{"method":"elicitation/create","params":{"mode":"form","message":"Who?",`+
				`"requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}}`, "")
			return
		}
		x.Default()
	})
	t.Do(trial.Call("echo", `{"text":"hello Ada"}`))
	if !t.Asked("elicitation") {
		return
	}
	calls := t.Calls("echo")
	t.Reported("C-MRTR-04/answered", 0, trial.Result("hello Ada"))
	if len(calls) == 1 {
		t.Check("C-MRTR-04/keys", false, "tools/call again", "nothing")
		return
	}
	again := calls[1]
	responses := peer.Members(again.Param("inputResponses"))
	t.Check("C-MRTR-04/keys", len(responses) == 1 && responses["who"] != nil, `inputResponses {"who":…}`, "%s", peer.OrNull(again.Param("inputResponses")))
	answer := peer.Members(responses["who"])
	bare := rawjson.IsString(answer["action"]) && answer["jsonrpc"] == nil && answer["result"] == nil && answer["resultType"] == nil
	t.Check("C-MRTR-04/bare", bare, `{"action":…}`, "%s", peer.OrNull(responses["who"]))
	t.Check("C-MRTR-04/no-state", again.Param("requestState") == nil, "no requestState", "%s", again.Param("requestState"))
}

// playUndeclared asks for sampling, which most clients do not declare.
func playUndeclared(t *trial.Trial) {
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		x.InputRequired(`{"m":{"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":{"type":"text","text":"hi"}}],"maxTokens":3}}}`, "s")
	})
	t.Do(trial.Call("echo", `{}`))
	calls := t.Called("echo")
	if len(calls) == 0 {
		return
	}
	if t.Declares("sampling") {
		t.SkipAll("the client declares sampling")
		return
	}
	t.Check("C-MRTR-03/undeclared", len(calls) == 1, "no second tools/call", "%s", trial.Contents(calls[1:]))
	t.Reported("C-MRTR-03/told", 0, trial.Failed("an error"))
}

// roundLimit is more rounds than any server needs.
const roundLimit = 40

func playEndless(t *trial.Trial) {
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) { x.InputRequired("", fmt.Sprint("round ", x.Peer.Next())) })
	t.Do(trial.Within(5*time.Second, trial.Call("echo", `{}`)))
	if n := len(t.Called("echo")); n > 0 {
		t.Check("C-MRTR-08/cap", n <= roundLimit, fmt.Sprintf("at most %d requests", roundLimit), "%d", n)
		t.Reported("C-MRTR-08/told", 0, trial.Failed("an error"))
	}
}

// playListRound answers a list with input_required.
func playListRound(t *trial.Trial) {
	t.On(mcp.MethodToolsList, func(x *peer.Exchange) { x.InputRequired("", "s") })
	t.Do(trial.ListTools())
	if sent := t.HasSent(mcp.MethodToolsList); len(sent) > 0 {
		again := slices.ContainsFunc(sent, func(m *peer.Message) bool { return m.Param("requestState") != nil })
		t.Check("C-MRTR-01/list", !again, "no tools/list with a requestState", "%s", trial.Contents(sent))
		t.Reported("C-MRTR-01/told", 0, trial.Failed("an error"))
	}
}
