package engine

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReason: of a long standard error the part is shown that has the reason.
func TestReason(t *testing.T) {
	t.Parallel()
	frames := strings.Repeat("main.handle(0x1)\n\t/srv/main.go:17 +0x1d\n", 100)
	for name, c := range map[string]struct{ said, begins, ends string }{
		"short":               {"cannot open the store", "cannot open the store", "cannot open the store"},
		"a panic":             {"listening\npanic: no store\n\ngoroutine 1 [running]:\n" + frames, "panic: no store\n\ngoroutine 1", " …"},
		"the last of two":     {"panic: one\n" + frames + "panic: two\n" + frames, "panic: two\n", " …"},
		"a short panic":       {strings.Repeat("a log line\n", 200) + "panic: no store\nexit", "a log line", "panic: no store\nexit"},
		"an exception":        {frames + "KeyError: 'a'", "/srv/main.go:17", "KeyError: 'a'"},
		"a word is no reason": {frames + "do not panic: it goes on", "/srv/main.go:17", "it goes on"},
	} {
		got := reason(c.said)
		require.True(t, strings.HasPrefix(got, c.begins), "%s: %q", name, got)
		require.True(t, strings.HasSuffix(got, c.ends), "%s: %q", name, got)
		require.LessOrEqual(t, len(got), 810, name)
	}
}
