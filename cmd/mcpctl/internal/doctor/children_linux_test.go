package doctor

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChildren(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "sh -c 'echo; read line'; true")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = stdout.Read(make([]byte, 1)) // from the child of the child
	require.NoError(t, err)
	running := Children()
	require.NotEmpty(t, Left(running))
	for _, p := range running {
		require.NotEqual(t, cmd.Process.Pid, p.ID, "the program is no child of itself")
	}
	require.NoError(t, stdin.Close())
	_ = cmd.Wait() // the end of its input is an error of read
	require.Empty(t, Left(running))
	// A process with the number of another one is not that one.
	self, parent, ok := read("/proc/self/stat")
	require.True(t, ok)
	require.Equal(t, os.Getpid(), self.ID)
	require.Equal(t, os.Getppid(), parent)
	self.start = "0"
	require.Empty(t, Left([]Process{self}))
}
