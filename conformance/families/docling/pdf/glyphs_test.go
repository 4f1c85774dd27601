package pdf

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// fontProgram is a TrueType font that has nothing but a table from text to
// glyphs.
func fontProgram(format ...uint16) []byte {
	table := []uint16{0, 1, 3, 1, 0, 12} // one part, of Windows and Unicode
	table = append(table, format...)
	out := append([]byte{0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}, "cmap\x00\x00\x00\x00"...)
	out = binary.BigEndian.AppendUint32(out, 28)
	out = binary.BigEndian.AppendUint32(out, uint32(2*len(table)))
	for _, n := range table {
		out = binary.BigEndian.AppendUint16(out, n)
	}
	return out
}

// The texts of glyphs are those of the font's own table.
func TestByGlyph_S2_CONV_01(t *testing.T) {
	segments := fontProgram(4, 0, 0, 6, 0, 0, 0, // three segments
		'C', 'f', 0xffff, 0, 'A', 'e', 0xffff, // last, first
		0xffff&(10-'A'+0x10000), 0, 1, 0, 4, 0, // deltas; offsets
		70, 0) // of the second one
	require.Equal(t, map[int]rune{10: 'A', 11: 'B', 12: 'C', 70: 'e'}, byGlyph(segments))
	groups := fontProgram(12, 0, 0, 0, 0, 0, 0, 1, 1, 0xf600, 1, 0xf601, 0, 7)
	require.Equal(t, map[int]rune{7: '😀', 8: '😁'}, byGlyph(groups))
	require.Empty(t, byGlyph([]byte("no font")))
}

// FuzzByGlyph: reading ends, and every sign is one.
func FuzzByGlyph(f *testing.F) {
	f.Add(fontProgram(4, 0, 0, 2, 0, 0, 0, 0xffff, 0, 0, 0, 0))
	f.Add(fontProgram(12, 0, 0, 0, 0, 0, 0xffff, 0xffff, 0, 0, 0xffff, 0xffff, 0, 7))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, r := range byGlyph(data) {
			require.LessOrEqual(t, r, rune(0x10ffff))
		}
	})
}

// The parts of the Japanese collection begin and end where Adobe's list says.
func TestJapan_S2_CONV_01(t *testing.T) {
	for number, want := range map[int]rune{1: ' ', 34: 'A', 231: ' ', 633: '\u3000', 780: '０', 842: 'ぁ', 925: 'ァ', 1011: 'Α', 1059: 'А', 1125: '亜', 4089: '腕', 4090: '弌', 7477: '瑤', 7887: '、', 7899: '（', 7911: '「', 7917: '＝', 7918: 'ぁ', 7923: 'っ', 7939: 'ヶ'} {
		require.Equal(t, string(want), string(japan()[number]), number)
	}
}

// A table that gives a glyph the text of a line is not trusted where the font tells itself.
func TestConfusedTable_S2_CONV_01(t *testing.T) {
	f := &font{composite: true, cmap: &charMap{glyphs: map[int]rune{1: '\u05d0', 2: '\u05d1'}}, double: map[string]shape{}}
	f.unicode = map[string]string{"\x00\x01": "\u05d0\u05d1", "\x00\x02": "a line that is no glyph"}
	f.confused = confused(f.unicode)
	require.Equal(t, "\u05d0", f.code([]byte{0, 1}).text)
	require.Equal(t, "\u05d1", f.code([]byte{0, 2}).text)
	require.False(t, confused(map[string]string{"\x01": "\ufdfa", "\x02": "صلى الله عليه وسلم"}))
}
