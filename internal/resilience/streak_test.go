package resilience_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
)

func TestStreakUnreadable(t *testing.T) {
	t.Parallel()
	var s resilience.Streak
	bad := answered(call, nil, -32700, "")
	silent := unanswered(resilience.ClassTimeout, mcperrors.Unknown)
	require.False(t, s.Note(bad, 1))
	require.False(t, s.Note(bad, 2))
	require.False(t, s.Note(silent, 3))
	require.True(t, s.Note(bad, 4), "silence between does not end the run")
	require.True(t, s.Note(bad, 5))
	require.False(t, s.Note(answered(call, nil, -32602, ""), 6), "any other answer does")
	require.False(t, s.Note(bad, 7))
	require.False(t, s.Note(bad, 8))
	require.True(t, s.Note(bad, 9))
}

func TestStreakSessions(t *testing.T) {
	t.Parallel()
	var s resilience.Streak
	lost := unanswered(resilience.ClassSessionLost, mcperrors.Rejected)
	require.False(t, s.Note(lost, time.Second))
	require.True(t, s.Note(lost, 11*time.Second-1))
	require.False(t, s.Note(lost, 21*time.Second-1), "ten seconds later")
	require.False(t, s.Note(result(resilience.ClassComplete), 22*time.Second))
	require.True(t, s.Note(lost, 23*time.Second), "an answer between does not undo it")
}

// Failures that repeat in one call, by its own state.
func TestRepeats(t *testing.T) {
	t.Parallel()
	st := resilience.State{Repeat: resilience.Repeatable, Remaining: unbounded, Random: 1}
	stale := unanswered(resilience.ClassLost, mcperrors.Unknown, reused)
	exited := unanswered(resilience.ClassExited, mcperrors.Unknown)
	lost := unanswered(resilience.ClassLost, mcperrors.Unknown)
	require.False(t, st.Repeats(stale))
	require.False(t, st.Repeats(exited))
	require.Zero(t, resilience.Decide(stale, st).Wait)

	twice := st.After(stale)
	require.True(t, twice.Repeats(stale))
	require.False(t, twice.Repeats(exited))
	require.False(t, twice.Repeats(lost))
	require.NotZero(t, resilience.Decide(stale, twice).Wait, "only the first is made again at once")

	crashed := st.After(exited)
	require.True(t, crashed.Repeats(exited))
	require.False(t, crashed.Repeats(stale))
	require.False(t, resilience.Decide(exited, crashed).Again, "the poison rule")

	require.False(t, st.After(lost).Repeats(stale))
}
