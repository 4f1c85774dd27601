package lifecycle

import (
	"encoding/json"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Features are the methods behind each capability: with it they are served,
// without it they are unknown.
var Features = []struct {
	Word, Capability, Method string
	params                   any
	// Elsewhere: LC-11 of the errors area looks at the server without it.
	Elsewhere bool
}{
	{"tools", "tools", mcp.MethodToolsList, nil, false},
	{"resources", "resources", mcp.MethodResourcesList, nil, true},
	{"templates", "resources", mcp.MethodResourceTemplatesList, nil, false},
	{"prompts", "prompts", mcp.MethodPromptsList, nil, true},
	{"read", "resources", mcp.MethodResourcesRead, map[string]any{"uri": "mainstay-none://x"}, false},
	{"get", "prompts", mcp.MethodPromptsGet, map[string]any{"name": "mainstay-none"}, false},
	{"call", "tools", mcp.MethodToolsCall, map[string]any{"name": fixture.NoTool, "arguments": map[string]any{}}, false},
	{"completions", "completions", mcp.MethodCompletionComplete, map[string]any{
		"ref": map[string]any{"type": "ref/prompt", "name": "mainstay-none"}, "argument": map[string]any{"name": "a", "value": ""},
	}, false},
	{"logging", "logging", mcp.MethodLoggingSetLevel, map[string]any{"level": "info"}, false},
	{"tasks-list", "tasks.list", mcp.MethodTasksList, nil, false},
	{"tasks-cancel", "tasks.cancel", mcp.MethodTasksCancel, map[string]any{"taskId": fixture.NoTask}, false},
	{"subscribe", "resources.subscribe", mcp.MethodResourcesSubscribe, map[string]any{"uri": "mainstay-none://x"}, false},
}

func capabilityScenarios() []engine.Scenario {
	return []engine.Scenario{{ID: "LC-14", Gentle: true, Run: runDeclared}, {ID: "LC-11-ABSENT", Run: runAbsent}, {ID: "LC-11-SERVED", Run: runServed}}
}

// runServed looks for features that the server has and does not declare.
func runServed(t *engine.Trial) {
	s := t.Shared()
	var prompts []wire.ListEntry
	for _, kind := range []wire.ListKind{wire.ToolList, wire.ResourceList, wire.PromptList} {
		check := "LC-11/served-" + kind.Capability
		declared := t.Rev.Capabilities.Has(kind.Capability)
		if declared {
			t.Skip(check, conformance.SkipNotDeclared, "capabilities."+kind.Capability+" is declared")
		}
		if declared && kind.Capability != wire.PromptList.Capability {
			continue
		}
		t.Step(s)
		a, err := s.Request(t.Ctx, kind.Method, nil)
		if wire.IsLost(err) {
			t.NoError(err)
			return
		}
		result, _ := rawjson.Object(a.Result)
		var entries []wire.ListEntry
		_ = json.Unmarshal(result[kind.Member], &entries) // what is no list has none
		t.Check(check, len(entries) == 0, "an error, or an empty list", "%s", a.OrError(err))
		prompts = entries
	}
	completes(t, s, prompts)
}

// completes judges a server that completes an argument of its first prompt with one.
func completes(t *engine.Trial, s *wire.Session, prompts []wire.ListEntry) {
	const check = "LC-11/served-completions"
	if t.Rev.Capabilities.Has("completions") {
		t.Skip(check, conformance.SkipNotDeclared, "capabilities.completions is declared")
		return
	}
	for _, p := range prompts {
		var arguments []struct{ Name string }
		if json.Unmarshal(p["arguments"], &arguments) != nil || len(arguments) == 0 {
			continue
		}
		t.Step(s)
		a, err := s.Request(t.Ctx, mcp.MethodCompletionComplete, map[string]any{
			"ref": map[string]any{"type": "ref/prompt", "name": p["name"]}, "argument": map[string]any{"name": arguments[0].Name, "value": ""},
		})
		if wire.IsLost(err) {
			t.NoError(err)
			return
		}
		var result struct{ Completion struct{ Values []string } }
		_ = json.Unmarshal(a.Result, &result) // what is no completion has no values
		t.Check(check, len(result.Completion.Values) == 0, "an error, or no values", "%s", a.OrError(err))
		return
	}
	t.Skip(check, conformance.SkipNoFixture, "no prompt with an argument")
}

func runDeclared(t *engine.Trial) { eachFeature(t, "LC-14/", true) }

func runAbsent(t *engine.Trial) { eachFeature(t, "LC-11/", false) }

// NothingSuch begins the names of tools, prompts, resources and tasks that no server has.
const NothingSuch = "mainstay-no"

// saysUnknown reports whether an answer says that the method is unknown. Many
// servers answer -32601 to an unknown name, too, and say which.
func saysUnknown(a wire.Answer) bool {
	return a.HasCode(nil, wire.CodeMethodNotFound) && !strings.Contains(a.Err.Message+string(a.Err.Data), NothingSuch)
}

// eachFeature asks for the features that are declared, or that are not.
func eachFeature(t *engine.Trial, prefix string, declared bool) {
	s := t.Shared()
	for _, f := range Features {
		check := prefix + f.Word
		if !declared && f.Elsewhere || t.Decided(check) {
			continue
		}
		if t.Rev.Capabilities.Has(f.Capability) != declared {
			word := map[bool]string{true: " absent", false: " is declared"}[declared]
			t.Skip(check, conformance.SkipNotDeclared, "capabilities."+f.Capability+word)
			continue
		}
		if f.params != nil && !t.MayProvoke(check) { // it asks for what is not there
			continue
		}
		t.Step(s)
		a, err := s.Request(t.Ctx, f.Method, f.params)
		if wire.IsLost(err) {
			t.NoError(err)
			return // it says nothing of the feature
		}
		switch {
		case declared && f.params == nil: // a list is a valid request, too
			t.Check(check, err == nil && !saysUnknown(a) && !a.HasCode(nil, wire.CodeInvalidRequest), "a result, or an error other than -32601 and -32600", "%s", a.OrError(err))
		case declared:
			t.Check(check, err == nil && !saysUnknown(a), "a result, or an error other than -32601", "%s", a.OrError(err))
		default:
			t.Check(check, a.HasCode(err, wire.CodeMethodNotFound), "error -32601", "%s", a.OrError(err))
		}
	}
}
