package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"S0-VAL-01", "S0-VAL-01", true},
		{"S0-VAL-01", "S0-VAL-010", false},
		{"S0-*", "S0-VAL-01/rate", true},
		{"*/rate", "S0-VAL-01/rate", true},
		{"*VAL*rate", "S0-VAL-01/rate", true},
		{"*", "", true},
		{"", "x", false},
	} {
		require.Equal(t, c.want, conformance.Match(c.pattern, c.text), "%q %q", c.pattern, c.text)
	}
}
