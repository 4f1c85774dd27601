package checks

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	linkTarget = regexp.MustCompile(`\]\([^)]*\)|\]\[[^\]]*\]`)
	element    = regexp.MustCompile(`</?[a-zA-Z][^<>\n]*>`)
	word       = regexp.MustCompile(`[a-z0-9]+`)
)

// wordsOf returns the words of a text without its markup, each between spaces.
func wordsOf(text string) string {
	text = element.ReplaceAllString(linkTarget.ReplaceAllString(text, "]"), " ")
	var words strings.Builder
	for _, w := range word.FindAllString(strings.ToLower(text), -1) {
		words.WriteString(" " + w)
	}
	return words.String() + " "
}

// quotes reports whether a page has the words of a quote in their order. "…"
// is what the quote leaves out.
func quotes(page, quote string) bool {
	for part := range strings.SplitSeq(quote, "…") {
		_, rest, found := strings.Cut(page, wordsOf(part))
		if !found {
			return false
		}
		page = " " + rest // the last word of one part may stand before the next
	}
	return true
}

// TestQuotes: each sentence that a check quotes stands on the page the check names.
func TestQuotes(t *testing.T) {
	t.Parallel()
	pages := map[string]string{}
	for _, sc := range All() {
		for _, c := range sc.Checks {
			if c.Spec.Quote == "" {
				continue
			}
			name, _, _ := strings.Cut(c.Spec.Section, "#")
			page, read := pages[name]
			if !read {
				data, err := os.ReadFile(filepath.Join("testdata", "pages", filepath.FromSlash(name)+".txt"))
				require.NoError(t, err, "%s quotes %s", c.ID, name)
				page = wordsOf(string(data))
				pages[name] = page
			}
			require.True(t, quotes(page, c.Spec.Quote), "%s: %s does not say %q", c.ID, name, c.Spec.Quote)
		}
	}
}

func TestQuotesCanFail(t *testing.T) {
	t.Parallel()
	page := wordsOf("Servers **MUST** [answer](x) a\nping\nand MAY wait.")
	for quote, want := range map[string]bool{
		"Servers MUST answer a ping": true, "Servers MUST … a ping … wait.": true,
		"Servers SHOULD answer": false, "wait … Servers": false, "answer ping": false,
	} {
		require.Equal(t, want, quotes(page, quote), quote)
	}
}
