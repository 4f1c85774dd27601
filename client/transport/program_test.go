package transport_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
)

// gives waits for a channel to be closed, in real time.
func (c *child) gives(what string, done <-chan struct{}) {
	c.Helper()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		require.Fail(c, "never", what)
	}
}

// A program that closes its stdout and keeps running is killed; the call fails at once.
func TestCommandMute(t *testing.T) {
	t.Parallel()
	c := run(t, "mute", nil)
	f := c.fails(c.request("echo", ""), transport.ReasonLost)
	require.False(t, f.NotSent)
	c.gives("the end of the connection", c.Done())
	c.gives("the end of the process", c.Conn.(process).Exited())
	require.True(t, c.fails(c.request("echo", ""), transport.ReasonLost).NotSent)
	ended := c.Conn.(ender).Ended()
	require.True(t, ended.Process.Exited)
	require.Equal(t, "SIGKILL", ended.Process.Signal)
}

// A program that closes its stdout during Close has the full time that Close allows.
func TestCommandMuteAtTheEnd(t *testing.T) {
	t.Parallel()
	c := run(t, "mute at the end", nil)
	c.works()
	require.NoError(t, c.Close())
	require.Contains(t, c.stderr.all(), "done")
	ended := c.Conn.(ender).Ended()
	require.Equal(t, 0, ended.Process.Exit)
	require.Empty(t, ended.Process.Signal)
}

// Kill ends a program, and its calls fail with the given reason.
func TestCommandKill(t *testing.T) {
	t.Parallel()
	c := run(t, "parent of the deaf", nil)
	grand := grandchild(c)
	reason := errors.New("it does not answer")
	failed := make(chan *transport.Failure, 1)
	req := c.request("silent", "")
	go func() {
		_, err := c.Call(t.Context(), req)
		f, _ := errors.AsType[*transport.Failure](err)
		failed <- f
	}()
	eventually(t, "the call is read", func() bool { return len(c.stderr.all()) > 1 })
	c.Conn.(process).Kill(reason)
	f := <-failed
	require.NotNil(t, f)
	require.ErrorIs(t, f, reason)
	require.Equal(t, transport.ReasonLost, f.Reason)
	require.False(t, f.NotSent)
	c.gives("the end of the connection", c.Done())
	c.gives("the end of the process", c.Conn.(process).Exited())
	eventually(t, "the child of the program ends", func() bool { return gone(grand) })
	c.Conn.(process).Kill(reason) // a second time has no effect
}
