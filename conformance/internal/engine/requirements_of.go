package engine

import (
	"slices"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// RequirementsOf returns the ids of the scenarios' checks that are rules of a revision,
// sorted: what a set holds on the day it is frozen.
func RequirementsOf(scenarios []Scenario, revision mcp.Version) []string {
	var ids []string
	l := RevisionRun{Revision: revision}
	for i := range scenarios {
		sc := &scenarios[i]
		if l.outside(sc.Since, sc.Until) != "" {
			continue
		}
		for _, c := range sc.Checks {
			if l.outside(c.Since, c.Until) == "" {
				ids = append(ids, c.ID)
			}
		}
	}
	slices.Sort(ids)
	return ids
}
