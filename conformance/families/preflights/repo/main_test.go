package repo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// holdEnv makes this test binary hold a lock until its input ends.
const holdEnv = "PREFLIGHTS_TEST_HOLD"

func TestMain(m *testing.M) {
	if root := os.Getenv(holdEnv); root != "" {
		hold(root)
		return
	}
	testmain.Run(m)
}

func hold(root string) {
	var l Locks
	_, err := l.Lock(context.Background(), root) //nolint:forbidigo // a process of its own begins with no context
	fmt.Println("locked", err)
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func TestLock_OtherProcess(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), holdEnv+"="+root)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "locked <nil>\n", line)

	var l Locks
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = l.Lock(ctx, root)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	// The lock of a process that is killed is free.
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	_ = in.Close()
	unlock, err := l.Lock(t.Context(), root)
	require.NoError(t, err)
	unlock()
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	require.Empty(t, entries, "no lock file is left")
}

func TestLock_OneAtATime(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var l Locks
	inside := make(chan int, 1)
	done := make(chan error)
	for range 20 {
		go func() {
			unlock, err := l.Lock(t.Context(), root)
			if err == nil {
				select {
				case inside <- 1:
					<-inside
				default:
					err = errors.New("two at a time")
				}
				unlock()
			}
			done <- err
		}()
	}
	for range 20 {
		require.NoError(t, <-done)
	}
	for range 2 { // the second finds that the first gave its lock back
		_, err := l.Lock(t.Context(), filepath.Join(root, "missing"))
		require.ErrorIs(t, err, fs.ErrNotExist)
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(root, ".git"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "a", "b"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(root, "a", "b"), filepath.Join(root, "link")))
	for _, from := range []string{"", "a", "a/b", "a/../a", "link"} {
		got, err := Find(filepath.Join(root, from))
		require.NoError(t, err)
		require.Equal(t, root, got, from)
	}
	for _, bad := range []string{"", "relative", ".", root + "\x00", filepath.Join(root, "none"), filepath.Join(root, strings.Repeat("x", 5000))} {
		_, err := Find(bad)
		require.ErrorIs(t, err, ErrPath, bad)
	}
	_, err = Find(t.TempDir())
	require.ErrorIs(t, err, ErrNotFound)
}

func open(t *testing.T) (*Docs, string) {
	t.Helper()
	root := t.TempDir()
	d, err := Open(root)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d, filepath.Join(root, Folder)
}

func TestChange_UndoLeavesNothing(t *testing.T) {
	t.Parallel()
	d, docs := open(t)
	_, err := d.Read("x")
	require.ErrorIs(t, err, fs.ErrNotExist)
	names, err := d.List("adr")
	require.NoError(t, err)
	require.Empty(t, names)

	c := d.Begin()
	require.NoError(t, c.Create("a/b/one.md", []byte("1")))
	require.NoError(t, c.Replace("two.md", []byte("2")))
	require.ErrorIs(t, c.Create("a/b/one.md", []byte("x")), fs.ErrExist)
	require.ErrorIs(t, c.createInPlace("a/b/one.md", []byte("x")), fs.ErrExist)
	require.NoError(t, c.createInPlace("a/b/three.md", []byte("3")))
	data, err := d.Read("a/b/one.md")
	require.NoError(t, err)
	require.Equal(t, "1", string(data))
	names, err = d.List("a/b")
	require.NoError(t, err)
	require.Equal(t, []string{"one.md", "three.md"}, names)
	require.NoError(t, c.Undo())
	require.NoDirExists(t, docs)
}

func TestChange_UndoRestores(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := filepath.Join(root, Folder, "two.md")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o640))
	require.NoError(t, os.WriteFile(filepath.Join(root, Folder, ".two.md.tmp"), []byte("from a crash"), 0o600))
	d, err := Open(root)
	require.NoError(t, err)
	defer func() { require.NoError(t, d.Close()) }()
	c := d.Begin()
	require.NoError(t, c.Replace("two.md", []byte("new")))
	data, err := d.Read("two.md")
	require.NoError(t, err)
	require.Equal(t, "new", string(data))
	require.NoError(t, c.Undo())
	data, err = d.Read("two.md")
	require.NoError(t, err)
	require.Equal(t, "old", string(data))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o640), info.Mode().Perm())
	names, err := d.List(".")
	require.NoError(t, err)
	require.Equal(t, []string{"two.md"}, names)
}

func TestCreate_NobodySeesAPart(t *testing.T) {
	t.Parallel()
	d, docs := open(t)
	c := d.Begin()
	require.NoError(t, c.folder("adr"))
	text := []byte(strings.Repeat("x", 1<<16))
	stop, seen := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				seen <- nil
				return
			default:
			}
			// As a reader that takes no lock.
			if data, err := os.ReadFile(filepath.Join(docs, "adr", "one.md")); err == nil && len(data) != len(text) {
				seen <- fmt.Errorf("saw %d bytes", len(data))
				<-stop
				return
			}
		}
	}()
	for range 50 {
		require.NoError(t, c.Create("adr/one.md", text))
		require.NoError(t, c.docs.docs.Remove("adr/one.md"))
	}
	close(stop)
	require.NoError(t, <-seen)
}

func TestDocs_LinksOut(t *testing.T) {
	t.Parallel()
	root, out := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(out, "secret.md"), []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(out, filepath.Join(root, Folder)))
	_, err := Open(root)
	require.ErrorIs(t, err, ErrEscape)

	d, docs := open(t)
	require.NoError(t, os.Mkdir(docs, 0o755))
	require.NoError(t, d.enter())
	require.NoError(t, os.Symlink(out, filepath.Join(docs, "adr")))
	_, err = d.Read("adr/secret.md")
	require.Error(t, err)
	_, err = d.List("adr")
	require.Error(t, err)
	require.Error(t, d.Begin().Create("adr/new.md", nil))
	require.NoError(t, os.Symlink(filepath.Join(out, "target"), filepath.Join(docs, "CURRENT_TASK.md")))
	c := d.Begin()
	require.Error(t, c.Replace("CURRENT_TASK.md", []byte("x")))
	require.Error(t, c.Create("../up.md", nil))
	require.NoFileExists(t, filepath.Join(out, "target"))
	require.NoError(t, os.Truncate(filepath.Join(out, "secret.md"), maxFile+1))
	require.NoError(t, os.Link(filepath.Join(out, "secret.md"), filepath.Join(docs, "big.md")))
	_, err = d.Read("big.md")
	require.ErrorContains(t, err, "not a document")
}
