package ledger

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// What writes in the background may find its connection cut at any time: who
// reads meanwhile does not notice.
func TestRead_WhileTheConnectionIsCut(t *testing.T) {
	t.Parallel()
	l := open(t, Options{Path: path(t), Strike: func(tool string) Trouble {
		if tool == background {
			return Cut
		}
		return None
	}})
	_, _, err := l.CreateTicket(t.Context(), "createTicket", ticket("x"))
	require.NoError(t, err)
	const rounds = 100
	var cutting sync.WaitGroup
	cutting.Go(func() {
		for range rounds {
			_ = l.Write(t.Context(), background, func(Tx) error { return nil })
		}
	})
	for range rounds {
		got, err := l.Tickets(t.Context(), TicketQuery{})
		require.NoError(t, err)
		require.Len(t, got, 1)
		_, _, err = l.Records(t.Context(), RecordQuery{Kind: Issue})
		require.NoError(t, err)
	}
	cutting.Wait()
}

// Each caller waits for a locked database for itself, not for the waits of all
// who came before it.
func TestBackoff_S1_TICKET_04_WaitsAtTheSameTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, err := Open(t.Context(), Options{Strike: func(string) Trouble { return Lock }})
		require.NoError(t, err)
		begin := time.Now()
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				_, _, err := l.CreateTicket(t.Context(), "createTicket", ticket("x"))
				require.ErrorIs(t, err, ErrLocked)
				require.Equal(t, 1550*time.Millisecond, time.Since(begin))
			})
		}
		callers.Wait()
		require.Equal(t, 48, l.Writes())
		require.NoError(t, l.Close(t.Context()))
	})
}

// A write that goes well calls the writer back from a long pause: the database
// is there again.
func TestPending_WokenByAWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := true
		l, err := Open(t.Context(), Options{Strike: func(string) Trouble {
			if down {
				return Cut
			}
			return None
		}})
		require.NoError(t, err)
		_, kept, err := l.CreateTicket(t.Context(), "createTicket", ticket("kept"))
		require.ErrorIs(t, err, ErrUnavailable)
		require.True(t, kept)
		time.Sleep(15 * time.Second) // the writer pauses for ten seconds or so
		synctest.Wait()
		down = false
		_, _, err = l.CreateTicket(t.Context(), "createTicket", ticket("x"))
		require.NoError(t, err)
		synctest.Wait()
		got, err := l.Tickets(t.Context(), TicketQuery{})
		require.NoError(t, err)
		require.Len(t, got, 2, "at once")
		require.NoError(t, l.Close(t.Context()))
	})
}

// A ticket in memory is its creator's alone.
func TestPending_AnotherAgentsTicket(t *testing.T) {
	t.Parallel()
	down := true
	l := open(t, Options{FirstTicket: 123, Strike: func(tool string) Trouble {
		if tool != background && down {
			return Cut
		}
		return None
	}})
	mine, other := ticket("same"), ticket("same")
	other.Agent = "b"
	_, kept, err := l.CreateTicket(t.Context(), "createTicket", mine)
	require.ErrorIs(t, err, ErrUnavailable)
	require.True(t, kept)
	down = false
	require.NoError(t, l.flush(t.Context(), "createTicket"))
	got, _, err := l.CreateTicket(t.Context(), "createTicket", other)
	require.NoError(t, err)
	require.Equal(t, 124, got.Number, "who did not ask before gets one of its own")
	got, _, err = l.CreateTicket(t.Context(), "createTicket", mine)
	require.NoError(t, err)
	require.Equal(t, 123, got.Number)
}

// What a reset has forgotten is not written afterwards.
func TestReset_S1_TRANS_08_Pending(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := true
		l, err := Open(t.Context(), Options{Strike: func(string) Trouble {
			if down {
				return Cut
			}
			return None
		}})
		require.NoError(t, err)
		_, kept, err := l.CreateTicket(t.Context(), "createTicket", ticket("x"))
		require.ErrorIs(t, err, ErrUnavailable)
		require.True(t, kept)
		synctest.Wait()
		require.ErrorIs(t, l.Reset(t.Context()), ErrUnavailable, "and all is as it was")
		synctest.Wait()
		down = false
		require.NoError(t, l.Reset(t.Context()))
		require.Zero(t, l.Writes())
		time.Sleep(time.Minute)
		got, _, err := l.CreateTicket(t.Context(), "createTicket", ticket("x"))
		require.NoError(t, err)
		require.Equal(t, 1, got.Number)
		require.NoError(t, l.Close(t.Context()))
	})
}
