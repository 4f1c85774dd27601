package proxy

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Occupy makes the hosts at an address have messages of this size in work.
func (h *Handler) Occupy(address string, size int64) {
	h.load.mu.Lock()
	defer h.load.mu.Unlock()
	h.load.add(address, 0, size)
}

// The sum of all messages is bounded, also of hosts on this machine, and the sum of those that
// are being read.
func TestLoad(t *testing.T) {
	t.Parallel()
	var l load
	var all []*body
	for range maxWorking / maxBody {
		b := l.read("", maxBody)
		require.NotNil(t, b)
		b.isRead(maxBody)
		all = append(all, b)
	}
	require.Nil(t, l.read("", 1))
	require.Nil(t, l.read("192.0.2.1", 1))
	for _, b := range all {
		b.release()
	}
	for range maxReading / maxBody {
		require.NotNil(t, l.read("", maxBody))
	}
	require.Nil(t, l.read("", 1))

	l = load{}
	b := l.read("192.0.2.1", maxWorking/4)
	require.Nil(t, l.read("192.0.2.1", 1))
	b.isRead(10)
	require.NotNil(t, l.read("192.0.2.1", 1))
	b.release()
	require.True(t, l.enter("192.0.2.2"))
	l.exit("192.0.2.2")
	require.Len(t, l.of, 1, "an address with nothing open is forgotten")
}
