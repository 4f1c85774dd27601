package server

import (
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

func replay(t *testing.T, s *eventStore, session, stream string, index int) ([]string, error) {
	t.Helper()
	var out []string
	for data, err := range s.After(t.Context(), session, stream, index) {
		if err != nil {
			return nil, err
		}
		out = append(out, string(data))
	}
	return out, nil
}

func TestEventStore(t *testing.T) {
	t.Parallel()
	s := newEventStore(1 << 20)
	ctx := t.Context()
	for _, stream := range []string{"", "a"} {
		require.NoError(t, s.Open(ctx, "s", stream))
		require.NoError(t, s.Open(ctx, "s", stream))
	}
	for i := range 3 {
		require.NoError(t, s.Append(ctx, "s", "a", fmt.Appendf(nil, "%d", i)))
	}
	for index, want := range map[int][]string{-1: {"0", "1", "2"}, 0: {"1", "2"}, 2: nil, 9: nil} {
		got, err := replay(t, s, "s", "a", index)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	got, err := replay(t, s, "s", "", -1)
	require.NoError(t, err)
	require.Empty(t, got)
	for _, unknown := range [][2]string{{"s", "b"}, {"t", "a"}} {
		_, err = replay(t, s, unknown[0], unknown[1], 0)
		require.ErrorIs(t, err, mcp.ErrEventsPurged)
	}
	require.NoError(t, s.SessionClosed(ctx, "s"))
	_, err = replay(t, s, "s", "a", 0)
	require.Error(t, err)
	require.Zero(t, s.bytes)
	require.Zero(t, s.age.Len())
}

func TestEventStoreIsBounded(t *testing.T) {
	t.Parallel()
	const most = 100 * (eventOverhead + 10)
	s := newEventStore(most)
	ctx := t.Context()
	require.NoError(t, s.Open(ctx, "s", ""))
	require.NoError(t, s.Append(ctx, "s", "", make([]byte, 10)))
	for i := range 1000 {
		stream := fmt.Sprint(i)
		require.NoError(t, s.Open(ctx, "s", stream))
		require.NoError(t, s.Append(ctx, "s", stream, make([]byte, 10)))
		require.LessOrEqual(t, s.bytes, most)
	}
	require.Len(t, s.sessions["s"], 101, "what is left, and the stream that lives as long as the session")
	_, err := replay(t, s, "s", "5", -1)
	require.ErrorIs(t, err, mcp.ErrEventsPurged, "no partial replay")
	_, err = replay(t, s, "s", "", -1)
	require.ErrorIs(t, err, mcp.ErrEventsPurged)
	require.NoError(t, s.Append(ctx, "s", "5", nil), "its stream is gone")
	require.NoError(t, s.Append(ctx, "s", "", []byte("new")))
	got, err := replay(t, s, "s", "", 0)
	require.NoError(t, err)
	require.Equal(t, []string{"new"}, got)
	require.NoError(t, s.Append(ctx, "s", "999", make([]byte, 2*most)), "one event more than all: it is kept alone")
	require.Equal(t, 1, s.age.Len())
	require.NoError(t, s.SessionClosed(ctx, "s"))
	require.Zero(t, s.bytes)
}
