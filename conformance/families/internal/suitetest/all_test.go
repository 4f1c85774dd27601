package suitetest

import (
	"context"
	"slices"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance"
	familychecks "github.com/mainstay-mcp/mainstay/conformance/families/checks"
)

// registry returns the scenarios of both suites.
var registry = sync.OnceValue(func() []conformance.Scenario { return familychecks.Add(conformance.Options{}).Scenarios })

// areaRank is the place of an area in a report, -1 for none.
func areaRank(area string) int {
	var areas []string
	for _, sc := range registry() {
		if !slices.Contains(areas, sc.Area) {
			areas = append(areas, sc.Area)
		}
	}
	return slices.Index(areas, area)
}

// runAll judges a server by both suites, unless opts has scenarios.
func runAll(ctx context.Context, subject conformance.Subject, opts conformance.Options) (*conformance.Report, error) {
	return conformance.Run(ctx, subject, whole(opts))
}

// planAll is what runAll would do.
func planAll(ctx context.Context, subject conformance.Subject, opts conformance.Options) ([]conformance.Planned, error) {
	return conformance.Plan(ctx, subject, whole(opts))
}

func whole(opts conformance.Options) conformance.Options {
	if opts.Scenarios == nil {
		return familychecks.Add(opts)
	}
	return opts
}
