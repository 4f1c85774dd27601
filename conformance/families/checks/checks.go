// Package familychecks has the checks of the 29 tools that the reference server offers, in
// the families artifact, coe, docling, preflights and assistant.
//
// They are no part of package checks, so that programs that judge other servers do
// not get them. A run that is to have them is given them:
//
//	report, err := checks.Run(ctx, subject, familychecks.Add(conformance.Options{}))
package familychecks

import (
	_ "embed" // the file below
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/checks"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/artifact"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/assistant"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/coe"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/docling"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/preflights"
	"github.com/mainstay-mcp/mainstay/conformance/internal/checktext"
)

// texts is what the checks say that are no tables.
//
//go:embed checks.txt
var texts string

// All returns the scenarios of the 29 tools, in the order of a report.
func All() []conformance.Scenario {
	all, err := checktext.Complete(slices.Concat(artifact.Scenarios(), coe.Scenarios(), docling.Scenarios(), preflights.Scenarios(), assistant.Scenarios()), texts)
	if err != nil {
		panic("conformance: seeds: checks.txt: " + err.Error()) //nolint:forbidigo // embedded: every test meets it
	}
	conformance.NameOfficial(all)
	return all
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
