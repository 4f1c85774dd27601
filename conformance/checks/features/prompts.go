package features

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// promptScenarios are about prompts and completion in both eras.
func promptScenarios() []engine.Scenario {
	return []engine.Scenario{
		{ID: "PRM-01", Gentle: true, Needs: engine.Needs{Capability: "prompts"}, Run: runPrompts},
		{ID: "CMP-01", Gentle: true, Needs: engine.Needs{Capability: "completions"}, Run: runCompletion},
	}
}

// mostPrompts is how many prompts of each kind are asked for.
const mostPrompts = 10

func runPrompts(t *engine.Trial) {
	s := t.Shared()
	list, err := wire.WalkList(t.Ctx, s, wire.PromptList)
	t.NoError(err)
	if len(list.Entries) == 0 {
		t.SkipRest(conformance.SkipNoFixture, "no prompts")
		return
	}
	names, arguments, twice := "", "", ""
	var refusals, ungot, failed fault
	seen := map[string]bool{}
	got, needy := 0, 0
	for _, e := range list.Entries {
		name := rawjson.Text(e["name"])
		if name == "" {
			names = "name is " + rawjson.OrAbsent(e["name"])
		}
		if seen[name] {
			twice = name
		}
		seen[name] = true
		required, fault := promptArgumentsOf(e)
		if fault != "" {
			arguments = name + ": " + fault
		}
		params := map[string]any{"name": name}
		if _, there := e["arguments"]; there {
			params["arguments"] = map[string]any{} // a schema of an object does not take none
		}
		switch {
		case len(required) > 0 && !t.MayProvoke("PRM-01/missing"):
		case len(required) > 0 && needy < mostPrompts:
			needy++
			t.Step(s)
			a, err := s.RequestWrong(t.Ctx, mcp.MethodPromptsGet, params)
			if !a.HasCode(err, wire.CodeInvalidParams) {
				refusals.note(t, "%s: %s", name, a.OrError(err))
			}
			if wire.IsLost(err) {
				refusals.decide(t, "PRM-01/missing", "error -32602")
				t.NoError(err)
			}
		case len(required) == 0 && got < mostPrompts && !strings.HasPrefix(name, fixture.InputRequired):
			got++
			t.Step(s)
			a, err := s.Request(t.Ctx, mcp.MethodPromptsGet, params)
			if wire.IsLost(err) {
				t.NoError(err)
				return
			}
			if wire.Denies(a, err) {
				ungot.note(t, "%s: %s", name, a.OrError(err))
			} else if a.Err != nil {
				failed.note(t, "%s: %s", name, a.Describe())
			}
		}
	}
	t.Check("PRM-01/names", names == "", "a name", "%s", names)
	t.Check("PRM-01/unique", twice == "", "each name once", "%s", twice)
	t.Check("PRM-01/arguments", arguments == "", "a name and a boolean", "%s", arguments)
	if got > 0 {
		offered(t, "PRM-01/get", "messages", ungot, failed)
	}
	if needy > 0 {
		refusals.decide(t, "PRM-01/missing", "error -32602")
	}
	if list.Has(wire.PromptList, fixture.PromptArguments) {
		t.Step(s)
		a, err := s.Request(t.Ctx, mcp.MethodPromptsGet, map[string]any{"name": fixture.PromptArguments, "arguments": map[string]any{"arg1": "mainstay-one", "arg2": "mainstay-two"}})
		both := strings.Contains(string(a.Result), "mainstay-one") && strings.Contains(string(a.Result), "mainstay-two")
		t.Check("PRM-01/values", err == nil && both, "both values in the messages", a.OrError(err))
	}
	if list.Has(wire.PromptList, fixture.PromptEmbedded) {
		const uri = "test://example-resource"
		blocks, a, err := prompted(t, s, fixture.PromptEmbedded, map[string]any{"resourceUri": uri})
		found := slices.ContainsFunc(blocks, func(b wire.ListEntry) bool {
			resource, _ := rawjson.Object(b["resource"])
			return rawjson.Text(b["type"]) == "resource" && rawjson.Text(resource["uri"]) == uri
		})
		t.Check("PRM-01/embedded", err == nil && found, "a block of type resource with uri "+uri, a.OrError(err))
	}
	if list.Has(wire.PromptList, fixture.PromptImage) {
		blocks, a, err := prompted(t, s, fixture.PromptImage, nil)
		found := slices.ContainsFunc(blocks, func(b wire.ListEntry) bool {
			return rawjson.Text(b["type"]) == "image" && rawjson.Text(b["data"]) != "" && rawjson.Text(b["mimeType"]) != ""
		})
		t.Check("PRM-01/image", err == nil && found, "a block of type image with data and a mimeType", a.OrError(err))
	}
	t.SkipRest(conformance.SkipNoFixture, "no such prompt") // what is left
}

// prompted gets a prompt and returns the blocks of its messages.
func prompted(t *engine.Trial, s *wire.Session, name string, arguments map[string]any) ([]wire.ListEntry, wire.Answer, error) {
	t.Step(s)
	params := map[string]any{"name": name}
	if arguments != nil {
		params["arguments"] = arguments
	}
	a, err := s.Request(t.Ctx, mcp.MethodPromptsGet, params)
	result, _ := rawjson.Object(a.Result)
	var messages, blocks []wire.ListEntry
	_ = json.Unmarshal(result["messages"], &messages) // PRM-01/messages judges it
	for _, m := range messages {
		if block, ok := rawjson.Object(m["content"]); ok {
			blocks = append(blocks, block)
		}
	}
	return blocks, a, err
}

// promptArgumentsOf returns the names of the required arguments of a prompt, and
// what is wrong with its arguments.
func promptArgumentsOf(e wire.ListEntry) (required []string, fault string) {
	raw, there := e["arguments"]
	if !there || string(raw) == "null" {
		return nil, ""
	}
	var arguments []wire.ListEntry
	if json.Unmarshal(raw, &arguments) != nil {
		return nil, "arguments is " + rawjson.OrAbsent(raw)
	}
	for _, argument := range arguments {
		need, said := argument["required"]
		if rawjson.Text(argument["name"]) == "" || said && string(need) != "true" && string(need) != "false" {
			fault = fmt.Sprintf("name %s, required %s", rawjson.OrAbsent(argument["name"]), rawjson.OrAbsent(need))
		}
		if string(need) == "true" {
			required = append(required, rawjson.Text(argument["name"]))
		}
	}
	return required, fault
}

func runCompletion(t *engine.Trial) {
	s := t.Shared()
	list, err := wire.WalkList(t.Ctx, s, wire.PromptList)
	if err != nil {
		list = &wire.Listing{} // completion of templates alone
	}
	prompt, argument := "", ""
	for _, e := range list.Entries {
		var arguments []wire.ListEntry
		_ = json.Unmarshal(e["arguments"], &arguments) // PRM-01/arguments judges it
		if len(arguments) > 0 && (prompt == "" || rawjson.Text(e["name"]) == fixture.PromptArguments) {
			prompt, argument = rawjson.Text(e["name"]), rawjson.Text(arguments[0]["name"])
		}
	}
	t.Step(s)
	ask := func(prompt, argument string) (wire.Answer, error) {
		return s.Request(t.Ctx, mcp.MethodCompletionComplete, map[string]any{
			"ref": map[string]any{"type": "ref/prompt", "name": prompt}, "argument": map[string]any{"name": argument, "value": ""},
		})
	}
	if t.MayProvoke("CMP-01/unknown") {
		a, err := ask("mainstay-no-such-prompt", "x")
		t.Check("CMP-01/unknown", a.HasCode(err, wire.CodeInvalidParams), "error -32602", a.OrError(err))
	}
	if prompt == "" {
		t.SkipRest(conformance.SkipNoFixture, "no prompt with arguments")
		return
	}
	t.Step(s)
	a, err := ask(prompt, argument)
	if wire.IsLost(err) {
		t.NoError(err)
		return // it says nothing of the values
	}
	if a.Err != nil {
		// Another required argument may be missing, or the argument have no values.
		t.SkipRest(conformance.SkipNoFixture, "no completion to look at: "+a.Describe())
		return
	}
	result, _ := rawjson.Object(a.Result)
	completion, _ := rawjson.Object(result["completion"])
	var values []string
	ok := json.Unmarshal(completion["values"], &values) == nil && values != nil
	t.Check("CMP-01/values", err == nil && ok, "an array of strings", "values is %s; %s", rawjson.OrAbsent(completion["values"]), a.OrError(err))
	if !ok {
		t.SkipRest(conformance.SkipPrerequisite, "no values to count")
		t.NoError(err)
		return
	}
	t.Check("CMP-02/hundred", len(values) <= 100, "100 at most", "%d", len(values))
	raw, there := completion["total"]
	var total float64
	_ = json.Unmarshal(raw, &total) // isInteger says whether it is one
	t.Check("CMP-02/total", !there || rawjson.IsInteger(raw) && int(total) >= len(values), "an integer, no less than there are", "total is %s of %d", rawjson.OrAbsent(raw), len(values))
	raw, there = completion["hasMore"]
	t.Check("CMP-02/more", !there || string(raw) == "true" || string(raw) == "false", "a boolean", "hasMore is %s", rawjson.OrAbsent(raw))
	t.NoError(err)
}
