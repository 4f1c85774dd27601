package proxy

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// resting returns how many goroutines rest, once none is on its way to it.
func resting(w *workers[int]) int {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.resting
}

// Goroutines are used again while requests come, and end when none comes.
func TestWorkersRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var answered atomic.Int64
		hold := make(chan struct{})
		w := &workers[int]{next: make(chan *int), answer: func(*int) {
			answered.Add(1)
			<-hold
		}}
		for range 2 {
			w.give(new(int))
			require.Zero(t, resting(w))
			hold <- struct{}{}
			require.Equal(t, 1, resting(w))
		}
		w.give(new(int))
		w.give(new(int))
		hold <- struct{}{}
		hold <- struct{}{}
		require.Equal(t, 2, resting(w))
		require.EqualValues(t, 4, answered.Load())
		time.Sleep(2 * restTime)
		require.Zero(t, resting(w))
		require.Nil(t, w.tick, "an idle host has no timer")

		w.give(new(int))
		hold <- struct{}{}
		require.Equal(t, 1, resting(w), "later requests are answered as before")
		w.stop()
		require.Zero(t, resting(w))
		w.give(new(int))
		hold <- struct{}{}
		require.Zero(t, resting(w), "none stays after the end")
	})
}

// After many requests at once not all goroutines stay, and fewer and fewer if fewer are needed.
func TestWorkersAfterMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		w := &workers[int]{next: make(chan *int), answer: func(*int) { <-hold }}
		for range 2 * maxResting {
			w.give(new(int))
		}
		close(hold)
		require.Equal(t, maxResting, resting(w))
		for range 4 {
			time.Sleep(restTime / 2)
			w.give(new(int))
		}
		require.Equal(t, 1, resting(w))
		w.stop()
	})
}
