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

// TestNotBase64: what a writer of a server most probably did.
func TestNotBase64(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                       "it is empty",
		"data:image/png;base64,": "it is a data: URL",
		"-_8=":                   "it is in the alphabet of URLs (RFC 4648, section 5), not in that of section 4",
		"iVB":                    "its padding is missing",
		"i B=":                   "illegal base64 data at input byte 1",
		"aGk\n":                  "it has a line break (RFC 4648, section 3.1) at character 3",
	} {
		_, err := decodeBase64(text)
		require.Equal(t, want, notBase64(text, err), text)
	}
	require.Equal(t, ": it is still base64 after it was decoded", twiceEncoded([]byte("iVBORw0KGgo="), "\x89PNG"))
	require.Empty(t, twiceEncoded([]byte("\x89PNG"), "\x89PNG"))
}
