package decide

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A sample is a request of a file in testdata.
type sample struct {
	language, text string
	adr            bool
}

func samples(t *testing.T, name string) []sample {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	require.NoError(t, err)
	defer func() { _ = f.Close() }() // read only
	var all []sample
	var section sample
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			language, answer, ok := strings.Cut(strings.Trim(line, "[]"), " ")
			require.True(t, ok, line)
			section = sample{language: language, adr: answer == "yes"}
		default:
			section.text = line
			all = append(all, section)
		}
	}
	return all
}

// TestDecide_Requests: nearly all requests of the list are judged as people
// would, in every language. What the rule does on requests it was not made with
// is worse; conformance/families/docs/reference.md has the figures.
func TestDecide_Requests(t *testing.T) {
	t.Parallel()
	right, all := map[string]int{}, map[string]int{}
	for _, s := range samples(t, "requests.txt") {
		got := Decide(Request{Intention: s.text})
		all[s.language]++
		if got.ADR == s.adr {
			right[s.language]++
		} else {
			t.Logf("%s: want %v, got %v (%s): %s %v", s.language, s.adr, got.ADR, got.Reason, s.text, words().read(s.text))
		}
	}
	require.Len(t, all, 6)
	for language := range all {
		require.GreaterOrEqual(t, right[language]*100, all[language]*95, "%s: %d of %d", language, right[language], all[language])
	}
}

// TestDecide_Unseen measures the rule on requests that it was not made with.
func TestDecide_Unseen(t *testing.T) {
	t.Parallel()
	list := samples(t, "unseen.txt")
	require.Len(t, list, 60)
	right, needed := 0, 0
	for _, s := range list {
		got := Decide(Request{Intention: s.text})
		if s.adr {
			needed++
		}
		if got.ADR == s.adr {
			right++
		} else {
			t.Logf("%s: want %v, got %v (%s): %s", s.language, s.adr, got.ADR, got.Reason, s.text)
		}
	}
	require.Equal(t, 30, needed, "half and half")
	require.GreaterOrEqual(t, right*100, len(list)*80, "%d of %d", right, len(list))
}
