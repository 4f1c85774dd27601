package engine

import (
	"strings"
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

func TestShuffle_After(t *testing.T) {
	t.Parallel()
	scenarios := []Scenario{{ID: "a"}, {ID: "b", After: "a"}, {ID: "c", After: "a"}, {ID: "d"}, {ID: "e", After: "none"}}
	orders := map[string]bool{}
	for seed := range uint64(50) {
		var ids string
		for _, sc := range Shuffle(scenarios, seed) {
			ids += sc.ID
		}
		require.Len(t, ids, len(scenarios), ids)
		require.Less(t, strings.Index(ids, "a"), strings.IndexAny(ids, "bc"), ids)
		orders[ids] = true
	}
	require.Greater(t, len(orders), 10)
}

func TestInTurn(t *testing.T) {
	t.Parallel()
	scenarios := []Scenario{{ID: "x"}, {ID: "b", After: "a"}, {ID: "a"}, {ID: "last", Last: true}, {ID: "y", After: "none"}}
	require.Equal(t, []int{2, 0, 4, 1}, inTurn(scenarios, map[string]chan struct{}{"a": make(chan struct{})}))
}
