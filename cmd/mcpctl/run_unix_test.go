//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
)

// watchFrames gives what a program writes to its FRAMES to w, as it comes.
func watchFrames(t *testing.T, w io.Writer) (string, <-chan error) {
	t.Helper()
	name, done := t.TempDir()+"/frames", make(chan error, 1)
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	go func() {
		f, err := os.Open(name)
		if err == nil {
			_, err = io.Copy(w, f)
			_ = f.Close()
		}
		done <- err
	}()
	return name, done
}

func TestInterruptOfAProgram(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	w := &watcher{text: "tools/call", do: func() { cancel(failure.ErrInterrupted) }}
	name, copied := watchFrames(t, w)
	got := inProcess(ctx, false, "call", "hang", "-e", "FRAMES="+name, "-o", "json", "--", "fakeserver")
	require.Equal(t, 130, got.code, got.err)
	require.Contains(t, got.err, `"kind":"interrupted","exit":130`)
	require.NoError(t, <-copied, "the program has ended")
	require.Equal(t, 1, w.count("notifications/cancelled"), "one cancellation")
}

// The whole program, with signals as they come.
func TestSignals(t *testing.T) {
	t.Parallel()
	// A program inherits what is ignored, and the tests may run under nohup. A signal that
	// this process handles has its default again in the program.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	for _, tt := range []struct {
		signal os.Signal
		code   int
		text   string
	}{{os.Interrupt, 130, "interrupted"}, {syscall.SIGTERM, 143, "terminated"}, {syscall.SIGHUP, 129, "the terminal was closed"}} {
		var stderr bytes.Buffer
		called := make(chan struct{})
		w := &watcher{text: "tools/call", do: func() { close(called) }}
		name, copied := watchFrames(t, w)
		cmd := exec.Command("mcpctl", "call", "hang", "-e", "FRAMES="+name, "--", "fakeserver")
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Start())
		<-called
		require.NoError(t, cmd.Process.Signal(tt.signal))
		var exit *exec.ExitError
		require.ErrorAs(t, cmd.Wait(), &exit)
		require.Equal(t, tt.code, exit.ExitCode(), stderr.String())
		require.Contains(t, stderr.String(), tt.text)
		require.NoError(t, <-copied, "the program has ended")
	}
}

// Under nohup a closed terminal changes nothing.
func TestIgnoredHangup(t *testing.T) {
	t.Parallel()
	nohup, err := exec.LookPath("nohup")
	if err != nil {
		return // there is nothing that could have us ignore it
	}
	var stdout bytes.Buffer
	called := make(chan struct{})
	w := &watcher{text: "tools/call", do: func() { close(called) }}
	name, copied := watchFrames(t, w)
	cmd := exec.Command(nohup, "mcpctl", "call", "hang", "-o", "json", "-e", "FRAMES="+name, "--", "fakeserver")
	cmd.Stdout, cmd.Stderr = &stdout, &stdout
	require.NoError(t, cmd.Start())
	<-called
	require.NoError(t, cmd.Process.Signal(syscall.SIGHUP))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, 143, exit.ExitCode(), stdout.String())
	require.NoError(t, <-copied, "the program has ended")
}

// A closed pipe ends the program quietly, as it does others.
func TestBrokenPipe(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	var stderr bytes.Buffer
	cmd := exec.Command("mcpctl", "ls", "-q", "--", "fakeserver")
	cmd.Stdout, cmd.Stderr = w, &stderr
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Run(), &exit)
	require.NoError(t, w.Close())
	require.Equal(t, 141, exit.ExitCode())
	require.Empty(t, stderr.String())
}
