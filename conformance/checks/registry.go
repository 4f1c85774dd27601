package checks

import (
	"context"
	_ "embed" // the file below
	"slices"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks/base"
	"github.com/mainstay-mcp/mainstay/conformance/checks/calls"
	"github.com/mainstay-mcp/mainstay/conformance/checks/features"
	"github.com/mainstay-mcp/mainstay/conformance/checks/http"
	"github.com/mainstay-mcp/mainstay/conformance/checks/lifecycle"
	"github.com/mainstay-mcp/mainstay/conformance/checks/seen"
	"github.com/mainstay-mcp/mainstay/conformance/checks/stateless"
	"github.com/mainstay-mcp/mainstay/conformance/checks/stdio"
	"github.com/mainstay-mcp/mainstay/conformance/checks/talk"
	"github.com/mainstay-mcp/mainstay/conformance/checks/tasks"
	"github.com/mainstay-mcp/mainstay/conformance/checks/utilities"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// texts is what the checks say, packed.
//
//go:generate gzip -9nkf checks.txt
//go:embed checks.txt.gz
var texts string

// All returns every scenario of the specification, in the order of a report. The
// caller may change what it gets.
func All() []engine.Scenario {
	all := slices.Clone(registry())
	for i := range all {
		sc := &all[i]
		sc.Needs.Tools, sc.Checks = slices.Clone(sc.Needs.Tools), slices.Clone(sc.Checks)
		for j := range sc.Checks {
			sc.Checks[j].Official = slices.Clone(sc.Checks[j].Official)
		}
	}
	return all
}

// Run judges subject by all scenarios.
func Run(ctx context.Context, subject conformance.Subject, opts conformance.Options) (*conformance.Report, error) {
	return engine.Run(ctx, subject, engine.Suite{Scenarios: registry()}, opts)
}

// Plan returns what [Run] would do.
func Plan(ctx context.Context, subject conformance.Subject, opts conformance.Options) ([]conformance.Listed, error) {
	return engine.Plan(ctx, subject, engine.Suite{Scenarios: registry()}, opts)
}

// Examples returns a first file of calls for subject, to be edited and given as
// [conformance.Options].Calls. It calls no tool.
//
// # Experimental
func Examples(ctx context.Context, subject conformance.Subject, opts conformance.Options) (conformance.Calls, error) {
	return engine.Examples(ctx, subject, engine.Suite{Scenarios: registry()}, opts)
}

// List returns all checks, in the order of a report.
func List() []conformance.Listed { return engine.List(conformance.RoleServer, registry()) }

// registry returns every scenario. All runs share them: a scenario keeps nothing of
// a run.
var registry = sync.OnceValue(func() []engine.Scenario {
	text, err := engine.Unpack(texts)
	if err != nil {
		panic("conformance: checks.txt.gz: " + err.Error()) //nolint:forbidigo // embedded: every test meets it
	}
	all, err := engine.Complete(engine.Join(
		lifecycle.Scenarios(), base.Scenarios(), features.Scenarios(), calls.Scenarios(), utilities.Scenarios(), tasks.Scenarios(), stateless.Scenarios(),
		http.Scenarios(), stdio.Scenarios(), talk.Scenarios(), seen.Scenarios(),
	), text)
	if err != nil {
		panic("conformance: checks.txt: " + err.Error()) //nolint:forbidigo // embedded: every test meets it
	}
	engine.NameOfficial(all)
	return all
})
