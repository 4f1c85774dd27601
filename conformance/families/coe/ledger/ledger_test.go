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
			rec := Record{Kind: Issue, Version: 1, Tool: "reportIssue", TaskID: "T", Agent: "a", Rank: 1, Body: []byte(`{"x":1}`), Created: ticket("").Created}
			broken := errors.New("broken")
			err := l.Write(ctx, "t", func(tx Tx) error { // all of it or none
				n, err := tx.CloseInvestigations(ctx, "T")
				require.NoError(t, err)
				require.Equal(t, 2, n)
				_, err = tx.AddRecord(ctx, rec)
				require.NoError(t, err)
				_, err = tx.AddTicket(ctx, ticket("three"))
				require.NoError(t, err)
				return broken
			})
			require.ErrorIs(t, err, broken)
			recs, _, err := l.Records(ctx, RecordQuery{})
			require.NoError(t, err)
			require.Empty(t, recs)

			require.NoError(t, l.Write(ctx, "t", func(tx Tx) error {
				n, err := tx.CloseInvestigations(ctx, "other")
				require.Zero(t, n)
				require.NoError(t, err)
				got, err := tx.AddRecord(ctx, rec)
				require.Equal(t, "ISSUE-001", got.ID, "the number of what was undone is free")
				return err
			}))
			rec.ID = "ISSUE-001"
			for _, q := range []RecordQuery{{}, {Kind: Issue}, {ID: rec.ID}, {TaskIDs: []string{"other", "T"}}} {
				recs, more, err := l.Records(ctx, q)
				require.NoError(t, err)
				require.Equal(t, []Record{rec}, recs)
				require.False(t, more)
			}
			for _, q := range []RecordQuery{{Kind: Observation}, {ID: "ISSUE-002"}, {TaskIDs: []string{"other"}}} {
				recs, _, err := l.Records(ctx, q)
				require.NoError(t, err)
				require.Empty(t, recs)
			}
			got, err := l.Tickets(ctx, TicketQuery{})
			require.NoError(t, err)
			want := ticket("two")
			want.Number, want.Open = 124, true
			require.Len(t, got, 2)
			require.Equal(t, want, got[1])
		})
	}
}

// add writes a record.
func add(t *testing.T, l *Ledger, r Record) Record {
	t.Helper()
	var out Record
	require.NoError(t, l.Write(t.Context(), "", func(tx Tx) (err error) {
		out, err = tx.AddRecord(t.Context(), r)
		return err
	}))
	return out
}

func TestNumbersGoOn(t *testing.T) {
	t.Parallel()
	p := path(t)
	l, err := Open(t.Context(), Options{Path: p})
	require.NoError(t, err)
	require.Equal(t, "OBS-001", add(t, l, Record{Kind: Observation}).ID)
	require.Equal(t, "OBS-002", add(t, l, Record{Kind: Observation}).ID)
	require.Equal(t, "ISSUE-001", add(t, l, Record{Kind: Issue}).ID)
	other := open(t, Options{Path: p})
	require.Equal(t, "OBS-003", add(t, other, Record{Kind: Observation}).ID, "of all processes on the file")
	require.NoError(t, l.Close(t.Context()))
	require.Equal(t, "OBS-004", add(t, open(t, Options{Path: p}), Record{Kind: Observation}).ID)
}

// The latest records are returned, within the bounds, and it is said when there
// are more.
func TestRecords_Bounds(t *testing.T) {
	t.Parallel()
	for name, path := range backends(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t, Options{Path: path})
			for range 4 {
				add(t, l, Record{Kind: Report, Body: []byte(`{"a":12345}`)}) // 11 bytes
			}
			for q, want := range map[[2]int]string{
				{0, 0}: "1234", {4, 0}: "1234", {5, 44}: "1234", {3, 0}: "+234", {1, 0}: "+4", {0, 43}: "+234", {0, 1}: "+4", {2, 33}: "+34",
			} {
				recs, more, err := l.Records(t.Context(), RecordQuery{Most: q[0], Bytes: q[1]})
				require.NoError(t, err)
				got := ""
				if more {
					got = "+"
				}
				for _, r := range recs {
					got += r.ID[len(r.ID)-1:]
				}
				require.Equal(t, want, got, q)
			}
		})
	}
}

func TestAddRecord_TooLarge(t *testing.T) {
	t.Parallel()
	for name, path := range backends(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open(t, Options{Path: path})
			body := func(n int) Record { return Record{Kind: Report, Body: []byte(strings.Repeat("x", n))} }
			add(t, l, body(MaxRecord))
			err := l.Write(t.Context(), "", func(tx Tx) error {
				_, err := tx.AddRecord(t.Context(), body(MaxRecord+1))
				return err
			})
			require.ErrorIs(t, err, ErrTooLarge)
			require.ErrorContains(t, err, "1048577")
		})
	}
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
		_, kept, err := l.CreateTicket(t.Context(), "createTicket", ticket("x"))
		require.ErrorIs(t, err, ErrUnavailable)
		require.True(t, kept)
		time.Sleep(29 * time.Second)
		got, err := l.Tickets(t.Context(), TicketQuery{})
		require.NoError(t, err)
		require.Empty(t, got)
		time.Sleep(12 * time.Second) // a pause is at most 10 s
		got, err = l.Tickets(t.Context(), TicketQuery{})
		require.NoError(t, err)
		require.Len(t, got, 1)
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
	l.pending.tickets = make([]Ticket, maxPending-1)
	for title, room := range []bool{true, false} {
		_, kept, err := l.CreateTicket(t.Context(), "createTicket", ticket(string(rune('a'+title))))
		require.ErrorIs(t, err, ErrUnavailable)
		require.Equal(t, room, kept)
	}
	mended.Store(true)
}

func TestClose_SaysWhatIsLost(t *testing.T) {
	t.Parallel()
	l, err := Open(t.Context(), Options{Strike: func(string) Trouble { return Cut }})
	require.NoError(t, err)
	_, kept, err := l.CreateTicket(t.Context(), "createTicket", ticket("x"))
	require.ErrorIs(t, err, ErrUnavailable)
	require.True(t, kept)
	require.ErrorIs(t, l.Close(t.Context()), ErrUnavailable)
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
	require.NoError(t, l.Write(t.Context(), "", func(tx Tx) error {
		for i := range keep + 10 {
			if _, err := tx.AddRecord(t.Context(), Record{Kind: Issue, Rank: i}); err != nil {
				return err
			}
		}
		return nil
	}))
	recs, _, err := l.Records(t.Context(), RecordQuery{Kind: Issue})
	require.NoError(t, err)
	require.Len(t, recs, keep)
	require.Equal(t, 10, recs[0].Rank, "the oldest went first")
	const large = 100
	for range keepBytes/MaxRecord + large {
		add(t, l, Record{Kind: Report, Body: make([]byte, MaxRecord)})
	}
	recs, _, err = l.Records(t.Context(), RecordQuery{})
	require.NoError(t, err)
	require.Len(t, recs, keepBytes/MaxRecord)
	require.Equal(t, "REPORT-101", recs[0].ID)
}
