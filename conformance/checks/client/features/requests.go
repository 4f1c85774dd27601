package features

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The answers that a client gets in its task.
var (
	accept = trial.Answers{Elicit: json.RawMessage(`{"action":"accept","content":{"name":"Ada"}}`)}
	sample = trial.Answers{Sample: json.RawMessage(`{"role":"assistant","content":{"type":"text","text":"Paris"},"model":"none","stopReason":"endTurn"}`)}
)

// request is a request of the server for a feature of the client, in the session era.
type request struct {
	id         string // of the scenario
	capability string
	method     string
	params     string
	answers    trial.Answers
	// judge looks at the result.
	judge func(t *trial.Trial, result json.RawMessage)
}

// requests returns the scenarios of the features of a client.
func requests() []trial.Scenario {
	var out []trial.Scenario
	for _, r := range []request{
		{
			"C-ELICIT", "elicitation", mcp.MethodElicitationCreate,
			`{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"size":{"type":"integer","default":7}},"required":["name"]}}`,
			accept, judgeElicit,
		},
		{
			"C-ELICIT-DECLINE", "elicitation", mcp.MethodElicitationCreate,
			`{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`,
			trial.Answers{Elicit: json.RawMessage(`{"action":"decline"}`)},
			func(t *trial.Trial, result json.RawMessage) {
				ok := rawjson.Text(peer.At(result, "action")) == "decline" && peer.At(result, "content") == nil
				t.Check("C-ELIC-02/declined", ok, `{"action":"decline"}`, "%s", result)
			},
		},
		{
			"C-ROOTS", "roots", mcp.MethodRootsList, `{}`,
			trial.Answers{Roots: []string{"file:///srv/a", "file:///srv/b"}},
			func(t *trial.Trial, result json.RawMessage) {
				var list struct{ Roots []struct{ URI string } }
				ok := json.Unmarshal(result, &list) == nil && list.Roots != nil
				for _, r := range list.Roots {
					ok = ok && strings.HasPrefix(r.URI, "file://")
				}
				t.Check("C-ROOT-01/list", ok, "roots with file URIs", "%s", result)
			},
		},
		{
			"C-SAMPLE", "sampling", mcp.MethodSamplingCreateMessage,
			`{"messages":[{"role":"user","content":{"type":"text","text":"Capital of France?"}}],"maxTokens":10}`,
			sample,
			func(t *trial.Trial, result json.RawMessage) {
				ok := rawjson.IsString(peer.At(result, "role")) && rawjson.IsString(peer.At(result, "model")) && peer.At(result, "content") != nil
				t.Check("C-SAMP-01/result", ok, "role, content and model", "%s", result)
			},
		},
	} {
		out = append(out, trial.Scenario{ID: r.id, Play: r.play})
	}
	return out
}

func (r *request) play(t *trial.Trial) {
	t.Answers = r.answers
	t.On(mcp.MethodToolsCall, func(x *peer.Exchange) {
		x.Ask(`"q"`, r.method, r.params)
		x.Default()
	})
	t.Do(trial.Call("echo", `{"text":"asked"}`))
	if !t.Asked(r.capability) {
		return
	}
	got := t.AnswersTo(`"q"`)
	if len(got) == 0 || got[0].Members["result"] == nil {
		t.Check(t.Scenario.Checks[0].ID, false, "a result", "%s", trial.Contents(got))
		return
	}
	r.judge(t, got[0].Members["result"])
}

func judgeElicit(t *trial.Trial, result json.RawMessage) {
	action := rawjson.Text(peer.At(result, "action"))
	t.Check("C-ELIC-02/action", slices.Contains([]string{"accept", "decline", "cancel"}, action), "accept, decline or cancel", "%s", result)
	if !t.Needs(action == "accept", "the client did not accept") {
		return
	}
	size := peer.At(result, "content", "size")
	fits := rawjson.IsString(peer.At(result, "content", "name")) && (size == nil || peer.IsInteger(size))
	t.Check("C-ELIC-02/content", fits, `{"name":string,"size":integer}`, "%s", result)
	t.Check("C-ELIC-04/defaults", string(size) == "7", `"size":7`, "%s", result)
}

// playLogStamp judges the log level in the requests of the stateless era.
func playLogStamp(t *trial.Trial) {
	t.Peer.Capabilities = `{"tools":{},"logging":{}}`
	t.Do(trial.Step{Call: mcp.MethodLoggingSetLevel, Params: json.RawMessage(`{"level":"warning"}`)}, trial.Call("write", `{}`))
	after := t.Called("write")
	if len(after) == 0 {
		return
	}
	level := after[0].Param("_meta", mcp.MetaLogLevel)
	lines := t.Step(0)
	switch {
	case level == nil && len(lines) == 0:
		t.Unreported("C-LOG-04/stamped") // it does not know the step
	case !slices.ContainsFunc(lines, func(l trial.Line) bool { return l.Outcome == trial.OutcomeUnsupported }):
		t.Check("C-LOG-04/stamped", rawjson.Text(level) == "warning", "warning", "%s", peer.OrNull(level))
	}
}
