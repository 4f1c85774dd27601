package engine

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/fixture"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
)

// Arguments are arguments of a tool that its schema allows.
type Arguments struct {
	fixture.Arguments
	// Example: the user says that the tool succeeds with them.
	Example bool
}

// ArgumentsOf returns arguments for a tool: the examples of the options, what it is known to succeed
// with, then what its schema allows.
func (l *RevisionRun) ArgumentsOf(tool wire.Tool) []Arguments {
	var all []Arguments
	for _, example := range l.Opts.Calls.Tools[tool.Name].Examples {
		all = append(all, Arguments{fixture.Arguments{What: "an example", JSON: rawjson.Encode(example)}, true})
	}
	l.mu.Lock()
	known, there := l.works[tool.Name]
	l.mu.Unlock()
	if there {
		all = append(all, known)
	}
	for _, made := range fixture.MakeArguments(tool.InputSchema, l.Opts.Seed) {
		all = append(all, Arguments{made, false})
	}
	return l.withoutSlow(tool.Name, all)
}

// HasProfile reports whether the server announces an error profile for a tool. Scenarios of its
// own call it, and it may limit calls.
func (l *RevisionRun) HasProfile(tool string) bool { return l.profile(tool) != "" }

// noteCalled adds the tools that were called to the report.
func (l *RevisionRun) noteCalled() {
	if len(l.Report.Revisions) == 0 {
		return
	}
	said := &l.Report.Revisions[len(l.Report.Revisions)-1]
	said.Called, said.WithExamples, said.ReadOnly = 0, 0, 0
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, tool := range l.Tools {
		example, called := l.called[tool.Name]
		if called {
			said.Called++
		}
		if example {
			said.WithExamples++
		}
		if tool.Annotations.ReadOnlyHint {
			said.ReadOnly++
		}
	}
}
