package testmain

import (
	"strings"
	"testing"
)

// A report of leaked goroutines has few lines, however many leaked.
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
