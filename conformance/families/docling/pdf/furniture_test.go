package pdf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// TestFurnish_S2_EXP_06: a header or footer is in the margin, an eighth of
// the page, and on more than half of the pages.
func TestFurnish_S2_EXP_06(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		y     float64
		pages int // of four that have the line
		want  int
	}{
		{"at the top of each", 770, 4, 4},
		{"at the bottom of each", 30, 4, 4},
		{"at the edge of the top margin", 710, 4, 4},
		{"below the top margin", 698, 4, 0},
		{"above the bottom margin", 102, 4, 0},
		{"in the middle", 400, 4, 0},
		{"on most", 770, 3, 3},
		{"on half", 770, 2, 0},
		{"on one", 770, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var pages []string
			for no := range 4 {
				content := at("F1", 10, 50, 500, strings.Repeat("Body ", no+1))
				if no < tt.pages {
					content += at("F1", 10, 50, tt.y, fmt.Sprint("Handbook ", no+1))
				}
				pages = append(pages, content)
			}
			d, err := Convert(file("", pages...), Options{})
			require.NoError(t, err)
			got := 0
			for _, text := range d.Texts {
				if text.Layer == document.LayerFurniture {
					require.Contains(t, text.Text, "Handbook")
					got++
				}
			}
			require.Equal(t, tt.want, got)
		})
	}
}

// A line of the margins stays in the body where it is as large as a heading, where its number
// is not that of the page, and where nothing else would be left or the pages are copies.
func TestFurnish_Body_S2_EXP_06(t *testing.T) {
	t.Parallel()
	body := func(no int) string {
		return at("F1", 10, 50, 500, "Body of page number "+strings.Repeat("I", no)) + at("F1", 10, 50, 480, strings.Repeat("more ", no))
	}
	for name, tt := range map[string]struct {
		page func(no int) string
		want int // headers
	}{
		"of the page":         {func(no int) string { return at("F1", 8, 50, 770, fmt.Sprint("Handbook ", no+6)) + body(no) }, 6},
		"also of the chapter": {func(no int) string { return at("F1", 8, 50, 770, fmt.Sprintf("Part %d, %d", 7-no/3, no)) + body(no) }, 6},
		"constant":            {func(no int) string { return at("F1", 8, 50, 770, "Handbook 2026") + body(no) }, 6},
		"as a heading":        {func(no int) string { return at("F1", 14, 50, 770, fmt.Sprint("Lesson ", no)) + body(no) }, 0},
		"of something else":   {func(no int) string { return at("F1", 10, 50, 770, fmt.Sprint("Invoice number ", 17*no%11)) + body(no) }, 0},
		"nothing else":        {func(no int) string { return at("F1", 10, 50, 770, fmt.Sprint("Invoice number ", no)) }, 0},
		"copies": {func(int) string {
			return at("F1", 10, 50, 770, "Voucher") + at("F1", 10, 50, 500, "One coffee") + at("F1", 10, 50, 30, "until May")
		}, 0},
	} {
		var pages []string
		for no := range 6 {
			pages = append(pages, tt.page(no+1))
		}
		d, err := Convert(file("", pages...), Options{})
		require.NoError(t, err)
		got := 0
		for _, text := range d.Texts {
			if text.Layer == document.LayerFurniture {
				got++
			}
		}
		require.Equal(t, tt.want, got, name)
	}
}
