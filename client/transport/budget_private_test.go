package transport

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A rejected message takes nothing, even for a moment: others that fit are accepted.
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

// asks asks for space for a reader, and returns the channel.
func asks(b *Budget, r *reading, n int) <-chan struct{} {
	if room := b.ask(r, n); room != nil {
		return room
	}
	return nothingToSay
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// The oldest answer gets space first, one may exceed the limit, and messages get the share that
// answers leave free.
func TestBudgetServesTheOldest(t *testing.T) {
	t.Parallel()
	var b Budget
	b.SetLimit(80)
	var first, second, third, fourth reading
	require.True(t, isClosed(asks(&b, &first, 25)))
	require.True(t, isClosed(asks(&b, &second, 40)))
	require.True(t, isClosed(asks(&b, &second, 10)), "beyond what answers have")
	require.Equal(t, int64(75), b.Held())
	require.True(t, b.Take(15), "the share of others is not used by answers")
	require.False(t, b.Take(1))
	b.Give(15)
	require.True(t, isClosed(asks(&b, &second, 10)), "who may goes on")

	large, small := asks(&b, &third, 20), asks(&b, &fourth, 1)
	require.False(t, isClosed(large))
	require.False(t, isClosed(small), "it fits, but an older one waits")
	older := asks(&b, &first, 35)
	require.False(t, isClosed(older))
	b.release(&second)
	require.True(t, isClosed(older), "the oldest, though it came last")
	require.True(t, isClosed(large) && isClosed(small), "one may go beyond the limit again")
	require.Equal(t, int64(81), b.Held())
	for _, r := range []*reading{&first, &third, &fourth} {
		b.release(r)
	}
	require.Zero(t, b.Held())

	require.True(t, b.Take(80))
	require.True(t, isClosed(asks(&b, &first, 1)), "beyond the limit")
	left, next := asks(&b, &second, 100), asks(&b, &third, 1)
	b.Give(20)
	require.False(t, isClosed(left) || isClosed(next), "%d", b.Held())
	b.stopWaiting(&second)
	require.True(t, isClosed(next), "a reader that stops waiting does not block others")
	require.False(t, isClosed(left))
	again := asks(&b, &second, 100)
	b.SetLimit(0)
	require.True(t, isClosed(again), "without a limit there is always room")
	for _, r := range []*reading{&first, &second, &third} {
		b.release(r)
	}
	b.Give(60)
	require.Zero(t, b.Held())
}

// In any order of events, no reader waits forever while the one beyond the limit continues, and
// the bytes held stay within the limit and one message.
func TestBudgetProgresses(t *testing.T) {
	t.Parallel()
	const limit, message, piece = 100, 60, 7
	var b Budget
	b.SetLimit(limit)
	var work sync.WaitGroup
	for n := range 16 {
		work.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(n)))
			for range 500 {
				r := &reading{}
				for size := random.IntN(message-piece+1) + 1; size > 0; size -= piece {
					room := asks(&b, r, min(size, piece))
					if random.IntN(20) == 0 && !isClosed(room) {
						b.stopWaiting(r)
						break
					}
					<-room
					if held := b.Held(); held > limit+message {
						t.Errorf("%d bytes are held", held)
					}
				}
				if random.IntN(4) == 0 && b.Take(piece) {
					b.Give(piece)
				}
				b.release(r)
			}
		})
	}
	work.Wait()
	require.Zero(t, b.Held())
	require.Empty(t, b.line.waiting)
	require.Nil(t, b.line.may)
}
