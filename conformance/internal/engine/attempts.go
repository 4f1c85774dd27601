package engine

import (
	"cmp"
	"slices"
	"sort"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// badness orders outcomes: of several attempts the worst counts.
var badness = []conformance.Status{
	conformance.Skip, conformance.Pass, conformance.Warn, conformance.Inconclusive, conformance.Error, conformance.Fail,
}

// FoldAttempts replaces the results of several attempts at a check in a revision by the
// worst of them, and the runs of a revision by one.
func FoldAttempts(r *conformance.Report) {
	type key struct {
		revision mcp.Version
		id       string
	}
	at := make(map[key]int, len(r.Results))
	folded := make([]conformance.Result, 0, len(r.Results))
	for _, res := range r.Results {
		if res.Status != conformance.Skip {
			res.Attempts, res.Bad = 1, 0
			if res.Status != conformance.Pass {
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
	sort.SliceStable(r.Revisions, func(i, j int) bool { return newestFirst(r.Revisions[i].Revision, r.Revisions[j].Revision) < 0 })
	r.Revisions = slices.CompactFunc(r.Revisions, func(a, b conformance.RevisionReport) bool { return a.Revision == b.Revision })
}

func newestFirst(a, b mcp.Version) int {
	return cmp.Compare(slices.Index(mcp.Versions(), b), slices.Index(mcp.Versions(), a))
}

// worse returns the worse of two outcomes of a check, with the sum of their attempts.
func worse(a, b conformance.Result) conformance.Result {
	attempts, bad := a.Attempts+b.Attempts, a.Bad+b.Bad
	if slices.Index(badness, b.Status) > slices.Index(badness, a.Status) {
		a = b
	}
	a.Attempts, a.Bad = attempts, bad
	return a
}

// MarkUnscored marks the results that are not in the frozen set of a revision, with all
// results of other revisions: a server that answered with another revision was not judged
// by the set.
func MarkUnscored(r *conformance.Report, set []string, revision mcp.Version) {
	for i := range r.Results {
		_, scored := slices.BinarySearch(set, r.Results[i].ID)
		r.Results[i].Unscored = !scored || r.Results[i].Revision != revision
	}
}
