package suggest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		got   string
		names []string
		want  []string
	}{
		{"ad", []string{"echo", "add", "sub"}, []string{"add"}},
		{"ehco", []string{"echo", "add"}, []string{"echo"}},
		{"Echo", []string{"echo"}, []string{"echo"}},
		{"create", []string{"create_issue", "delete_issue"}, []string{"create_issue"}},
		{"issue", []string{"create_issue", "zzz"}, []string{"create_issue"}},
		{"x", []string{"y", "echo"}, nil},
		{"zzzzz", []string{"echo", "add"}, nil},
		{"", []string{"echo", "a"}, nil},
		{"ls", []string{"ls1", "ls2", "ls3", "ls4"}, []string{"ls1", "ls2", "ls3"}},
		{strings.Repeat("a", 5000), []string{strings.Repeat("a", 5000) + "b"}, []string{strings.Repeat("a", 5000) + "b"}},
	} {
		require.Equal(t, tt.want, Nearest(tt.got, tt.names), tt.got)
	}
}

func TestDistance(t *testing.T) {
	t.Parallel()
	require.Equal(t, 0, distance("abc", "abc"))
	require.Equal(t, 1, distance("abc", "acb"))
	require.Equal(t, 1, distance("abc", "abcd"))
	require.Equal(t, 3, distance("", "abc"))
	require.Equal(t, 3, distance("kitten", "sitting"))
}
