package pdf

import (
	"encoding/binary"
	"sync"

	"golang.org/x/text/encoding/japanese"
)

// byGlyph is the text of each glyph of a TrueType font, by the font's own table
// from text to glyphs: some programs leave it to readers to look there.
func byGlyph(program []byte) map[int]rune {
	table := sfntTable(program, "cmap")
	if len(table) < 4 {
		return nil
	}
	glyphs := map[int]rune{}
	for i := range min(int(binary.BigEndian.Uint16(table[2:])), 64) {
		record := table[min(4+8*i, len(table)):]
		if len(record) < 8 {
			break
		}
		platform, coding := binary.BigEndian.Uint16(record), binary.BigEndian.Uint16(record[2:])
		if platform != 0 && (platform != 3 || coding != 1 && coding != 10) {
			continue // not of Unicode
		}
		if at := int(binary.BigEndian.Uint32(record[4:])); at < len(table) {
			readGlyphs(table[at:], glyphs)
		}
	}
	return glyphs
}

// sfntTable is a table of a TrueType font.
func sfntTable(program []byte, name string) []byte {
	if len(program) < 12 {
		return nil
	}
	for i := range int(binary.BigEndian.Uint16(program[4:])) {
		record := program[min(12+16*i, len(program)):]
		if len(record) < 16 {
			return nil
		}
		if string(record[:4]) == name {
			from, n := uint64(binary.BigEndian.Uint32(record[8:])), uint64(binary.BigEndian.Uint32(record[12:]))
			from = min(from, uint64(len(program)))
			return program[from:min(from+n, uint64(len(program)))]
		}
	}
	return nil
}

// readGlyphs reads a table of format 4 or 12, the two that fonts have. Of several
// signs of a glyph the first counts.
func readGlyphs(table []byte, glyphs map[int]rune) {
	u16 := func(at int) int {
		if at < 0 || at+2 > len(table) {
			return 0
		}
		return int(binary.BigEndian.Uint16(table[at:]))
	}
	u32 := func(at int) int { return u16(at)<<16 | u16(at+2) }
	put := func(glyph int, r rune) {
		if _, known := glyphs[glyph]; glyph != 0 && !known && len(glyphs) < maxMapped {
			glyphs[glyph] = r
		}
	}
	left := maxMapped // of the signs looked at, whatever the ranges claim
	switch u16(0) {
	case 4:
		segments := min(u16(6)/2, len(table)/8)
		for i := range segments {
			last, first := u16(14+2*i), u16(16+2*segments+2*i)
			delta, offsetAt := u16(16+4*segments+2*i), 16+6*segments+2*i
			for c := first; c <= last && c < 0xffff && left > 0; c, left = c+1, left-1 {
				glyph := c
				if offset := u16(offsetAt); offset != 0 {
					if glyph = u16(offsetAt + offset + 2*(c-first)); glyph == 0 {
						continue
					}
				}
				put((glyph+delta)&0xffff, rune(c))
			}
		}
	case 12:
		for i := range min(u32(12), len(table)/12) {
			first, last, glyph := u32(16+12*i), u32(20+12*i), u32(24+12*i)
			for c := first; c <= last && c <= 0x10ffff && left > 0; c, left = c+1, left-1 {
				put(glyph+c-first, rune(c))
			}
		}
	}
}

// japan is the text of the glyphs of Adobe's Japanese collection that are in JIS
// X 0208 or ASCII: the collection has them in the order of those standards.
var japan = sync.OnceValue(func() map[int]rune {
	const (
		ascii, halfWidth = 1, 231 // where each part begins
		signs, kanji     = 633, 1125
		secondKanji, end = 4090, 7478
	)
	glyphs := map[int]rune{}
	for c := ' '; c <= '~'; c++ {
		glyphs[ascii+int(c-' ')], glyphs[halfWidth+int(c-' ')] = c, c
	}
	decoder := japanese.EUCJP.NewDecoder()
	rows := func(at, from, to, end int) {
		for row := from; row <= to; row++ {
			for cell := 1; cell <= 94 && at < end; cell++ {
				text, err := decoder.Bytes([]byte{byte(0xa0 + row), byte(0xa0 + cell)})
				if r := []rune(string(text)); err == nil && len(r) == 1 && r[0] != '\ufffd' {
					glyphs[at] = r[0]
					at++
				}
			}
		}
	}
	rows(signs, 1, 7, kanji)
	rows(kanji, 16, 47, secondKanji)
	rows(secondKanji, 48, 84, end)
	for i, r := range []rune(japanDown) {
		glyphs[firstDown+i] = r
	}
	return glyphs
})

// japanDown are the characters of Adobe's Japanese collection in the form that they have where
// text runs down, from number firstDown on.
const (
	firstDown = 7887
	japanDown = "、。￣＿ー—‐〜‖｜…‥（）〔〕［］｛｝〈〉《》「」『』【】＝ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ"
)
