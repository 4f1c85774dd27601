package sqlite

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/store"
	"github.com/mainstay-mcp/mainstay/conformance/families/store/storetest"
)

// The test binary runs itself again as another process on the same file; the
// variable says which part it plays there, and where the file is.
const (
	partVariable = "MAINSTAY_STORE_CHILD"
	fileVariable = "MAINSTAY_STORE_CHILD_FILE"
)

// takes is how many ids each process takes.
func takes() int { return storetest.Rounds(150, 40) }

// asChild plays the part of the child, if this process is one.
func asChild() bool {
	part := os.Getenv(partVariable)
	if part == "" {
		return false
	}
	ctx := context.Background() //nolint:forbidigo // a process of its own
	st, err := Open(ctx, os.Getenv(fileVariable), Options{})
	if err != nil {
		fmt.Println(err)
		return true
	}
	switch part {
	case "hang":
		err = hang(ctx, st)
	case "take":
		for range takes() {
			var a store.Allocation
			if a, err = st.NextID(ctx, "p", "US", time.Now()); err != nil {
				break
			}
			fmt.Println(a.ID)
		}
	}
	if err != nil {
		fmt.Println(err)
	}
	return true
}

// hang takes a range of ids and stops between UPDATE and COMMIT.
func hang(ctx context.Context, st *Store) error {
	return st.db.Write(ctx, func(tx *sql.Tx) error {
		now := time.Now()
		last, err := advance(ctx, tx, "p", "US", 3, now)
		if err != nil {
			return err
		}
		r := store.ReserveRequest{ID: uuid.New(), Project: "p", Type: "US", Count: 3, Now: now, ExpiresAt: now.Add(time.Minute)}
		if err := insertReservation(ctx, tx, r.Reserved(last), now); err != nil {
			return err
		}
		fmt.Println("written")
		select {}
	})
}

// start starts a child and returns what reads its lines.
func start(t *testing.T, part, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), exe)
	child.Env = append(os.Environ(), partVariable+"="+part, fileVariable+"="+path)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	return child, bufio.NewScanner(out)
}

func TestKilled_S0_IDAPI_10(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	before := openAt(t, path, Options{})
	_, err := before.NextID(t.Context(), "p", "US", time.Now())
	require.NoError(t, err)

	child, lines := start(t, "hang", path)
	require.True(t, lines.Scan())
	require.Equal(t, "written", lines.Text())
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())

	var rows int
	require.NoError(t, before.db.reader.QueryRowContext(t.Context(), `SELECT count(*) FROM id_reservations`).Scan(&rows))
	require.Zero(t, rows)
	a, err := before.NextID(t.Context(), "p", "US", time.Now())
	require.NoError(t, err, "the dead process holds no lock")
	require.Equal(t, "US-002", a.ID, "the counter is where it was")
	require.NoError(t, before.Close())
	a, err = openAt(t, path, Options{}).NextID(t.Context(), "p", "US", time.Now())
	require.NoError(t, err)
	require.Equal(t, "US-003", a.ID)
}

// TestTwoProcesses has two more processes start on a file that is not there
// yet, and all three take ids from it.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.db")
	seen := map[string]int{}
	children := make([]*exec.Cmd, 2)
	readers := make([]*bufio.Scanner, 2)
	for i := range children {
		children[i], readers[i] = start(t, "take", path)
	}
	st := openAt(t, path, Options{})
	for range takes() {
		a, err := st.NextID(t.Context(), "p", "US", time.Now())
		require.NoError(t, err)
		seen[a.ID]++
	}
	for i, lines := range readers {
		for lines.Scan() {
			require.True(t, strings.HasPrefix(lines.Text(), "US-"), lines.Text())
			seen[lines.Text()]++
		}
		require.NoError(t, children[i].Wait())
	}
	require.Len(t, seen, 3*takes())
	for i := 1; i <= 3*takes(); i++ {
		require.Equal(t, 1, seen[store.FormatID("US", int64(i))])
	}
}
