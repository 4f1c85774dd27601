package pdf

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
)

// run writes text at a place, turned counterclockwise by an angle.
func run(degrees, size, x, y float64, text string) string {
	sin, cos := math.Sincos(degrees * math.Pi / 180)
	return fmt.Sprintf("BT /F1 %v Tf %.6f %.6f %.6f %.6f %v %v Tm (%s) Tj ET\n", size, cos, sin, -sin, cos, x, y, text)
}

// Text at another angle than most is kept as lines of its own, after the others.
func TestTurnedText_S2_CONV_01(t *testing.T) {
	t.Parallel()
	for degrees, want := range map[float64]string{
		90:  "A note of two lines, one after the other.",
		180: "A note of two lines, one after the other.",
		270: "A note of two lines, one after the other.",
		40:  "A note of two lines, one after the other.",
	} {
		sin, cos := math.Sincos(degrees * math.Pi / 180)
		note := run(degrees, 8, 300, 300, "A note of two lines,") + run(degrees, 8, 300+10*sin, 300-10*cos, "one after the other.")
		got := outline(t, file("", note+usual()))
		require.Equal(t, strings.TrimPrefix(usualText, "\n")+`text "`+want+`" p1`+"\n", got, degrees)
	}
}

// A page on which most text is turned is laid out as it is read; places are those of the
// page as it is shown.
func TestTurnedPage_S2_CONV_01(t *testing.T) {
	t.Parallel()
	content := run(90, 18, 100, 50, "A heading") +
		run(90, 10, 130, 50, "First line of a text that is long enough to be") + run(90, 10, 142, 50, "the running text of this page.") +
		run(90, 10, 200, 50, "Oak") + run(90, 10, 200, 200, "12") + run(90, 10, 212, 50, "Elm") + run(90, 10, 212, 200, "7") +
		run(90, 10, 224, 50, "Ash") + run(90, 10, 224, 200, "9") + run(0, 8, 50, 20, "upright")
	d, err := Convert(file("", content), Options{})
	require.NoError(t, err)
	require.NoError(t, document.Check(d))
	require.Equal(t, document.Size{Width: 600, Height: 800}, d.Pages[1].Size)
	require.Equal(t, "A heading", d.Texts[0].Text)
	require.Equal(t, document.TitleLabel, d.Texts[0].Label)
	require.Equal(t, "upright", d.Texts[len(d.Texts)-1].Text)
	require.Len(t, d.Tables, 1)
	require.Equal(t, 3, d.Tables[0].Data.NumRows)
	at := d.Texts[0].Prov[0].BBox
	require.InDelta(t, 100-0.8*18, at.L, 0.1, "the letters reach to the left of their base line")
	require.InDelta(t, 50, at.B, 0.1)
	cell := d.Tables[0].Data.Cells[0].BBox
	require.InDelta(t, 200+0.2*10, cell.R, 0.1)
}

// Large slanted text is a watermark: it is in the background, and a remark tells that.
func TestWatermark_S2_CONV_01(t *testing.T) {
	t.Parallel()
	d, err := Convert(file("", usual()+run(45, 60, 150, 200, "CONFIDENTIAL"), usual()), Options{})
	require.NoError(t, err)
	layers := map[string]document.Layer{}
	for _, text := range d.Texts {
		layers[text.Text] = text.Layer
	}
	require.Equal(t, document.LayerBackground, layers["CONFIDENTIAL"])
	require.Equal(t, []string{"watermark on page 1: it is in the layer background only"}, d.Dropped)
}

// Remarks name what is on the pages but not in the text.
func TestLosses_S2_CONV_01(t *testing.T) {
	t.Parallel()
	image := "q 100 0 0 100 50 300 cm /I Do Q\n"
	for name, tt := range map[string]struct {
		pages []string
		want  []string
	}{
		"nothing":  {[]string{usual()}, nil},
		"no image": {[]string{usual() + "q 100 0 0 100 900 300 cm /I Do Q\n"}, nil},
		"pictures": {[]string{usual() + image, usual(), usual() + image + "q 100 0 0 100 50 500 cm /I Do Q\n"}, []string{"3 pictures on pages 1, 3: text in pictures is not read"}},
		"one":      {[]string{usual() + image}, []string{"1 picture on page 1: text in pictures is not read"}},
		"empty":    {[]string{"", usual(), image, image}, []string{"empty: pages 1, 3-4 have no text; what they show is not read"}},
		"unknown":  {[]string{usual() + "BT /F3 10 Tf 1 0 0 1 50 500 Tm <00ff000200ff> Tj ET"}, []string{"2 glyphs whose text the file does not tell: written as \ufffd"}},
		"beside":   {[]string{usual() + at("F1", 10, -400, 300, "beside") + at("F1", 10, 700, 300, "it")}, []string{"8 characters beside the pages: left out"}},
	} {
		d, err := Convert(file("", tt.pages...), Options{})
		require.NoError(t, err)
		require.Equal(t, tt.want, d.Dropped, name)
	}
}

func TestListed(t *testing.T) {
	t.Parallel()
	require.Equal(t, "page 7", listed([]int{7}))
	require.Equal(t, "pages 1-3, 7", listed([]int{1, 2, 3, 7}))
	var odd []int
	for i := range 30 {
		odd = append(odd, 2*i+1)
	}
	require.True(t, strings.HasSuffix(listed(odd), "37, 39, and 10 more"), listed(odd))
}
