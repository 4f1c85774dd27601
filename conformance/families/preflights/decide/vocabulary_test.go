package decide

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// TestVocabulary: a term has one meaning, or the order of the files would
// decide what it says.
func TestVocabulary(t *testing.T) {
	t.Parallel()
	concepts := append([]concept{ask, touch, neutral}, verbs...)
	for c := range weights {
		concepts = append(concepts, c)
	}
	meaning := map[string]concept{}
	for _, terms := range words() {
		for _, term := range terms {
			require.Contains(t, concepts, term.concept)
			text := strings.Join(term.tokens[:term.gap], " ") + " .. " + strings.Join(term.tokens[term.gap:], " ")
			if other, ok := meaning[text]; ok && other != term.concept {
				t.Errorf("%q is %s and %s", text, other, term.concept)
			}
			meaning[text] = term.concept
		}
	}
	require.Greater(t, len(meaning), 3000)
}

func TestVocabulary_Read(t *testing.T) {
	t.Parallel()
	v := load(fstest.MapFS{"vocabulary/x.txt": {Data: []byte("# Words.\n[a]\ncrash report*, turn .. into, *speicher, 消息\n\n[b]\ncrash, turn, Straße, 消息队列\n")}})
	for text, want := range map[string]string{
		"":                             "",
		"crash":                        "b",
		"the Crash-Reporting":          "a",
		"crash, reporting":             "a",
		"turn a b c d e f into":        "a",
		"turn a b c d e f g into":      "b",
		"turn into":                    "a",
		"turn crash into":              "ab",
		"Zwischenspeicher speichert":   "a",
		"STRASSE strasse stra\u00dfes": "bb",
		"接入消息队列,消息":                    "ba",
		"*":                            "",
	} {
		var got []string
		for _, c := range v.read(text) {
			got = append(got, string(c))
		}
		require.Equal(t, want, strings.Join(got, ""), text)
	}
	require.Equal(t, []string{"l", "ecole", "c++", "消", "息", "abc"}, tokens("L'École, C++ 消息ＡＢＣ"))
	require.True(t, slices.Equal(tokens("e\u0301"), tokens("é")))
}
