package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// CallParams returns the params of tools/call; nil arguments are left out.
func CallParams(name string, arguments any) map[string]any {
	params := map[string]any{"name": name}
	if arguments != nil {
		params["arguments"] = arguments
	}
	return params
}

// CallsPerAgent is how many calls the suite makes under one name: a server may
// allow ten in a second.
const CallsPerAgent = 8

// Agent counts a call and returns the name of the agent that makes it, or "" for a
// tool without an error profile.
func (t *Trial) Agent(tool string) string {
	if t.Rev.profile(tool) == "" {
		return ""
	}
	defer func() { t.Calls++ }()
	return fmt.Sprintf("conform/%s/%d", t.Scenario.ID, t.Calls/CallsPerAgent)
}

// Call calls a tool and passes the result to the observer. Tools with an error profile may
// limit the calls of an agent, so each scenario is another agent. meta is added to the
// _meta of the call.
func (t *Trial) Call(s *wire.Session, name string, arguments any, meta ...map[string]any) (wire.Answer, error) {
	params := CallParams(name, arguments)
	all := map[string]any{}
	if agent := t.Agent(name); agent != "" {
		all["agentName"] = agent
	}
	for _, m := range meta {
		maps.Copy(all, m)
	}
	if len(all) > 0 {
		params["_meta"] = all
	}
	a, err := s.Request(t.Ctx, mcp.MethodToolsCall, params)
	if err == nil && s.Opened != nil {
		t.Rev.Seen.CallResult(a, s.Opened.Revision)
		if result, ok := rawjson.Object(a.Result); ok && string(result["isError"]) != "true" {
			t.Rev.NoteCall(name, false)
		}
		if t.Rev.profile(name) != "" && a.Err != nil {
			t.Rev.seeProfile(name, a)
		}
	}
	if err == nil && exhausted(a) {
		return a, ErrUsedUp
	}
	return a, err
}

// ErrUsedUp reports that the suite has used up the server's limit on the calls of all
// agents together. It proves nothing about the server.
var ErrUsedUp = errors.New("the server's limit on the calls of all agents is used up")

// exhausted reports whether an answer refuses a call because of that limit.
func exhausted(a wire.Answer) bool {
	if a.Err != nil {
		data, _ := rawjson.Object(a.Err.Data)
		return rawjson.Text(data["scope"]) == "global"
	}
	var result struct {
		Content []struct{ Type, Text string } `json:"content"`
	}
	payload := a.Result
	if json.Unmarshal(a.Result, &result) == nil && len(result.Content) > 0 && result.Content[0].Type == "text" {
		payload = json.RawMessage(result.Content[0].Text)
	}
	for _, name := range []string{"error", "details"} {
		members, _ := rawjson.Object(payload)
		payload = members[name]
	}
	details, _ := rawjson.Object(payload)
	return rawjson.Text(details["scope"]) == "global"
}

// RefusesArgument reports whether an answer is the refusal of an argument. A tool without
// an error profile answers -32602 or a result with isError.
func (l *RevisionRun) RefusesArgument(tool string, a wire.Answer) bool {
	if profile := l.profile(tool); profile != "" {
		return l.Suite.RefusesArgument == nil || l.Suite.RefusesArgument(profile, a)
	}
	return a.Err == nil || a.Err.Code == wire.CodeInvalidParams || a.Err.Code == wire.CodeHeader
}

// profile returns the announced error profile of a tool, "" for none.
func (l *RevisionRun) profile(name string) string {
	profiles, _ := rawjson.Object(l.Capabilities.At("experimental.errorProfiles"))
	return rawjson.Text(profiles[name])
}

func (l *RevisionRun) seeProfile(name string, a wire.Answer) {
	if a.Err.Code == wire.CodeHeader {
		return // the transport's own, before any tool
	}
	data, _ := rawjson.Object(a.ErrorData())
	l.Seen.See(observe.SeenProfile, rawjson.Text(data["profile"]) == l.profile(name), a.In, "data.profile is %s", rawjson.OrAbsent(data["profile"]))
}

// Callable returns the tools that may be called. If there are none, it skips all checks of
// the scenario.
func (t *Trial) Callable() []wire.Tool {
	var out []wire.Tool
	for _, tool := range t.Rev.Tools {
		if t.Rev.MayCall(tool.Name) {
			out = append(out, tool)
		}
	}
	if len(out) == 0 {
		for _, c := range t.Scenario.Checks {
			reason, detail := t.Rev.forbidden("any tool")
			if len(t.Rev.Tools) == 0 {
				reason, detail = conformance.SkipNoFixture, "no tools"
			}
			t.Skip(c.ID, reason, detail)
		}
	}
	return out
}
