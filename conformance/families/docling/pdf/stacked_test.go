package pdf

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Japanese that runs down is read column by column, from the right, whether the font does
// that or each character is placed.
func TestVerticalText_S2_CONV_01(t *testing.T) {
	t.Parallel()
	columns := []string{"吾輩は（猫）である。", "名前はまだ無い。", "どこで生れたか", "序"}
	in := &interpreter{drawing: drawing{width: 600, height: 800, glyphs: map[int][]glyph{}}}
	for i, column := range columns {
		for j, r := range []rune(column) {
			in.add(matrix{10, 0, 0, 10, 500 - 60*float64(i), 700 - 10*float64(j)}, glyph{text: string(r), w: 1})
		}
	}
	in.stack()
	require.Empty(t, in.glyphs[0])
	require.Equal(t, 270, mainAngle(in.glyphs))
	var got []string
	for _, l := range arrange(1, segmented(in.glyphs[270])) {
		got = append(got, l.text())
	}
	require.Equal(t, columns, got)

	data := string(file("", "BT /F3 10 Tf 1 0 0 1 500 700 Tm <00020003000200030002> Tj -20 0 Td [<0002> -500 <0003>] TJ ET"))
	data = strings.Replace(data, "/Identity-H", "/Identity-V", 1)
	data = strings.Replace(data, "<0002> <0003> <0041>", "<0002> <0003> <5409>", 1)
	require.Contains(t, outline(t, []byte(data)), "吉吊吉吊吉")
}
