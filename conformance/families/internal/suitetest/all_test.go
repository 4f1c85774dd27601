package suitetest

import (
	"context"
	"slices"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance"
	familychecks "github.com/mainstay-mcp/mainstay/conformance/families/checks"
	"github.com/mainstay-mcp/mainstay/conformance/families/checks/surroundings"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// suite has the scenarios of the protocol and of the tool families.
var suite = sync.OnceValue(func() engine.Suite {
	all := familychecks.Suite()
	all.MaxRequest = largestHere
	all.Starvation = func() float64 { return 1 } // a server that stays silent does so on a busy machine, too
	return all
})

// registry returns the scenarios of both suites.
func registry() []engine.Scenario { return suite().Scenarios }

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

// runAll judges a server by both suites.
func runAll(ctx context.Context, subject conformance.Subject, opts conformance.Options) (*conformance.Report, error) {
	return engine.Run(ctx, subject, suite(), opts)
}

// planAll is what runAll would do.
func planAll(ctx context.Context, subject conformance.Subject, opts conformance.Options) ([]conformance.Listed, error) {
	return engine.Plan(ctx, subject, suite(), opts)
}

// around returns the fixtures of a run.
func around(f surroundings.Fixtures) map[string]any { return map[string]any{surroundings.Key: f} }
