package source

import (
	"bytes"
	"slices"
)

// A lineTable holds where each line of a text begins.
type lineTable []int

func newLineTable(data []byte) lineTable {
	t := lineTable{0}
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			return t
		}
		at += i + 1
		t = append(t, at)
	}
}

// text returns a line of the text without the blanks around it; "" is none.
func (t lineTable) text(data []byte, line int) string {
	if line < 1 || line > len(t) {
		return ""
	}
	end := len(data)
	if line < len(t) {
		end = t[line]
	}
	return string(bytes.TrimSpace(data[t[line-1]:end]))
}

// of returns the line, from 1, that a byte is in.
func (t lineTable) of(offset int) int {
	i, exact := slices.BinarySearch(t, offset)
	if exact {
		i++
	}
	return max(i, 1)
}
