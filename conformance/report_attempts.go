package conformance

import (
	"cmp"
	"slices"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// badness orders outcomes: of several attempts the worst counts.
var badness = []Status{Skip, Pass, Warn, Inconclusive, Error, Fail}

// FoldAttempts makes one result of those that several attempts left for a check
// in a revision, the worst, and one run of those of a revision. [Run] has done it;
// it is for a suite that fills a report itself.
func (r *Report) FoldAttempts() {
	type key struct {
		revision mcp.Version
		id       string
	}
	at := make(map[key]int, len(r.Results))
	folded := make([]Result, 0, len(r.Results))
	for _, res := range r.Results {
		if res.Status != Skip {
			res.Attempts, res.Bad = 1, 0
			if res.Status != Pass {
				res.Bad = 1
			}
		}
		k := key{res.Revision, res.ID}
		i, again := at[k]
		if !again {
			at[k] = len(folded)
			folded = append(folded, res)
			continue
		}
		folded[i] = worse(folded[i], res)
	}
	r.Results = folded
	r.Revisions = slices.CompactFunc(sortedRevisions(r.Revisions), func(a, b RevisionReport) bool { return a.Revision == b.Revision })
}

// sortedRevisions puts revision runs newest first, those of one revision in the order they
// ran.
func sortedRevisions(runs []RevisionReport) []RevisionReport {
	slices.SortStableFunc(runs, func(a, b RevisionReport) int {
		return newestFirst(a.Revision, b.Revision)
	})
	return runs
}

func newestFirst(a, b mcp.Version) int {
	return cmp.Compare(slices.Index(mcp.Versions(), b), slices.Index(mcp.Versions(), a))
}

// worse returns the worse of two outcomes of a check, with what both count.
func worse(a, b Result) Result {
	attempts, bad := a.Attempts+b.Attempts, a.Bad+b.Bad
	if slices.Index(badness, b.Status) > slices.Index(badness, a.Status) {
		a = b
	}
	a.Attempts, a.Bad = attempts, bad
	return a
}

// MarkUnscored marks the results that are not in the frozen set of a revision, all those
// of another revision among them: nothing was judged by the set where the server
// answered with another one.
func (r *Report) MarkUnscored(set []string, revision mcp.Version) {
	for i := range r.Results {
		_, scored := slices.BinarySearch(set, r.Results[i].ID)
		scored = scored && r.Results[i].Revision == revision
		r.Results[i].Unscored = !scored
	}
}
