package transport

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of much output the beginning, the end and the errors between are kept.
func TestRingKeepsTheReason(t *testing.T) {
	t.Parallel()
	var r ring
	r.add("npm error code E404")
	for i := range 1000 {
		if i == 500 {
			r.add("Error: no database")
			r.add("    at main (index.js:1)")
		}
		r.add(fmt.Sprint("line ", i))
	}
	r.add("bye")
	got := r.lines()
	require.LessOrEqual(t, len(got), 50)
	require.Equal(t, "npm error code E404", got[0])
	require.Equal(t, "bye", got[len(got)-1])
	require.Contains(t, got, "Error: no database")
	require.Contains(t, got, "… 963 lines are left out …")

	for range 100 {
		r.add("failed again")
	}
	require.LessOrEqual(t, len(r.lines()), 50, "errors without end")

	var few ring
	few.add("a")
	few.add("b")
	require.Equal(t, []string{"a", "b"}, few.lines())
}
