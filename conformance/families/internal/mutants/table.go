package mutants

import (
	"fmt"
	"strings"
)

// Verdict is what both suites said of one mutant.
type Verdict struct {
	Mutant  Mutant
	Finding *Finding
	// Err is why the mutant could not be judged.
	Err error
	// Official are the scenarios of the official suite that noticed it;
	// OfficialRan is false where that suite has no say: over stdio.
	Official    []string
	OfficialRan bool
}

// Score counts mutants.
type Score struct{ All, Ours, HTTP, OfficialAll int }

// Count counts what was noticed.
func Count(verdicts []Verdict) Score {
	var s Score
	for _, v := range verdicts {
		s.All++
		if v.Finding != nil {
			s.Ours++
		}
		if v.Mutant.Transport == HTTP {
			s.HTTP++
		}
		if len(v.Official) > 0 {
			s.OfficialAll++
		}
	}
	return s
}

// String is the score in one line.
func (s Score) String() string {
	return fmt.Sprintf("detected: %d of %d (%.1f %%); by the official suite %d of %d (%.1f %%), of those over HTTP %.1f %%",
		s.Ours, s.All, Percent(s.Ours, s.All), s.OfficialAll, s.All, Percent(s.OfficialAll, s.All), Percent(s.OfficialAll, s.HTTP))
}

// Percent is n of all.
func Percent(n, all int) float64 { return 100 * float64(n) / float64(max(all, 1)) }

// Table renders the verdicts as a table in Markdown.
func Table(verdicts []Verdict) string {
	var out strings.Builder
	out.WriteString("| Mutant | The server is wrong in this | Breaks | A check that notices | Official suite |\n|---|---|---|---|---|\n")
	for _, v := range verdicts {
		where := ""
		if v.Mutant.Transport == Stdio {
			where = " (stdio)"
		}
		fmt.Fprintf(&out, "| `%s` | %s%s | %s | %s | %s |\n", v.Mutant.ID, v.Mutant.Says, where, v.Mutant.Breaks, v.ours(), v.official())
	}
	return out.String()
}

func (v Verdict) ours() string {
	switch {
	case v.Finding != nil:
		return fmt.Sprintf("`%s` (%s, %s)", v.Finding.Check, v.Finding.Revision, v.Finding.Status)
	case v.Err != nil:
		return "**could not be judged**"
	}
	return "**none**"
}

func (v Verdict) official() string {
	switch {
	case v.Mutant.Transport == Stdio:
		return "has no stdio"
	case !v.OfficialRan:
		return "not run"
	case len(v.Official) == 0:
		return "not noticed"
	case len(v.Official) == 1:
		return v.Official[0]
	}
	return fmt.Sprintf("%s and %d more", v.Official[0], len(v.Official)-1)
}
