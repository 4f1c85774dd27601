package cache

import (
	"math/rand/v2"
	"testing"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/stretchr/testify/require"
)

// It behaves like a plain LRU, with few or many entries.
func TestRecent(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var r recent[int, int]
	_, ok := r.oldest()
	require.False(t, ok)
	want, err := simplelru.NewLRU[int, int](1_000, nil)
	require.NoError(t, err)
	for step := range 20_000 {
		key := random.IntN(4 + step/500)
		switch random.IntN(4) {
		case 0:
			if !want.Contains(key) {
				r.add(key, step)
				want.Add(key, step)
			}
		case 1:
			value, ok := r.get(key)
			expected, there := want.Get(key)
			require.Equal(t, there, ok)
			require.Equal(t, expected, value)
		case 2:
			value, ok := r.peek(key)
			expected, there := want.Peek(key)
			require.Equal(t, there, ok)
			require.Equal(t, expected, value)
		case 3:
			expected, there := want.Peek(key)
			value, ok := r.take(key)
			require.Equal(t, there, ok)
			require.Equal(t, expected, value)
			want.Remove(key)
		}
		require.Equal(t, want.Len(), r.len())
		require.Equal(t, want.Keys(), r.keys())
		oldest, ok := r.oldest()
		expected, _, there := want.GetOldest()
		require.Equal(t, there, ok)
		require.Equal(t, expected, oldest)
	}
}

// One entry costs no more than itself.
func TestRecentIsSmall(t *testing.T) {
	t.Parallel()
	var r recent[ResponseKey, *response]
	r.add(ResponseKey{}, &response{})
	require.Nil(t, r.many)
	require.Equal(t, 1, cap(r.few))
}
