package clientsuite

import (
	"cmp"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
)

// areas are the sections of a report, in the order they are shown.
var areas = []string{"messages", "lifecycle", "negotiation", "tools", "features", "stateless", "http", "auth", "stdio", "faults"}

// registry returns every scenario, in the order of a report.
func registry() []scenario {
	all := slices.Concat(
		messageScenarios(), lifecycleScenarios(), negotiationScenarios(), serverAsks(), toolScenarios(), listScenarios(), answerScenarios(), arrayScenarios(), cancelScenarios(), undeclaredScenarios(),
		featureScenarios(), promptScenarios(), subscriptionScenarios(), refusalScenarios(), statelessScenarios(), roundScenarios(), taskScenarios(), seenHTTP(), httpScenarios(), pollingScenarios(), headerScenarios(), annotationScenarios(), authScenarios(), stdioScenarios(), faultScenarios(),
	)
	slices.SortStableFunc(all, func(a, b scenario) int {
		return cmp.Compare(slices.Index(areas, a.area), slices.Index(areas, b.area))
	})
	return all
}

// List returns all checks, in the order of a report.
func List() []conformance.Listed {
	var out []engine.Scenario
	for _, sc := range registry() {
		s := engine.Scenario{
			ID: sc.id, Area: sc.area, Title: sc.title, Since: sc.since, Until: sc.until,
			Needs: engine.Needs{Transport: sc.transport},
		}
		for _, c := range sc.checks {
			s.Checks = append(s.Checks, c.Check)
		}
		out = append(out, s)
	}
	return engine.List(conformance.RoleClient, out)
}
