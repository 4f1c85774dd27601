package pdf

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/bidi"
)

// shown is the signs of a text as they stand on the page from left to right, by
// the Unicode algorithm as the library implements it.
func shown(t *testing.T, text string, base bidi.Direction) []string {
	t.Helper()
	var p bidi.Paragraph
	_, err := p.SetString(text, bidi.DefaultDirection(base))
	require.NoError(t, err)
	order, err := p.Order()
	require.NoError(t, err)
	var out []string
	for i := range order.NumRuns() {
		run := order.Run(i)
		pieces := strings.Split(run.String(), "")
		if run.Direction() == bidi.RightToLeft {
			slices.Reverse(pieces)
			for j, piece := range pieces {
				r, _ := utf8.DecodeRuneInString(piece)
				if at := slices.Index([]rune(brackets), r); at >= 0 {
					pieces[j] = string([]rune(brackets)[at^1])
				}
			}
		}
		out = append(out, pieces...)
	}
	if base == bidi.RightToLeft { // the library's runs are in the order of the text
		return rightFirst(order, out)
	}
	return out
}

// rightFirst puts the runs of a line that begins at the right from left to right.
func rightFirst(order bidi.Ordering, pieces []string) []string {
	var runs [][]string
	for i := range order.NumRuns() {
		run := order.Run(i)
		n := utf8.RuneCountInString(run.String())
		runs = append(runs, pieces[:n])
		pieces = pieces[n:]
	}
	slices.Reverse(runs)
	return slices.Concat(runs...)
}

// What the Unicode algorithm puts on the page is read back as it was.
func TestReorder_S2_CONV_01(t *testing.T) {
	for _, test := range []struct {
		text string
		base bidi.Direction
	}{
		{"plain words, and (brackets)", bidi.LeftToRight},
		{"تقيس المحطة درجة الحرارة.", bidi.RightToLeft},
		{"בדיקה של משפט (עם סוגריים) אחד.", bidi.RightToLeft},
		{"بدأ العمل في 12 مايو 2024، وانتهى.", bidi.RightToLeft},
		{"العمل بين 1,500.25 و ٥٢٥٦٠ قراءة", bidi.RightToLeft},
		{"מחיר של 98.5% מן הצפוי, או $5 ליום", bidi.RightToLeft},
		{"شركة Example Instruments وطرازه «AB-12» هنا", bidi.RightToLeft},
		{"The word שלום is Hebrew, السلام is Arabic.", bidi.LeftToRight},
		{"The words שלום עולם are two", bidi.LeftToRight},
		{"הגרסה החדשה Windows 11 כאן", bidi.RightToLeft},
		{"[قائمة] الأسماء [ثانية]", bidi.RightToLeft},
	} {
		t.Run(test.text, func(t *testing.T) {
			require.Equal(t, test.text, reorder(shown(t, test.text, test.base), false))
		})
	}
}

// A bracket that is written down as it is meant, not as it is drawn, stays.
func TestReorder_BracketsAsMeant_S2_CONV_01(t *testing.T) {
	pieces := strings.Split("(אבג) דהו", "")
	slices.Reverse(pieces)
	require.Equal(t, "(אבג) דהו", reorder(pieces, false))
}

// A line without end costs no more than its length.
func TestReorder_Long_S2_CONV_09(t *testing.T) {
	for _, part := range []string{"1!", "%", "a!", "1.", "(", "א1"} {
		text := "א" + strings.Repeat(part, 200_000) + "א"
		require.Len(t, reorder(strings.Split(text, ""), false), len(text))
	}
}

// FuzzReorder: nothing is lost and nothing is added.
func FuzzReorder(f *testing.F) {
	f.Add("abc (שלום) 12.5% السلام")
	f.Add("%%5 ا$4..")
	f.Fuzz(func(t *testing.T, text string) {
		unmirrored := func(text string) []rune {
			signs := []rune(strings.ToValidUTF8(text, ""))
			for i, r := range signs {
				if at := slices.Index([]rune(brackets), r); at >= 0 {
					signs[i] = []rune(brackets)[at&^1]
				}
			}
			slices.Sort(signs)
			return signs
		}
		text = strings.ToValidUTF8(text, "")
		require.Equal(t, unmirrored(text), unmirrored(reorder(strings.Split(text, ""), false)))
	})
}

// The forms of Arabic letters are the letters; ligatures are theirs.
func TestClean_PresentationForms_S2_CONV_01(t *testing.T) {
	for in, want := range map[string]string{"\ufedf": "ل", "\ufefb": "لا", "\ufdf2": "الله", "\ufb2a": "שׁ", "\ufb4b": "וֹ", "\ufb02": "fl"} {
		require.Equal(t, want, clean(in))
	}
}

// On a page that runs from the right, so does a line with more Latin letters than others,
// unless it begins and ends with them.
func TestReorder_PageFromRight_S2_CONV_01(t *testing.T) {
	for text, base := range map[string]bidi.Direction{
		"שם: Example Instruments Limited":            bidi.RightToLeft,
		"Example Instruments Limited, דגם":           bidi.RightToLeft,
		"The word שלום is Hebrew in this sentence.":  bidi.LeftToRight,
		"plain words of a page from the right (yes)": bidi.LeftToRight,
		"1.":       bidi.RightToLeft,
		"(12)":     bidi.RightToLeft,
		"1,500.25": bidi.RightToLeft,
		"214":      bidi.RightToLeft,
	} {
		require.Equal(t, text, reorder(shown(t, text, base), true), text)
	}
}
