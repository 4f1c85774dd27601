package observe

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsAbsoluteURI(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"file:///a": true, "note:7": true, "almanac://na%C3%AFve%20calendar": true, "x+y-z.1://größe": true,
		"": false, "a": false, "/a": false, "1x:y": false, "x:": false, "x://a b": false, "x://a\n": false,
	} {
		require.Equal(t, want, IsAbsoluteURI(text), text)
	}
}
