package ledger

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func open(t *testing.T, opts Options) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close(context.WithoutCancel(t.Context()))) })
	return l
}

func path(t *testing.T) string { return filepath.Join(t.TempDir(), "coe.db") }

// backends are the two places a ledger can be in; they must not differ.
func backends(t *testing.T) map[string]string {
	return map[string]string{"memory": "", "sqlite": path(t)}
}

func ticket(title string) Ticket {
	return Ticket{Title: title, TaskID: "T", Type: Investigation, Agent: "a", Priority: 2, Created: time.UnixMilli(1_700_000_000_123).UTC()}
}

func TestBackends(t *testing.T) {
	t.Parallel()
	for name, path := range backends(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t, Options{Path: path, FirstTicket: 123})
			ctx := t.Context()
			for _, title := range []string{"one", "two"} {
				_, _, err := l.CreateTicket(ctx, "createTicket", ticket(title))
				require.NoError(t, err)
			}
			rec := Record{Kind: Issue, ID: "ISSUE-007", TaskID: "T", Agent: "a", Rank: 1, Body: []byte(`{"x":1}`), Created: ticket("").Created}
			broken := errors.New("broken")
			err := l.Write(ctx, "t", func(tx Tx) error { // all of it or none
				n, err := tx.CloseInvestigations(ctx, "T")
				require.NoError(t, err)
				require.Equal(t, 2, n)
				require.NoError(t, tx.AddRecords(ctx, rec))
				_, err = tx.AddTicket(ctx, ticket("three"))
				require.NoError(t, err)
				return broken
			})
			require.ErrorIs(t, err, broken)
			recs, err := l.Records(ctx, Issue)
			require.NoError(t, err)
			require.Empty(t, recs)

			require.NoError(t, l.Write(ctx, "t", func(tx Tx) error {
				n, err := tx.CloseInvestigations(ctx, "other")
				require.Zero(t, n)
				return errors.Join(err, tx.AddRecords(ctx, rec))
			}))
			recs, err = l.Records(ctx, Issue)
			require.NoError(t, err)
			require.Equal(t, []Record{rec}, recs)
			got, err := l.Tickets(ctx)
			require.NoError(t, err)
			want := ticket("two")
			want.Number, want.Open = 124, true
			require.Len(t, got, 2)
			require.Equal(t, want, got[1])
		})
	}
}

func TestNumbersGoOn(t *testing.T) {
	t.Parallel()
	p := path(t)
	l, err := Open(t.Context(), Options{Path: p})
	require.NoError(t, err)
	require.Equal(t, 1, l.Number(Observation))
	require.Equal(t, 2, l.Number(Observation))
	require.Equal(t, 1, l.Number(Issue))
	require.NoError(t, l.Enqueue(Record{Kind: Observation, ID: "OBS-1002", Body: []byte(`{}`)}))
	require.NoError(t, l.Close(t.Context()))
	l = open(t, Options{Path: p})
	require.Equal(t, 1003, l.Number(Observation))
	require.Equal(t, 1, l.Number(Issue))
}

// The gaps between attempts double (S1: exponential, max 5).
func TestBackoff_S1_TICKET_03_GrowingGaps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		locked := 3
		var at []time.Duration
		begin := time.Now()
		l, err := Open(t.Context(), Options{Strike: func(string) Trouble {
			at = append(at, time.Since(begin))
			if locked--; locked >= 0 {
				return Lock
			}
			return None
		}})
		require.NoError(t, err)
		_, _, err = l.CreateTicket(t.Context(), "createTicket", ticket("x"))
		require.NoError(t, err)
		ms := time.Millisecond
		require.Equal(t, []time.Duration{0, 50 * ms, 150 * ms, 350 * ms}, at)
		require.Equal(t, 4, l.Writes())

		locked, at, begin = 1_000, nil, time.Now()
		_, kept, err := l.CreateTicket(t.Context(), "createTicket", ticket("x"))
		require.ErrorIs(t, err, ErrLocked)
		require.False(t, kept)
		require.Equal(t, []time.Duration{0, 50 * ms, 150 * ms, 350 * ms, 750 * ms, 1550 * ms}, at)

		ctx, cancel := context.WithTimeout(t.Context(), 100*ms)
		defer cancel()
		_, _, err = l.CreateTicket(ctx, "createTicket", ticket("x"))
		require.ErrorIs(t, err, context.DeadlineExceeded, "the wait ends with the caller")
		locked = 0
		require.NoError(t, l.Close(t.Context()))
	})
}

func TestPending_BackgroundRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(30 * time.Second)
		l, err := Open(t.Context(), Options{Strike: func(string) Trouble {
			if time.Now().Before(back) {
				return Cut
			}
			return None
		}})
		require.NoError(t, err)
		require.NoError(t, l.Enqueue(Record{Kind: Observation, ID: "OBS-001"}))
		_, kept, err := l.CreateTicket(t.Context(), "createTicket", ticket("x"))
		require.ErrorIs(t, err, ErrUnavailable)
		require.True(t, kept)
		time.Sleep(29 * time.Second)
		recs, err := l.Records(t.Context(), Observation)
		require.NoError(t, err)
		require.Empty(t, recs)
		time.Sleep(12 * time.Second) // a pause is at most 10 s
		recs, err = l.Records(t.Context(), Observation)
		require.NoError(t, err)
		require.Len(t, recs, 1)
		require.LessOrEqual(t, l.Writes(), 20, "it does not hammer a database that is down")
		require.NoError(t, l.Close(t.Context()))
	})
}

func TestPending_Bounded(t *testing.T) {
	t.Parallel()
	var mended atomic.Bool
	l := open(t, Options{Strike: func(string) Trouble {
		if mended.Load() {
			return None
		}
		return Cut
	}})
	for range maxPending {
		require.NoError(t, l.Enqueue(Record{Kind: Observation}))
	}
	require.ErrorIs(t, l.Enqueue(Record{Kind: Observation}), ErrUnavailable)
	mended.Store(true)
}

func TestClose_SaysWhatIsLost(t *testing.T) {
	t.Parallel()
	l, err := Open(t.Context(), Options{Strike: func(string) Trouble { return Cut }})
	require.NoError(t, err)
	require.NoError(t, l.Enqueue(Record{Kind: Observation}))
	require.ErrorIs(t, l.Close(t.Context()), ErrUnavailable)
}

func TestOpen_Refused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Open(t.Context(), Options{Path: filepath.Join(dir, "no", "folder.db")})
	require.ErrorIs(t, err, ErrUnavailable)
	garbage := filepath.Join(dir, "garbage.db")
	require.NoError(t, os.WriteFile(garbage, []byte(strings.Repeat("no database ", 1000)), 0o600))
	_, err = Open(t.Context(), Options{Path: garbage})
	require.ErrorIs(t, err, ErrUnavailable)
}

func TestOpen_OddNames(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a ?b=c#d%20é&_pragma=x")
	require.NoError(t, os.Mkdir(dir, 0o700))
	l := open(t, Options{Path: filepath.Join(dir, "coe.db"), Durable: true})
	_, _, err := l.CreateTicket(t.Context(), "", ticket("x"))
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(dir, "coe.db"))
}

func TestMemory_Forgets(t *testing.T) {
	t.Parallel()
	l := open(t, Options{})
	records := make([]Record, keep+10)
	for i := range records {
		records[i] = Record{Kind: Issue, Rank: i}
	}
	require.NoError(t, l.Write(t.Context(), "", func(tx Tx) error { return tx.AddRecords(t.Context(), records...) }))
	recs, err := l.Records(t.Context(), Issue)
	require.NoError(t, err)
	require.Len(t, recs, keep)
	require.Equal(t, 10, recs[0].Rank, "the oldest went first")
}
