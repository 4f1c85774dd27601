package lazyregexp

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRegexp(t *testing.T) {
	t.Parallel()
	number := New(`([a-z]+)-([0-9]+)`)
	var wg sync.WaitGroup
	for range 4 { // the first use is that of many
		wg.Go(func() { number.MatchString("a-1") })
	}
	wg.Wait()
	require.False(t, number.MatchString("a"))
	require.Equal(t, []string{"b-2", "b", "2"}, number.FindStringSubmatch("a b-2"))
	require.Equal(t, "x x", number.ReplaceAllString("a-1 b-2", "x"))
}

func TestNew_Invalid(t *testing.T) {
	t.Parallel()
	broken := New(`(`)
	require.Panics(t, func() { broken.MatchString("") })
}
