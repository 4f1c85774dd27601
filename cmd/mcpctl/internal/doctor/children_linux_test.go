package doctor

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChildren(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "read line")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	running := Children()
	require.NotEmpty(t, Left(running))
	require.NoError(t, stdin.Close())
	_ = cmd.Wait() // the end of its input is an error of read
	for _, p := range Left(running) {
		require.NotEqual(t, cmd.Process.Pid, p.ID)
	}
	// A process with the number of another one is not that one.
	self, parent, ok := read("/proc/self/stat")
	require.True(t, ok)
	require.Equal(t, os.Getpid(), self.ID)
	require.Equal(t, os.Getppid(), parent)
	self.start = "0"
	require.Empty(t, Left([]Process{self}))
}
