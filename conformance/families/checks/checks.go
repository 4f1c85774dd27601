// Package familychecks has the checks of the 29 tools that the reference server offers, in
// the families artifact, coe, docling, preflights and assistant.
//
// They are no part of package checks, so that programs that judge other servers do
// not get them. [Run] judges a server by both.
package familychecks

import (
	"context"
	_ "embed" // the file below
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/artifact"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/assistant"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/coe"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/docling"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/preflights"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/profile"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// texts is what the checks say that are no tables, packed.
//
//go:generate gzip -9nkf checks.txt
//go:embed checks.txt.gz
var texts string

// All returns the scenarios of the 29 tools, in the order of a report.
func All() []engine.Scenario {
	text, err := engine.Unpack(texts)
	if err != nil {
		panic("conformance: families/checks/checks.txt.gz: " + err.Error())
	}
	all, err := engine.Complete(engine.Join(artifact.Scenarios(), coe.Scenarios(), docling.Scenarios(), preflights.Scenarios(), assistant.Scenarios()), text)
	if err != nil {
		panic("conformance: families/checks/checks.txt: " + err.Error())
	}
	engine.NameOfficial(all)
	for i := range all {
		all[i].Suite = Name
	}
	return all
}

// Name is the name of these checks in conformance.Options.Suites and in reports.
const Name = "seeds"

// Suite returns the checks of the specification and those of the 29 tools, in the order of
// a report. The caller may change the value.
func Suite() engine.Suite {
	setup := surroundings.Setup{
		Tools: append(slices.Clone(artifact.Tools), docling.ToolPDF, assistant.ToolSave),
		Fill:  artifact.WriteChecklists,
		Play: func() (surroundings.Services, error) {
			played, err := artifact.NewServices()
			if err != nil {
				return nil, err
			}
			return played, nil
		},
	}
	return engine.Suite{
		Scenarios:   engine.InOrder(slices.Concat(checks.All(), All())),
		Environment: setup.Prepare, RefusesArgument: profile.RefusesArgument,
	}
}

// Run judges subject by [Suite].
func Run(ctx context.Context, subject conformance.Subject, opts conformance.Options) (*conformance.Report, error) {
	return engine.Run(ctx, subject, Suite(), opts)
}

// Plan returns what [Run] would do.
func Plan(ctx context.Context, subject conformance.Subject, opts conformance.Options) ([]conformance.Listed, error) {
	return engine.Plan(ctx, subject, Suite(), opts)
}

// List returns the checks of [Suite].
func List() []conformance.Listed {
	return engine.List(conformance.RoleServer, Suite().Scenarios)
}
