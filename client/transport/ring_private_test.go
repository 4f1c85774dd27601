package transport

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func never(ringLine) bool { return false }

// Of long output, the start, the end and the errors in between are kept.
func TestRingKeepsTheReason(t *testing.T) {
	t.Parallel()
	var r ring
	r.add("npm error code E404")
	for i := range 1000 {
		if i == 500 {
			r.add("Error: no database")
			r.add("    at main (index.js:1)")
		}
		r.add(fmt.Sprint("line ", i))
	}
	r.add("bye")
	got, _ := r.lines(never)
	require.LessOrEqual(t, len(got), 50)
	require.Equal(t, "npm error code E404", got[0])
	require.Equal(t, "bye", got[len(got)-1])
	require.Contains(t, got, "Error: no database")
	require.Contains(t, got, "… 963 lines are omitted …")

	for range 100 {
		r.add("failed again")
	}
	got, _ = r.lines(never)
	require.LessOrEqual(t, len(got), 50, "errors without end")

	var few ring
	few.add("a")
	few.add("b")
	got, _ = few.lines(never)
	require.Equal(t, []string{"a", "b"}, got)
}

// Of the kept lines, those from before a mark are counted.
func TestRingCountsWhatIsBefore(t *testing.T) {
	t.Parallel()
	var r ring
	for i := range 100 {
		if i%20 == 10 {
			r.add(fmt.Sprint("error ", i)) // 10, 30 and 50 are kept in addition to the first 8 and the last 32
		} else {
			r.add(fmt.Sprint("line ", i))
		}
	}
	for _, tt := range []struct {
		mark   int64
		before int
		last   string // of those before
	}{
		{0, 0, ""},
		{1, 1, "line 0"},
		{8, 8, "line 7"},
		{9, 9, "… 57 lines are omitted …"},
		{10, 9, "… 57 lines are omitted …"},
		{11, 10, "error 10"},
		{51, 12, "error 50"},
		{68, 12, "error 50"},
		{69, 13, "line 68"},
		{100, 44, "line 99"},
		{1 << 40, 44, "line 99"},
	} {
		lines, before := r.lines(func(line ringLine) bool { return line.number < tt.mark })
		require.Equal(t, tt.before, before, "mark %d: %q", tt.mark, lines)
		if before > 0 {
			require.Equal(t, tt.last, lines[before-1], "mark %d", tt.mark)
		}
	}
}

// A line that was written before an answer may be read after it. It explains no failure of the
// next request, unless it looks like an error or came later.
func TestLinesThatComeLate(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, tt := range []struct {
		name            string
		line            string
		answered, asked time.Duration // 0: not yet
		read            time.Duration
		exited, old     bool
	}{
		{"right after the answer", "Starting default (STDIO) server...", 50 * ms, 0, 51 * ms, false, true},
		{"right after the request, too", "Starting default (STDIO) server...", 50 * ms, 51 * ms, 52 * ms, false, true},
		{"the same of a program that has exited", "segfault!", 50 * ms, 51 * ms, 52 * ms, true, false},
		{"an error", "Error: out of luck", 50 * ms, 51 * ms, 52 * ms, false, false},
		{"a while after the request", "bye", 50 * ms, 51 * ms, 60 * ms, false, false},
		{"a while after the answer", "bye", 50 * ms, 0, 90 * ms, false, false},
		{"long after the answer, right after the request", "bye", 50 * ms, 500 * ms, 501 * ms, false, false},
		{"before any answer", "Starting default (STDIO) server...", 0, 0, 1 * ms, false, false},
	} {
		p := &process{began: time.Now()}
		p.answeredAt.Store(int64(tt.answered))
		p.askedAt.Store(int64(tt.asked))
		require.Equal(t, tt.old, p.old(ringLine{tt.line, 0, p.began.Add(tt.read)}, 0, tt.exited), tt.name)
	}
}
