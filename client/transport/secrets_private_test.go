package transport

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// The latest secrets of callers are kept, up to a limit, even if one request has more.
func TestSentSecretsAreBounded(t *testing.T) {
	t.Parallel()
	bearer := func(i int) http.Header { return http.Header{"X-Key": {fmt.Sprintf("credentials-%04d", i)}} }
	var s sentSecrets
	s.note(bearer(0))
	for i := range 3 * maxSentSecrets {
		s.note(bearer(i + 1))
		s.note(bearer(0)) // in constant use
	}
	values := s.values()
	require.Len(t, values, maxSentSecrets)
	require.Contains(t, values, "credentials-0000")
	require.Contains(t, values, fmt.Sprintf("credentials-%04d", 3*maxSentSecrets))
	require.NotContains(t, values, "credentials-0001")
	many := http.Header{}
	for i := range 2 * maxSentSecrets {
		many.Add("X-Key", fmt.Sprintf("one-of-many-%04d", i))
	}
	s.note(many)
	require.Len(t, s.values(), maxSentSecrets)
}
