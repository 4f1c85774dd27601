package visible

import (
	"bytes"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "héllo\n\tworld 😀", "héllo\n\tworld 😀"},
		{"colour", "\x1b[31mred\x1b[0m", "␛[31mred␛[0m"},
		{"title", "\x1b]0;owned\x07", "␛]0;owned␇"},
		{"clipboard", "\x1b]52;c;aGk=\x1b\\", "␛]52;c;aGk=␛\\"},
		{"link", "\x1b]8;;http://x\x1b\\y", "␛]8;;http://x␛\\y"},
		{"carriage return", "safe\rEVIL", "safe␍EVIL"},
		{"two-character line ending", "a\r\nb", "a\nb"},
		{"last carriage return", "a\r", "a␍"},
		{"backspace, delete, nul", "a\bb\x7fc\x00", "a␈b␡c␀"},
		{"C1 control", "a\u009b31m", "a<U+009B>31m"},
		{"raw C1 byte", "a\x9b31m", "a<0x9B>31m"},
		{"bidirectional", "a\u202eb\u2066c", "a<U+202E>b<U+2066>c"},
		{"zero width", "a\u200bb\ufeffc\u200d", "a<U+200B>b<U+FEFF>c<U+200D>"},
		{"tags", "\U000e0041", "<U+E0041>"},
		{"separators", "a\u2028b\u2029", "a<U+2028>b<U+2029>"},
		{"soft hyphen", "a\u00ad", "a<U+00AD>"},
		{"filler", "a\u3164", "a<U+3164>"},
		{"replacement character itself", "a\ufffd", "a\ufffd"},
		{"empty", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, Text(tt.in))
		})
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a␊b␉c", Line("a\nb\tc"))
	require.Equal(t, "abc", Line("abc"))
}

func FuzzText(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m\r\n", 3)
	f.Add("a\u202e\x9b\xf0\x9f\x98", 8)
	f.Add("\r", 1)
	f.Fuzz(func(t *testing.T, s string, cut int) {
		got := Text(s)
		require.True(t, utf8.ValidString(got))
		for _, r := range got {
			require.Falsef(t, r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)), "%U in %q", r, got)
		}
		require.Equal(t, got, Text(got), "marks are plain text")

		cut = min(max(cut, 0), len(s))
		var out bytes.Buffer
		w := NewWriter(&out)
		for _, part := range []string{s[:cut], s[cut:]} {
			n, err := w.Write([]byte(part))
			require.NoError(t, err)
			require.Equal(t, len(part), n)
		}
		require.NoError(t, w.Flush())
		require.Equal(t, got, out.String(), "pieces must read as the whole")
	})
}

func TestWidth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "abc": 3, "größe": 5, "e\u0301": 1, "名前": 4, "한글": 4, "Ａ": 2, "🙂": 2, "…": 1, "␛": 1} {
		require.Equal(t, want, Width(text), text)
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text    string
		columns int
		want    string
	}{
		{"Echoes back the input", 21, "Echoes back the input"},
		{"Echoes back the input", 20, "Echoes back the…"},
		{"Echoes back the input", 16, "Echoes back the…"},
		{"Echoes back the input", 15, "Echoes back…"},
		{"Echoes", 4, "Ech…"},
		{"an internationalization", 12, "an internat…"},
		{"名前名前", 6, "名前…"},
	} {
		got := Fit(tt.text, tt.columns)
		require.Equal(t, tt.want, got)
		require.LessOrEqual(t, Width(got), tt.columns)
	}
}
