package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/store"
)

// The tests also run as other processes: with childVariable they do only the work that it names.
const (
	childVariable  = "MAINSTAY_TEST_STORE_CHILD"
	folderVariable = "MAINSTAY_TEST_STORE_FOLDER"
)

const (
	goroutines = 50 // of a process
	expiries   = 20
	kills      = 50
)

// child is the main of another process.
func child(work, dir string) int {
	works := map[string]func(context.Context, store.Store, string) error{
		"refresh": refresh, "write": writeForever, "hold": hold, "toggle": toggle,
	}
	s, err := store.NewFile(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700) // for what the works write beside the records
	}
	if err == nil {
		err = works[work](context.Background(), s, dir) //nolint:forbidigo // this is the main of another process
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func start(t *testing.T, work, dir string) (cmd *exec.Cmd, out *bufio.Reader) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	cmd = exec.Command(program)
	cmd.Env = append(os.Environ(), childVariable+"="+work, folderVariable+"="+dir)
	cmd.Stderr = os.Stderr
	_, err = cmd.StdinPipe()
	require.NoError(t, err)
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // of a test that failed
	return cmd, bufio.NewReader(pipe)
}

// refresh has goroutines that repeatedly see a token expire and renew it once: the log has a line
// for each renewal.
func refresh(ctx context.Context, s store.Store, dir string) error {
	record, err := os.OpenFile(filepath.Join(dir, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = record.Close() }()
	faults := make([]error, goroutines)
	var wg sync.WaitGroup
	for i := range goroutines {
		wg.Go(func() {
			for faults[i] == nil {
				seen, err := s.Load(ctx, someone)
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					faults[i] = err
				}
				if seen.Generation >= expiries {
					return
				}
				err = s.Update(ctx, someone, func(r store.Record) (store.Record, error) {
					if r.Generation != seen.Generation {
						return r, nil // renewed meanwhile
					}
					_, err := fmt.Fprintf(record, "%d\n", r.Generation)
					r.Token.Access.Set(fmt.Sprintf("a%d", r.Generation+1))
					r.Token.Refresh.Set(fmt.Sprintf("r%d", r.Generation+1))
					return r, err
				})
				faults[i] = errors.Join(faults[i], err)
			}
		})
	}
	wg.Wait()
	return errors.Join(faults...)
}

// TestOneRefreshOfManyProcesses: two processes with 50 goroutines each renew a token once for each
// time that it expires.
func TestOneRefreshOfManyProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tokens")
	one, _ := start(t, "refresh", dir)
	two, _ := start(t, "refresh", dir)
	require.NoError(t, one.Wait())
	require.NoError(t, two.Wait())
	text, err := os.ReadFile(filepath.Join(dir, "log"))
	require.NoError(t, err)
	lines := strings.Fields(string(text))
	require.Len(t, lines, expiries)
	for i, line := range lines {
		require.Equal(t, strconv.Itoa(i), line)
	}
	s, err := store.NewFile(dir)
	require.NoError(t, err)
	r, err := s.Load(t.Context(), someone)
	require.NoError(t, err)
	require.Equal(t, "r"+strconv.Itoa(expiries), r.Token.Refresh.Text())
}

// writeForever reports each write once it is safe.
func writeForever(ctx context.Context, s store.Store, _ string) error {
	for {
		var n uint64
		err := s.Update(ctx, someone, func(r store.Record) (store.Record, error) {
			n = r.Generation + 1
			r.Token.Access.Set(fmt.Sprintf("a%d", n))
			r.Token.Refresh.Set(fmt.Sprintf("r%d", n))
			r.Scopes = []string{strings.Repeat("x", 1+int(n*7919%100_000))}
			return r, nil
		})
		if err != nil {
			return err
		}
		fmt.Println(n)
	}
}

// TestKill kills a process while it writes. The record is whole each time, and never older than
// what the process reported.
func TestKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tokens")
	s, err := store.NewFile(dir)
	require.NoError(t, err)
	var last uint64
	for range kills {
		cmd, out := start(t, "write", dir)
		for range 1 + rand.IntN(10) {
			_, err := out.ReadString('\n')
			require.NoError(t, err)
		}
		// A busy wait: the process must stop anywhere in a write, and timers are too coarse.
		for until := time.Now().Add(rand.N(2 * time.Millisecond)); time.Now().Before(until); {
		}
		require.NoError(t, cmd.Process.Kill())
		rest, err := io.ReadAll(out)
		require.NoError(t, err)
		_ = cmd.Wait() // it was killed
		if whole := strings.Fields(string(rest)); len(whole) > 0 {
			last, err = strconv.ParseUint(whole[len(whole)-1], 10, 64)
			require.NoError(t, err)
		}

		r, err := s.Load(t.Context(), someone)
		require.NoError(t, err)
		require.GreaterOrEqual(t, r.Generation, last)
		require.Equal(t, fmt.Sprintf("a%d r%d", r.Generation, r.Generation), r.Token.Access.Text()+" "+r.Token.Refresh.Text())
		require.Len(t, r.Scopes[0], 1+int(r.Generation*7919%100_000))
		keys, err := s.List(t.Context())
		require.NoError(t, err)
		require.Len(t, keys, 1)
	}
	t.Log(last, "writes")
	require.NoError(t, s.Update(t.Context(), someone, put(full())), "the lock died with its process")
}

// hold never ends its refresh.
func hold(ctx context.Context, s store.Store, _ string) error {
	return s.Update(ctx, someone, func(r store.Record) (store.Record, error) {
		fmt.Println("holding")
		_, err := io.Copy(io.Discard, os.Stdin) // which never ends
		return r, err
	})
}

// TestLeaseEndsWithItsProcess: others wait for a refresh as long as its process lives.
func TestLeaseEndsWithItsProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tokens")
	s, err := store.NewFile(dir)
	require.NoError(t, err)
	require.NoError(t, s.Update(t.Context(), someone, put(full())))
	cmd, out := start(t, "hold", dir)
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "holding\n", line)

	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Update(short, someone, put(store.Record{})), context.DeadlineExceeded)
	_, err = s.Load(t.Context(), someone)
	require.NoError(t, err, "Load does not wait")

	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	require.NoError(t, s.Update(t.Context(), someone, func(r store.Record) (store.Record, error) {
		require.Equal(t, full().Token, r.Token)
		return r, nil
	}))
}

// toggle logs in and out, and fails if two processes have the lock at the same time.
func toggle(ctx context.Context, s store.Store, dir string) error {
	inside := filepath.Join(dir, "inside")
	for range 200 {
		err := s.Update(ctx, someone, func(store.Record) (store.Record, error) {
			file, err := os.OpenFile(inside, os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return store.Record{}, err
			}
			return full(), errors.Join(file.Close(), os.Remove(inside))
		})
		if err != nil {
			return err
		}
		if err := s.Delete(ctx, someone); err != nil {
			return err
		}
	}
	return nil
}

// TestDeleteKeepsTheLease: a logout removes the lock file, but the lock stays exclusive.
func TestDeleteKeepsTheLease(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tokens")
	one, _ := start(t, "toggle", dir)
	two, _ := start(t, "toggle", dir)
	three, _ := start(t, "toggle", dir)
	require.NoError(t, one.Wait())
	require.NoError(t, two.Wait())
	require.NoError(t, three.Wait())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}
