package preflights

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// nobody is a user to whom no file of a test belongs.
const nobody = 65534

// unprivileged calls do with the rights in the file system of a user who is not
// root, to whom root's right to write into read-only folders does not extend.
// The kernel keeps that user for each thread, so the rest of the process goes
// on as it was.
func unprivileged(t *testing.T, root string, do func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		do()
		return
	}
	require.NoError(t, os.Chmod(filepath.Dir(root), 0o755)) // the test's own folder
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.NoError(t, syscall.Setfsuid(nobody))
	defer func() { require.NoError(t, syscall.Setfsuid(0)) }()
	if _, err := os.ReadDir(root); err != nil {
		t.Skip("the folder for temporary files is closed to other users: " + err.Error())
	}
	do()
}
