//go:build unix

package main

import (
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A pipe that a host gives its server gets deadlines, and is as before after the end.
func TestUnblockedPipe(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.Close() })
	second, err := syscall.Dup(int(r.Fd())) // of two files with one descriptor, the later Close closes a stranger's
	require.NoError(t, err)
	require.NoError(t, r.Close())
	blocking := os.NewFile(uintptr(second), "stdin") // as os.Stdin is: Fd takes the deadlines away
	t.Cleanup(func() { _ = blocking.Close() })
	require.ErrorIs(t, blocking.SetDeadline(time.Time{}), os.ErrNoDeadline)

	own, restore := unblocked(blocking)
	require.NotNil(t, own)
	read := make(chan error)
	go func() {
		_, err := own.Read(make([]byte, 1))
		read <- err
	}()
	require.NoError(t, own.Close(), "closing it ends a Read")
	require.ErrorIs(t, <-read, os.ErrClosed)
	restore()

	text := make(chan string)
	go func() {
		all, _ := io.ReadAll(blocking) // an error leaves the text empty
		text <- string(all)
	}()
	_, err = io.WriteString(w, "later")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Equal(t, "later", <-text)
}

// Files on disk stay as they are.
func TestUnblockedFile(t *testing.T) {
	t.Parallel()
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	own, _ := unblocked(f)
	require.Nil(t, own)
}
