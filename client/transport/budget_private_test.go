package transport

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is refused takes nothing, not for a moment: others that fit are taken
// beside it.
func TestBudgetRefusesOnlyWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	var b Budget
	b.SetLimit(100)
	require.True(t, b.Take(100))
	require.True(t, b.Take(0), "nothing always fits")
	require.False(t, b.Take(1))
	b.Give(100)
	var work sync.WaitGroup
	var over atomic.Bool
	for range 4 {
		work.Go(func() {
			for !over.Load() {
				if b.Take(1000) {
					over.Store(true)
					b.Give(1000)
				}
			}
		})
	}
	refused := 0
	for range 200_000 {
		if b.Take(1) {
			b.Give(1)
		} else {
			refused++
		}
	}
	require.False(t, over.Swap(true), "more than there is was taken")
	work.Wait()
	require.Zero(t, refused)
	require.Zero(t, b.Held())
}
