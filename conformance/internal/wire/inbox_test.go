package wire

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestInbox: a flood waits where it is, and nothing that fits waits.
func TestInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, quit := newInbox(), make(chan struct{})
		big := Inbound{Data: make([]byte, inboxBytes*2/3)}
		arrived := 0
		for range 3 {
			go func() {
				b.put(big, quit)
				arrived++
			}()
		}
		for n := 1; n <= 3; n++ {
			synctest.Wait()
			require.Equal(t, n, arrived, "one at a time")
			b.took(<-b.messages)
		}
		over := Inbound{Data: make([]byte, inboxBytes+1)}
		b.put(over, quit) // an empty inbox has room for any message
		go func() {
			b.put(big, quit)
			arrived++
		}()
		synctest.Wait()
		require.Equal(t, 3, arrived)
		close(quit)
		synctest.Wait()
		require.Equal(t, 4, arrived, "the end lets go")
	})
}

// TestSession_Flooded: there is room for so many messages and bytes, and no more.
func TestSession_Flooded(t *testing.T) {
	t.Parallel()
	s := &Session{}
	note := Inbound{Data: make([]byte, keptInAll/4)}
	for range 4 {
		require.True(t, s.keep(note))
	}
	require.False(t, s.Flooded)
	require.False(t, s.keep(note))
	require.True(t, s.Flooded)

	s = &Session{}
	for range keptMessages {
		require.True(t, s.keep(Inbound{}))
	}
	require.False(t, s.keep(Inbound{}))
}
