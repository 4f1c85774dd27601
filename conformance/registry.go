package conformance

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// areas are the sections of a report, in the order they are shown.
var areas = []string{
	"lifecycle", "base", "errors", "tools", "resources", "prompts", "completion", "content", "input", "tasks", "subscriptions", "logging", "caching", "utilities", "concurrency", "http", "sse", "stdio", "validate_artifact", "store_artifact",
	areaApprove, areaAddTask, areaIDs, areaTaskAPI, areaIDAPI, areaCOE, areaDocling, areaPreflights, areaAssistant,
}

// Scenarios returns every scenario there is, in the order of a report. All of it
// is the caller's own.
func Scenarios() []Scenario {
	all := slices.Clone(registry())
	for i := range all {
		sc := &all[i]
		sc.run = nil
		sc.Needs.Tools, sc.Checks = slices.Clone(sc.Needs.Tools), slices.Clone(sc.Checks)
		for j := range sc.Checks {
			sc.Checks[j].Official = slices.Clone(sc.Checks[j].Official)
		}
	}
	return all
}

// registry returns every scenario, in the order of a report. All runs share
// them: what a scenario learns stands in its trial, never in the scenario.
var registry = sync.OnceValue(func() []Scenario {
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
	besideOfficial(all)
	slices.SortStableFunc(all, func(a, b Scenario) int {
		return cmp.Or(cmp.Compare(areaRank(a.Area), areaRank(b.Area)), compareIDs(a.ID, b.ID))
	})
	return all
})

// sessionEra bounds scenarios that speak of sessions to the revisions that have
// them.
func sessionEra(lists ...[]Scenario) []Scenario {
	all := slices.Concat(lists...)
	for i := range all {
		if all[i].Until == "" {
			all[i].Until = mcp.LatestSession
		}
	}
	return all
}

// Match reports whether a pattern, as in [Options].Only, selects one of the names
// of a check: its id, its scenario, its area.
func Match(pattern string, names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return glob(pattern, name) })
}

func areaRank(area string) int { return slices.Index(areas, area) }

// compareIDs orders ids as people do: the numbers in them by value.
func compareIDs(a, b string) int {
	for a != "" && b != "" {
		an, arest := leadingNumber(a)
		bn, brest := leadingNumber(b)
		if an >= 0 && bn >= 0 {
			if an != bn {
				return cmp.Compare(an, bn)
			}
			a, b = arest, brest
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// leadingNumber splits a number off the start of text; it is -1 when there is
// none.
func leadingNumber(text string) (int, string) {
	rest := strings.TrimLeft(text, "0123456789")
	if len(rest) == len(text) {
		return -1, text
	}
	n, err := strconv.Atoi(text[:len(text)-len(rest)])
	if err != nil {
		return -1, text
	}
	return n, rest
}

// statelessScenarios are those of the era without sessions alone.
func statelessScenarios() []Scenario {
	return slices.Concat(
		statelessDiscoverScenarios(), statelessHeaderScenarios(), statelessParamScenarios(), statelessHTTPScenarios(),
		statelessSubscriptionScenarios(), statelessStateScenarios(), statelessInputScenarios(), cacheScenarios(), observedStatelessScenarios(),
	)
}
