package scratch

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// parentEnv makes this test binary a process that holds a folder until it is
// killed or its input ends.
const parentEnv = "SCRATCH_TEST_PARENT"

const prefix = "test-scratch-"

func TestMain(m *testing.M) {
	if parent := os.Getenv(parentEnv); parent != "" {
		f, err := Make(parent, prefix)
		if err == nil {
			err = os.MkdirAll(filepath.Join(f.Path(), "deep", "data"), 0o755)
		}
		fmt.Println(f.Path(), err)
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	testmain.Run(m)
}

func skipWithoutLocks(t *testing.T) {
	t.Helper()
	if !canLock {
		t.Skip("this system has no locks that end with a process")
	}
}

// other starts a process with a folder.
func other(t *testing.T, parent string) (path string, kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), parentEnv+"="+parent)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	path, failure, _ := strings.Cut(strings.TrimSpace(line), " ")
	require.Equal(t, "<nil>", failure)
	var once sync.Once
	kill = func() {
		once.Do(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			_ = in.Close()
		})
	}
	t.Cleanup(kill)
	return path, kill
}

func TestSweep_KilledProcess(t *testing.T) {
	t.Parallel()
	skipWithoutLocks(t)
	parent := t.TempDir()
	dead, kill := other(t, parent)
	living, _ := other(t, parent)
	require.Zero(t, Sweep(parent, prefix), "both live")
	require.DirExists(t, dead)
	kill()
	require.Equal(t, 1, Sweep(parent, prefix))
	require.NoDirExists(t, dead)
	require.DirExists(t, filepath.Join(living, "deep", "data"))
	require.Zero(t, Sweep(parent, prefix))
}

// TestSweep_OnlyOurs: what may be somebody else's stays.
func TestSweep_OnlyOurs(t *testing.T) {
	t.Parallel()
	skipWithoutLocks(t)
	parent, elsewhere := t.TempDir(), t.TempDir()
	folder := func(name, lock string) string {
		dir := filepath.Join(parent, name)
		require.NoError(t, os.Mkdir(dir, 0o700))
		if lock != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, lockName), []byte(lock), 0o600))
		}
		return dir
	}
	keep := []string{
		folder(prefix+"1", ""), folder(prefix+"2", "another text"), folder(prefix+"3", lockText+"and more"),
		folder(prefix+"x", lockText), folder(prefix, lockText), folder("other-1", lockText),
	}
	open := folder(prefix+"4", lockText)
	require.NoError(t, os.Chmod(open, 0o777), "others may have written into it")
	linked := folder(prefix+"5", "")
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "lock"), []byte(lockText), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(elsewhere, "lock"), filepath.Join(linked, lockName)))
	target := filepath.Join(elsewhere, "target")
	require.NoError(t, os.Mkdir(target, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(target, lockName), []byte(lockText), 0o600))
	require.NoError(t, os.Symlink(target, filepath.Join(parent, prefix+"6")))
	require.NoError(t, os.WriteFile(filepath.Join(parent, prefix+"7"), []byte(lockText), 0o600))

	left := folder(prefix+"8", lockText)
	require.NoError(t, os.Symlink(target, filepath.Join(left, "link")))
	require.Equal(t, 1, Sweep(parent, prefix))
	require.NoDirExists(t, left)
	for _, dir := range append(keep, open, linked, target) {
		require.DirExists(t, dir)
	}
	require.FileExists(t, filepath.Join(target, lockName))
	require.FileExists(t, filepath.Join(parent, prefix+"7"))
	require.Zero(t, Sweep(filepath.Join(parent, "none"), prefix))
}

// TestSweep_StartsAtOnce: starts that sweep while others make their folders
// leave each other alone.
func TestSweep_StartsAtOnce(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	var wg sync.WaitGroup
	made := make(chan *Folder, 200)
	for range 20 {
		wg.Go(func() {
			for range 10 {
				Sweep(parent, prefix)
				f, err := Make(parent, prefix)
				if err != nil {
					t.Error(err)
					return
				}
				made <- f
			}
		})
	}
	wg.Wait()
	close(made)
	Sweep(parent, prefix)
	n := 0
	for f := range made {
		require.DirExists(t, f.Path())
		require.NoError(t, os.WriteFile(filepath.Join(f.Path(), "data"), nil, 0o600))
		require.NoError(t, f.Close())
		require.NoDirExists(t, f.Path())
		n++
	}
	require.Equal(t, 200, n)
	left, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestMake_NoParent(t *testing.T) {
	t.Parallel()
	_, err := Make(filepath.Join(t.TempDir(), "none"), prefix)
	require.Error(t, err)
}
