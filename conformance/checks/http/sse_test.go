package http

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNeverNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range [][3]string{
		{"http://h/m?sid=abc1", "http://h/m?sid=abc2", "http://h/m?sid=abc0"},
		{"http://h/m?sid=abc0", "http://h/m?sid=abc1", "http://h/m?sid=abc2"},
		{"http://h/m?sid=aq&x=1", "http://h/m?sid=bq&x=1", "http://h/m?sid=0q&x=1"},
		{"http://h/m/77/post", "http://h/m/78/post", "http://h/m/70/post"},
	} {
		require.Equal(t, tt[2], neverNamed(tt[0], tt[1]))
	}
}
