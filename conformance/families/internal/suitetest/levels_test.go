package suitetest

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
)

// TestLevelsAreTheSpecificationsWords: a check warns or fails as the sentence it
// quotes has it, and is advice where no sentence asks servers for it.
func TestLevelsAreTheSpecificationsWords(t *testing.T) {
	t.Parallel()
	var (
		must   = regexp.MustCompile(`\bMUST\b`)
		should = regexp.MustCompile(`(?i:\bshould\b)`)
		may    = regexp.MustCompile(`\bMAY\b`)
		// Standards that the specification builds on have levels of their own.
		standard = regexp.MustCompile(`RFC \d+|JSON-RPC 2\.0`)
	)
	for _, sc := range registry() {
		ours := sc.Needs.Profile != "" || len(sc.Needs.Tools) > 0 // rules of tools that announce them
		const ofUser = "the file of --calls"                      // the user says that an example succeeds
		for _, c := range sc.Checks {
			t.Run(c.ID, func(t *testing.T) {
				quote := c.Spec.Quote
				switch {
				case c.Spec.Section == "":
					require.True(t, c.Level == conformance.Advice || ours || c.Spec.Requirement == ofUser || standard.MatchString(c.Spec.Requirement), "%s, which is in no specification: %s", c.Level, c.Spec.Requirement)
				case c.Level == conformance.Must:
					// A definition binds without a word; a weaker word does not.
					require.True(t, must.MatchString(quote) || !should.MatchString(quote) && !may.MatchString(quote), quote)
				case c.Level == conformance.Should:
					require.Regexp(t, should, quote)
				case c.Level == conformance.May:
					require.Regexp(t, may, quote)
				}
			})
		}
	}
}
