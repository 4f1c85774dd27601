//go:build unix

package jsonrpc

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Frames for a full pipe wait, and their call does not count as running. A call whose
// frame the pipe has accepted does.
func TestBacklogOfAFullPipe(t *testing.T) {
	t.Parallel()
	in, theirs, err := os.Pipe()
	require.NoError(t, err)
	mine, out, err := os.Pipe()
	require.NoError(t, err)
	c := NewConn(in, out, Config{})
	require.Equal(t, Backlog{}, c.Backlog())
	calls := make(chan error, 2)
	call := func(ctx context.Context, id int64, params string) {
		_, err := c.Call(ctx, Request{ID: IntID(id), Method: "m", Params: json.RawMessage(params)}, Wait{})
		calls <- err
	}
	go call(t.Context(), 1, `{}`)
	require.Eventually(t, func() bool { b := c.Backlog(); return b.Running > 0 && !b.Waiting }, 10*time.Second, time.Millisecond)
	small := c.Backlog().Sent
	require.Positive(t, small)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go call(ctx, 2, `{"x":"`+strings.Repeat("x", 1<<20)+`"}`)
	require.Eventually(t, func() bool { b := c.Backlog(); return b.Waiting && b.Sent > small }, 10*time.Second, time.Millisecond)
	full := c.Backlog()
	require.Equal(t, small, full.Running)

	lines := bufio.NewReader(mine)
	_, err = lines.ReadBytes('\n')
	require.NoError(t, err)
	_, err = io.WriteString(theirs, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
	require.NoError(t, err)
	require.NoError(t, <-calls)
	require.Zero(t, c.Backlog().Running)

	_, err = lines.ReadBytes('\n')
	require.NoError(t, err)
	require.Eventually(t, func() bool { b := c.Backlog(); return b.Running > 0 && !b.Waiting && b.Sent > full.Sent }, 10*time.Second, time.Millisecond)
	cancel()
	require.Error(t, <-calls)
	require.NoError(t, theirs.Close())
	require.NoError(t, mine.Close())
	_ = c.Close() // a pipe without a reader
}
