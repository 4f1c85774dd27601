package console

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line string
		want []string
	}{
		{"", []string{""}},
		{"0123456789", []string{"0123456789"}},
		{"0123456789 a", []string{"0123456789", "  a"}},
		{"01234 5678 9", []string{"01234 5678", "  9"}},
		{"01234 56789", []string{"01234", "  56789"}},
		{"0123456789abc d", []string{"0123456789abc", "  d"}},
		{"0123456789abcd", []string{"0123456789abcd"}},
		{"a 0123456789abc d", []string{"a", "  0123456789abc", "  d"}},
		{"  indented by two", []string{"  indented", "  by two"}},
		{"ääääääääää b", []string{"ääääääääää", "  b"}},
	} {
		require.Equal(t, tt.want, Wrap(tt.line, 10, "  "), tt.line)
	}
}

func TestWrapSignature(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"f(a: string, b: x)":           {"f(a: string,", "  b: x)"},
		"operation(duration?: number)": {"operation(", "  duration?:", "  number)"},
		"f(a: one|two|three)":          {"f(a:", "  one|two|", "  three)"},
		"internationalize()":           {"internationalize()"},
	} {
		require.Equal(t, want, WrapSignature(text, 13, "  "), text)
	}
}
