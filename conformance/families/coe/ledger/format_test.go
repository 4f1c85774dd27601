package ledger

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// old makes a file as the release before versions of records left it.
func old(t *testing.T, path string, more ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", source(path, false))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	for _, statement := range append([]string{
		schema,
		`INSERT INTO tickets VALUES (130, 'Old', '', 0, 'T', 'question', 'ann', 1, 1700000000123)`,
		`INSERT INTO records VALUES (1, 'observation', 7, 'OBS-007', 'T', 'ann', 3, '{"observation":"old"}', 1700000000123)`,
	}, more...) {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

// A folder of the release before opens, with all that is in it, and its numbers
// go on; so it does for two processes at once.
func TestOpen_OldFormat(t *testing.T) {
	t.Parallel()
	p := path(t)
	old(t, p)
	var openers sync.WaitGroup
	for range 4 {
		openers.Go(func() {
			l, err := Open(t.Context(), Options{Path: p, FirstTicket: 123})
			if err == nil {
				err = l.Close(context.WithoutCancel(t.Context()))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	openers.Wait()
	l := open(t, Options{Path: p, FirstTicket: 123})
	recs, _, err := l.Records(t.Context(), RecordQuery{TaskIDs: []string{"T"}})
	require.NoError(t, err)
	at := time.UnixMilli(1_700_000_000_123).UTC()
	require.Equal(t, []Record{{Kind: Observation, ID: "OBS-007", TaskID: "T", Agent: "ann", Rank: 3, Body: []byte(`{"observation":"old"}`), Created: at}}, recs)
	require.Equal(t, "OBS-008", add(t, l, Record{Kind: Observation, Version: 1}).ID)
	ts, err := l.Tickets(t.Context(), TicketQuery{Number: 130})
	require.NoError(t, err)
	require.Equal(t, "Old", ts[0].Title)
	written, _, err := l.CreateTicket(t.Context(), "", ticket("new"))
	require.NoError(t, err)
	require.Equal(t, 131, written.Number)
}

// What is no ledger of this release is named, and left as it is.
func TestOpen_Foreign(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		make func(path string)
		want error
		says string
	}{
		"a newer release": {func(p string) { old(t, p, `PRAGMA user_version = 99`) }, ErrFormat, "its format is 99"},
		"no database":     {func(p string) { require.NoError(t, os.WriteFile(p, []byte(strings.Repeat("text", 500)), 0o600)) }, ErrDamaged, "damaged or no database"},
		"torn": {func(p string) {
			old(t, p)
			data, err := os.ReadFile(p)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(p, data[:len(data)/2+100], 0o600))
		}, ErrDamaged, "damaged or no database"},
		"another program's": {func(p string) {
			db, err := sql.Open("sqlite", source(p, false))
			require.NoError(t, err)
			_, err = db.ExecContext(t.Context(), `CREATE TABLE records (song TEXT); PRAGMA user_version = 0`)
			require.NoError(t, err)
			require.NoError(t, db.Close())
		}, nil, "coe.db: "},
		"a folder": {func(p string) { require.NoError(t, os.Mkdir(p, 0o700)) }, ErrUnavailable, "unable to open"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := path(t)
			tt.make(p)
			before, _ := os.ReadFile(p)
			_, err := Open(t.Context(), Options{Path: p})
			require.Error(t, err)
			if tt.want != nil {
				require.ErrorIs(t, err, tt.want)
			}
			require.ErrorContains(t, err, p)
			require.ErrorContains(t, err, tt.says)
			after, _ := os.ReadFile(p)
			require.Equal(t, before, after)
		})
	}
	_, err := Open(t.Context(), Options{Path: filepath.Join(t.TempDir(), "no", "folder.db")})
	require.ErrorIs(t, err, ErrUnavailable)
}

// A disk that fills up fails the write as a whole; what is written is still read,
// and with room again the ledger works.
func TestWrite_DiskFull(t *testing.T) {
	t.Parallel()
	p := path(t)
	l := open(t, Options{Path: p})
	add(t, l, Record{Kind: Report, Body: []byte(`{}`)})
	limit := func(pages string) {
		db, err := l.store.(*file).connect(t.Context())
		require.NoError(t, err)
		_, err = db.ExecContext(t.Context(), `PRAGMA max_page_count = `+pages)
		require.NoError(t, err)
	}
	limit("1") // SQLite takes what the file has already
	err := l.Write(t.Context(), "", func(tx Tx) error {
		_, err := tx.AddRecord(t.Context(), Record{Kind: Report, Body: make([]byte, 100_000)})
		return err
	})
	require.ErrorIs(t, err, ErrDiskFull)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, p)
	recs, _, err := l.Records(t.Context(), RecordQuery{})
	require.NoError(t, err)
	require.Len(t, recs, 1)
	limit("1000000")
	require.Equal(t, "REPORT-002", add(t, l, Record{Kind: Report}).ID)
}

// The lock of another process is waited for; the wait ends.
func TestWrite_WaitsForAnotherProcess(t *testing.T) {
	t.Parallel()
	p := path(t)
	l := open(t, Options{Path: p})
	other := open(t, Options{Path: p})
	release, err := other.store.hold(t.Context())
	require.NoError(t, err)
	freed := make(chan error, 1)
	go func() {
		<-time.After(patience / 5)
		freed <- release()
	}()
	require.Equal(t, "OBS-001", add(t, l, Record{Kind: Observation}).ID)
	require.NoError(t, <-freed)
	release, err = other.store.hold(t.Context())
	require.NoError(t, err)
	err = l.Attempt(t.Context(), "", func(Tx) error { return nil })
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, release())
}
