package engine

import (
	"context"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// Examples connects to the subject as [Run] does, and returns a first file of calls: an entry for
// each tool, with arguments that its schema allows, for each prompt with arguments, and for each
// template. Only tools with readOnlyHint may be called. It calls nothing. Errors are those of Run.
func Examples(ctx context.Context, subject conformance.Subject, suite Suite, opts conformance.Options) (conformance.Calls, error) {
	calls := conformance.Calls{Tools: map[string]conformance.ToolCalls{}, Prompts: map[string]conformance.PromptCalls{}, Templates: map[string]conformance.TemplateCalls{}}
	r, err := newRunner(subject, suite, opts)
	if err != nil {
		return calls, err
	}
	revisions, err := r.revisions(ctx)
	if err != nil {
		return calls, err
	}
	l := newRevisionRun(r, revisions[0])
	defer l.CloseShared()
	if err := l.introduce(ctx); err != nil {
		return calls, err
	}
	for _, tool := range l.Tools {
		if !fixture.IsTool(tool.Name) {
			calls.Tools[tool.Name] = l.exampleOf(tool)
		}
	}
	s, err := l.sharedSession(ctx, "")
	if err != nil {
		return calls, err
	}
	if list, err := wire.WalkList(ctx, s, wire.PromptList); err == nil && l.Capabilities.Has("prompts") {
		for _, e := range list.Entries {
			var arguments []struct{ Name string }
			_ = json.Unmarshal(e["arguments"], &arguments) // what cannot be read has no example
			example := map[string]string{}
			for _, a := range arguments {
				example[a.Name] = "mainstay"
			}
			if len(example) > 0 {
				calls.Prompts[rawjson.Text(e["name"])] = conformance.PromptCalls{Examples: []map[string]string{example}}
			}
		}
	}
	if list, err := wire.WalkList(ctx, s, wire.TemplateList); err == nil && l.Capabilities.Has("resources") {
		for _, e := range list.Entries {
			calls.Templates[rawjson.Text(e["uriTemplate"])] = conformance.TemplateCalls{Examples: []string{}}
		}
	}
	return calls, nil
}

// exampleOf is the entry of a tool in a first file of calls.
func (l *RevisionRun) exampleOf(tool wire.Tool) conformance.ToolCalls {
	may := tool.Annotations.ReadOnlyHint
	entry := conformance.ToolCalls{Call: &may, Examples: []map[string]any{}}
	made := fixture.MakeArguments(tool.InputSchema, l.Opts.Seed)
	for _, a := range made[:min(2, len(made))] {
		var example map[string]any
		if json.Unmarshal(a.JSON, &example) == nil {
			entry.Examples = append(entry.Examples, example)
		}
	}
	return entry
}
