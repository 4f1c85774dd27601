// Package simulation runs real clients against servers that exist only in memory and in
// virtual time. A seed decides which faults happen. It checks what a client promises:
// each call ends exactly once, nothing that must not run twice does, nothing runs that is
// reported as not sent, and nothing is sent while a circuit is open.
//
// A world has three kinds of servers: one over HTTP whose client has the defaults, one
// over HTTP whose client has a rate limit, a bulkhead and hedges, and a program that
// exits and is restarted. Over HTTP, servers of the session era lose their sessions;
// those of the stateless era ask for input before they run a call.
//
// [Run] belongs in a bubble of testing/synctest. The choice of faults depends only on
// the seed, the call and the number of its attempt, so that the order of goroutines
// changes little. Go promises no order, so a seed repeats the faults, not every
// interleaving.
package simulation

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func TestMain(m *testing.M) { testmain.Run(m) }

var versions = []mcp.Version{mcp.LatestSession, mcp.Latest}

// world runs one seed in a bubble, which ends when no goroutine is left.
func world(t *testing.T, seed uint64, version mcp.Version) Report {
	t.Helper()
	var r Report
	synctest.Test(t, func(t *testing.T) {
		var err error
		r, err = Run(t.Context(), Config{Seed: seed, Version: version, Servers: 3, Callers: 6, Trouble: 4 * time.Minute})
		require.NoError(t, err)
	})
	require.Empty(t, r.Faults(), "seed %d at %s: %+v", seed, version, r)
	return r
}

func TestSimulation(t *testing.T) {
	t.Parallel()
	hedges := 0
	for _, version := range versions {
		var all Report
		for seed := range uint64(testmain.Fewer(3, 3)) {
			all.Add(world(t, seed, version))
		}
		require.Greater(t, all.Answered, all.Calls/10, "the servers are not away all the time: %+v", all)
		require.Less(t, all.Answered, all.Calls, "and not well all the time: %+v", all)
		require.NotZero(t, all.Unknown)
		tried(t, all, version)
		hedges += all.Hedges
	}
	// One world of one era may have hardly any, by chance.
	require.NotZero(t, hedges, "no second request was made")
}

// tried checks that a run has tested what it is for.
func tried(t *testing.T, all Report, version mcp.Version) {
	t.Helper()
	require.NotZero(t, all.Starts, "no program was started again")
	if version.Era() == mcp.EraSession {
		require.NotZero(t, all.Sessions, "no session was lost")
	} else {
		require.NotZero(t, all.Rounds, "no question was answered")
	}
}

// TestSoak is the long form: MAINSTAY_SOAK=1, see `make soak`.
func TestSoak(t *testing.T) {
	if os.Getenv("MAINSTAY_SOAK") == "" {
		t.Skip("a long run: set MAINSTAY_SOAK=1")
	}
	const enough = 1_000_000
	var all Report
	for seed := uint64(1000); all.Calls < enough; seed++ {
		all.Add(world(t, seed, versions[seed%2]))
	}
	tried(t, all, mcp.LatestSession)
	tried(t, all, mcp.Latest)
	require.NotZero(t, all.Hedges, "no second request was made")
	fmt.Printf("%d simulated calls, %d requests, %d answered, %d of unknown outcome\n", all.Calls, all.Attempts, all.Answered, all.Unknown)
	fmt.Printf("duplicates of unsafe calls %d, lost calls %d, hung goroutines 0, sends while OPEN %d, concurrent probes %d\n",
		all.Duplicates, all.Lost, all.Open, all.Probes)
	fmt.Printf("%d second requests, %d questions answered, %d sessions and %d programs replaced\n", all.Hedges, all.Rounds, all.Sessions, all.Starts)
	fmt.Printf("sent before the handshake %d, sessions opened needlessly %d, beyond the rate %d, beyond the bulkhead %d, answers given twice %d\n", all.Hasty, all.Needless, all.Fast, all.Crowded, all.Reused)
	fmt.Printf("answers swapped %d, denied %d, missing %d, sent before Retry-After %d, clients not recovered %d\n",
		all.Swapped, all.Denied, all.Missing, all.Early, all.Unhealed)
}

// A checker that cannot fail proves nothing.
func TestCheckerCatches(t *testing.T) {
	t.Parallel()
	lost := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.Unknown, "lost", nil)
	notSent := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, "not sent", nil)
	for _, tt := range []struct {
		name string
		do   func(h *history)
		want string
	}{
		{"nothing wrong", func(h *history) { h.run(1); h.end(1, answerTo(1), nil) }, "[]"},
		{"unknown and run once", func(h *history) { h.run(1); h.end(1, "", lost) }, "[]"},
		{"unknown and not run", func(h *history) { h.end(1, "", lost) }, "[]"},
		{"run twice", func(h *history) { h.run(1); h.run(1); h.end(1, "", lost) }, "[1 unsafe calls ran more than once]"},
		{"no outcome", func(h *history) { h.run(1) }, "[1 calls have not exactly one outcome]"},
		{"two outcomes", func(h *history) { h.end(1, "", lost); h.end(1, "", lost) }, "[1 calls have not exactly one outcome]"},
		{"another's answer", func(h *history) { h.run(1); h.end(1, answerTo(2), nil) }, "[1 calls got the answer of another]"},
		{"denied", func(h *history) { h.run(1); h.end(1, "", notSent) }, "[1 calls ran and are said not to have]"},
		{"made up", func(h *history) { h.end(1, answerTo(1), nil) }, "[1 calls are said to have run and have not]"},
		{"foreign error", func(h *history) { h.run(1); h.end(1, "", errors.New("plain")) }, "[]"},
		{"sent while open", func(h *history) { h.end(1, "", lost); h.count(&h.report.Open) }, "[1 requests were sent while the circuit was open]"},
		{"sent early", func(h *history) { h.end(1, "", lost); h.count(&h.report.Early) }, "[1 requests were sent before Retry-After was over]"},
		{"sent before the handshake", func(h *history) { h.end(1, "", lost); h.count(&h.report.Hasty) }, "[1 requests were sent before the handshake]"},
		{"one session too many", func(h *history) { h.end(1, "", lost); h.count(&h.report.Needless) }, "[1 sessions were opened in the place of one that works]"},
		{"beyond the rate", func(h *history) { h.end(1, "", lost); h.count(&h.report.Fast) }, "[1 requests were sent faster than the rate]"},
		{"beyond the bulkhead", func(h *history) { h.end(1, "", lost); h.count(&h.report.Crowded) }, "[1 requests were sent beyond the bulkhead]"},
		{"an answer given twice", func(h *history) { h.end(1, "", lost); h.count(&h.report.Reused) }, "[1 answers were given to a server twice]"},
		{"two probes", func(h *history) { h.end(1, "", lost); h.probes(2) }, "[1 probes too many at once]"},
	} {
		h := newHistory()
		h.begin(1, true)
		tt.do(h)
		require.Equal(t, tt.want, fmt.Sprint(h.check().Faults()), tt.name)
	}
}
