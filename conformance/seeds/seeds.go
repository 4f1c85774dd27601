// Package seeds has the checks of the 29 tools that the reference server offers, in
// the families artifact, coe, docling, preflights and assistant.
//
// They are no part of package checks, so that programs that judge other servers do
// not get them. A run that is to have them is given them:
//
//	report, err := checks.Run(ctx, subject, seeds.Add(conformance.Options{}))
package seeds

import (
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks"
	"github.com/mainstay-mcp/mainstay/conformance/seeds/artifact"
	"github.com/mainstay-mcp/mainstay/conformance/seeds/assistant"
	"github.com/mainstay-mcp/mainstay/conformance/seeds/coe"
	"github.com/mainstay-mcp/mainstay/conformance/seeds/docling"
	"github.com/mainstay-mcp/mainstay/conformance/seeds/preflights"
)

// areas are the sections of a report, in their order.
var areas = []string{
	artifact.AreaValidate, artifact.AreaStore, artifact.AreaApprove, artifact.AreaAddTask, artifact.AreaIDs, artifact.AreaTaskAPI, artifact.AreaIDAPI,
	coe.Area, docling.Area, preflights.Area, assistant.Area,
}

// All returns the scenarios of the 29 tools, in the order of a report.
func All() []conformance.Scenario {
	all := slices.Concat(artifact.Scenarios(), coe.Scenarios(), docling.Scenarios(), preflights.Scenarios(), assistant.Scenarios())
	conformance.NameOfficial(all)
	return conformance.InOrder(all, areas...)
}

// Add returns opts with the scenarios of the 29 tools, and what these need around the
// server. They stand beside the scenarios of opts or, if it has none, beside those of
// package checks.
func Add(opts conformance.Options) conformance.Options {
	if opts.Scenarios == nil {
		opts.Scenarios = checks.All()
	}
	opts.Scenarios = conformance.InOrder(slices.Concat(opts.Scenarios, All()))
	opts.Surroundings = surroundings()
	return opts
}

// surroundings is what the scenarios of the artifact, docling and assistant families
// need around a program.
func surroundings() conformance.Surroundings {
	return conformance.Surroundings{
		Tools: append(slices.Clone(artifact.Tools), docling.ToolPDF, assistant.ToolSave),
		Fill:  func(f conformance.Fixtures) error { return artifact.WriteChecklists(f.Checklists) },
		Play: func() (conformance.Services, error) {
			played, err := artifact.NewServices()
			if err != nil {
				return nil, err
			}
			return played, nil
		},
	}
}
