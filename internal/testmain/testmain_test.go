package testmain

import (
	"strings"
	"testing"
)

// What leaked is told in few lines, however much it is.
func TestHead(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"a\nb", "a\nb"},
		{"a\nb\nc", "a\nb\nc"},
		{strings.Repeat("x\n", 500), "x\nx\nx\n… and 498 lines more"},
	} {
		if got := head(tt.text, 3); got != tt.want {
			t.Errorf("%.10q: %q", tt.text, got)
		}
	}
}
