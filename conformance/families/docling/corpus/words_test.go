package corpus

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCountWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"case and punctuation", "The (the) THE, don't", "the the the don t"},
		{"ligatures", "ef\ufb01cient", "efficient"},
		{"full width", "\uff21\uff11", "a1"},
		{"soft hyphen", "com\u00adpute", "compute"},
		{"hyphen at a line end", "com-\npute", "compute"},
		{"hyphen at a line end, indented", "com-\n  pute", "compute"},
		{"hyphen in a word", "well-known", "wellknown"},
		{"other hyphens", "well\u2010known well\u2011known", "wellknown wellknown"},
		{"dash between words", "a - b", "a b"},
		{"hanging hyphen", "vor- und nach", "vor und nach"},
		{"negative numbers", "-5 -6", "5 6"},
		{"decimals", "3.14", "3 14"},
		{"marks", "e\u0301te\u0301", "été"},
		{"Arabic presentation forms", "\ufeb3\ufefc\ufee1", "سلام"},
		{"marks of direction", "\u202babc\u202c", "abc"},
		{"Han and kana", "日本語テスト", "日 本 語 テ ス ト"},
		{"Han beside Latin", "PDF文書", "pdf 文 書"},
		{"Hangul has spaces", "한국어 문서", "한국어 문서"},
		{"bullets", "• one \uf0b7 two", "one two"},
		{"nothing", " \n", ""},
	} {
		want := map[string]int{}
		for w := range strings.FieldsSeq(c.want) {
			want[w]++
		}
		require.Equal(t, want, CountWords(c.text), c.name)
	}
}

func FuzzCountWords(f *testing.F) {
	f.Add("Com-\npute the 日本 3.14")
	f.Add("J\u030c a\u200d\u0301")
	f.Fuzz(func(t *testing.T, text string) {
		once := CountWords(text)
		var all strings.Builder
		for w, n := range once {
			require.NotEmpty(t, w)
			all.WriteString(strings.Repeat(w+" ", n))
		}
		require.Equal(t, once, CountWords(all.String()), "words are words again")
	})
}

func TestOrder(t *testing.T) {
	for _, tt := range []struct {
		source, read string
		want         float64
	}{
		{"one two three four", "one two three four", 1},
		{"one two three four", "one three two four", .75},
		{"one two three four", "four three two one", .25},
		{"one two three four", "one four", 1},
		{"one two two three", "two one three two", 1},
		{"港口测量水位", "港口测量水位", 1},
		{"港口 测量 水位", "水位 港口 测量", .75},
		{"one", "", 1},
	} {
		require.InDelta(t, tt.want, Order(tt.source, tt.read), 0.001, tt.read)
	}
}
