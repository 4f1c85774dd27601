package checks

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/idorder"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// areas are the sections of a report, in the order they are shown.
var areas = []string{
	"lifecycle", "base", "errors", "tools", "resources", "prompts", "completion", "content", "input", "tasks", "subscriptions", "logging", "caching", "utilities", "concurrency", "http", "sse", "stdio", "validate_artifact", "store_artifact",
	areaApprove, areaAddTask, areaIDs, areaTaskAPI, areaIDAPI, areaCOE, areaDocling, areaPreflights, areaAssistant,
}

// All returns every scenario there is, in the order of a report. All of it is the
// caller's own.
func All() []conformance.Scenario {
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

// Run is [conformance.Run] with all scenarios, unless opts has others.
func Run(ctx context.Context, subject conformance.Subject, opts conformance.Options) (*conformance.Report, error) {
	return conformance.Run(ctx, subject, whole(opts))
}

// Plan is [conformance.Plan] with all scenarios, unless opts has others.
func Plan(ctx context.Context, subject conformance.Subject, opts conformance.Options) ([]conformance.Planned, error) {
	return conformance.Plan(ctx, subject, whole(opts))
}

// whole adds all scenarios, and what they need, to options that have none.
func whole(opts conformance.Options) conformance.Options {
	if opts.Scenarios == nil {
		opts.Scenarios, opts.Surroundings = registry(), surroundings()
	}
	return opts
}

// registry returns every scenario, in the order of a report. All runs share
// them: what a scenario learns stands in its trial, never in the scenario.
var registry = sync.OnceValue(func() []conformance.Scenario {
	all := slices.Concat(
		sessionEra(
			lifecycleScenarios(), versionScenarios(), gateScenarios(), httpScenarios(), httpRequestScenarios(), httpGuardScenarios(), httpStreamScenarios(), httpSessionScenarios(), shutdownScenarios(),
			sseScenarios(),
		),
		capabilityScenarios(), stdioScenarios(), framingScenarios(), requestScenarios(), textScenarios(), utilityScenarios(), batchScenarios(), idScenarios(), notificationScenarios(),
		conversationScenarios(), errorScenarios(), toolListScenarios(), dialectScenarios(), toolArgumentScenarios(), concurrencyScenarios(), observedScenarios(),
		statelessScenarios(), featureScenarios(), coreTaskScenarios(), extensionTaskScenarios(), authorizationScenarios(), metaScenarios(),
		validateScenarios(), validateChecklistScenarios(), storeScenarios(), storeFileScenarios(),
		coeScenarios(), preflightsScenarios(), doclingScenarios(), assistantScenarios(),
		approveScenarios(), approveRefusalScenarios(), approveServiceScenarios(), addTaskScenarios(), addTaskServiceScenarios(),
		artifactIDScenarios(), taskServiceScenarios(), idServiceScenarios(), artifactLogScenarios(), crossScenarios(),
	)
	conformance.NameOfficial(all)
	slices.SortStableFunc(all, func(a, b conformance.Scenario) int {
		return cmp.Or(cmp.Compare(areaRank(a.Area), areaRank(b.Area)), idorder.Compare(a.ID, b.ID))
	})
	return all
})

// sessionEra bounds scenarios that speak of sessions to the revisions that have
// them.
func sessionEra(lists ...[]conformance.Scenario) []conformance.Scenario {
	all := slices.Concat(lists...)
	for i := range all {
		if all[i].Until == "" {
			all[i].Until = mcp.LatestSession
		}
	}
	return all
}

func areaRank(area string) int { return slices.Index(areas, area) }

// statelessScenarios are those of the era without sessions alone.
func statelessScenarios() []conformance.Scenario {
	return slices.Concat(
		statelessDiscoverScenarios(), statelessHeaderScenarios(), statelessParamScenarios(), statelessHTTPScenarios(),
		statelessSubscriptionScenarios(), statelessStateScenarios(), statelessInputScenarios(), cacheScenarios(), observedStatelessScenarios(),
	)
}

// featureScenarios are about what a server offers, in both eras.
func featureScenarios() []conformance.Scenario {
	return slices.Concat(
		resourceScenarios(), promptScenarios(), loggingScenarios(), paginationScenarios(), fixtureScenarios(), clientFeatureScenarios(), contentScenarios(),
	)
}
