package lifecycle

import (
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/nosuch"
	"github.com/mainstay-mcp/mainstay/conformance/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Features are the methods behind each capability: with it they are served,
// without it they are unknown.
var Features = []struct {
	Word, Capability, Method string
	params                   any
	// until is the last revision that has the method.
	until mcp.Version
	// since is the first revision that has the capability.
	since mcp.Version
	// level binds the server that declares the capability.
	level conformance.Level
	// Elsewhere: LC-11 of the errors area looks at the server without it.
	Elsewhere bool
	title     string
}{
	{"tools", "tools", mcp.MethodToolsList, nil, "", "", conformance.Must, false, "tools/list"},
	{"resources", "resources", mcp.MethodResourcesList, nil, "", "", conformance.Must, true, "resources/list"},
	{"templates", "resources", mcp.MethodResourceTemplatesList, nil, "", "", conformance.Advice, false, "resources/templates/list"},
	{"prompts", "prompts", mcp.MethodPromptsList, nil, "", "", conformance.Must, true, "prompts/list"},
	{"read", "resources", mcp.MethodResourcesRead, map[string]any{"uri": "mainstay-none://x"}, "", "", conformance.Must, false, "resources/read"},
	{"get", "prompts", mcp.MethodPromptsGet, map[string]any{"name": "mainstay-none"}, "", "", conformance.Must, false, "prompts/get"},
	{"call", "tools", mcp.MethodToolsCall, map[string]any{"name": nosuch.Tool, "arguments": map[string]any{}}, "", "", conformance.Must, false, "tools/call"},
	{"completions", "completions", mcp.MethodCompletionComplete, map[string]any{
		"ref": map[string]any{"type": "ref/prompt", "name": "mainstay-none"}, "argument": map[string]any{"name": "a", "value": ""},
	}, "", mcp.Version2025_03_26, conformance.Must, false, "completion/complete"},
	{"logging", "logging", mcp.MethodLoggingSetLevel, map[string]any{"level": "info"}, mcp.LatestSession, "", conformance.Must, false, "logging/setLevel"},
	{"tasks-list", "tasks.list", mcp.MethodTasksList, nil, mcp.LatestSession, mcp.Version2025_11_25, conformance.Must, false, "tasks/list"},
	{"tasks-cancel", "tasks.cancel", mcp.MethodTasksCancel, map[string]any{"taskId": nosuch.Task}, mcp.LatestSession, mcp.Version2025_11_25, conformance.Must, false, "tasks/cancel"},
	{"subscribe", "resources.subscribe", mcp.MethodResourcesSubscribe, map[string]any{"uri": "mainstay-none://x"}, mcp.LatestSession, "", conformance.Must, false, "resources/subscribe"},
}

func capabilityScenarios() []conformance.Scenario {
	with := conformance.Spec{Section: "basic/lifecycle#operation", Quote: "Both parties MUST: Respect the negotiated protocol version; Only use capabilities that were successfully negotiated"}
	without := conformance.Spec{Section: "basic/lifecycle#operation", Quote: "Only use capabilities that were successfully negotiated"}
	declared := conformance.Scenario{ID: "LC-14", Area: "lifecycle", Title: "what is declared is there", Run: runDeclared}
	absent := conformance.Scenario{ID: "LC-11-ABSENT", Area: "lifecycle", Title: "what is not declared is not there", Run: runAbsent}
	for _, f := range Features {
		declared.Checks = append(declared.Checks, conformance.Check{
			ID: "LC-14/" + f.Word, Title: "with capabilities." + f.Capability + ", " + f.title + " is no unknown method",
			Level: f.level, Spec: with, Since: f.since, Until: f.until,
		})
		if !f.Elsewhere {
			absent.Checks = append(absent.Checks, conformance.Check{
				ID: "LC-11/" + f.Word, Title: f.title + " without capabilities." + f.Capability + " is answered with -32601",
				Level: conformance.Advice, Spec: without, Since: f.since, Until: f.until,
			})
		}
	}
	return []conformance.Scenario{declared, absent}
}

func runDeclared(t *conformance.Trial) error { return eachFeature(t, "LC-14/", true) }

func runAbsent(t *conformance.Trial) error { return eachFeature(t, "LC-11/", false) }

// NothingSuch begins the names of tools, prompts, resources and tasks that no server has.
const NothingSuch = "mainstay-no"

// saysUnknown reports whether an answer says that the method is unknown. Many
// servers answer -32601 to an unknown name, too, and say which.
func saysUnknown(a wire.Answer) bool {
	return a.HasCode(nil, wire.CodeMethodNotFound) && !strings.Contains(a.Err.Message+string(a.Err.Data), NothingSuch)
}

// eachFeature asks for the features that are declared, or that are not.
func eachFeature(t *conformance.Trial, prefix string, declared bool) error {
	s, err := t.Shared()
	if err != nil {
		return err
	}
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
		t.Step(s)
		a, err := s.Request(t.Ctx, f.Method, f.params)
		if wire.IsLost(err) {
			return err // it says nothing of the feature
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
	return nil
}
