package link

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The error of a call names the requests of the server since its last answer, also those before
// the call was sent.
func TestDrops(t *testing.T) {
	t.Parallel()
	var d Drops
	d.Answered()
	require.Zero(t, d.Mark())
	require.Empty(t, d.Since(0))
	d.Note("roots/list")
	before := d.Mark()
	require.Equal(t, "roots/list", d.Since(before), "it came before the call")
	d.Note("ping")
	d.Note("ping")
	require.Equal(t, "roots/list, ping", d.Since(before))
	d.Answered()
	after := d.Mark()
	require.Empty(t, d.Since(after))
	require.Equal(t, "roots/list, ping", d.Since(before), "for a call that waits meanwhile")
	for range 5 {
		d.Note("a")
		d.Note("b")
	}
	require.Equal(t, "b, a, b", d.Since(after))
}
