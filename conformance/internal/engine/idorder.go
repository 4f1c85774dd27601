package engine

import (
	"cmp"
	"strconv"
	"strings"
)

// Compare orders ids as people do: the numbers in them by value.
func Compare(a, b string) int {
	for a != "" && b != "" {
		an, arest := LeadingNumber(a)
		bn, brest := LeadingNumber(b)
		if an >= 0 && bn >= 0 {
			if an != bn {
				return cmp.Compare(an, bn)
			}
			a, b = arest, brest
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// LeadingNumber splits a number off the start of text; it is -1 when there is
// none.
func LeadingNumber(text string) (int, string) {
	rest := strings.TrimLeft(text, "0123456789")
	if len(rest) == len(text) {
		return -1, text
	}
	n, err := strconv.Atoi(text[:len(text)-len(rest)])
	if err != nil {
		return -1, text
	}
	return n, rest
}
