package trial

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A reason repeats what a program said, and no page of a login.
func TestLastWords(t *testing.T) {
	t.Parallel()
	for stderr, want := range map[string]string{
		"":          "",
		"one\ntwo":  "two",
		"error: no": "error: no",
		"open this page:\n\n  http://127.0.0.1:1/authorize?client_id=x":  "open this page:",
		"http://127.0.0.1:1/authorize?client_id=x":                       "",
		"log in at http://127.0.0.1:1/authorize?client_id=x&state=y now": "log in at http://127.0.0.1:1/authorize now",
		strings.Repeat("é", longestWords+1):                              strings.Repeat("é", longestWords) + "…",
	} {
		require.Equal(t, want, lastWords(stderr))
	}
}
