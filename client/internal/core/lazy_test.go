package core_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/core"
)

// There is one value, however many goroutines create it.
func TestPartIsOne(t *testing.T) {
	t.Parallel()
	var part core.Lazy[int]
	require.Nil(t, part.Peek())
	got := make([]*int, 50)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() { got[i] = part.Get() })
	}
	wg.Wait()
	for _, p := range got {
		require.Same(t, part.Peek(), p)
	}
	require.Same(t, part.Peek(), part.Make(func() *int {
		t.Error("there is one")
		return nil
	}))
	other := 1
	part.Set(&other)
	require.Same(t, &other, part.Get())
}
