//go:build unix

package transport_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// stubborn ignores the end of stdin and the termination signal, and so does its child.
func stubborn() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
	fmt.Fprintln(os.Stderr, "process", os.Getpid())
	if os.Getenv("WITH_CHILD") != "" {
		startChild() // the child inherits the ignored signals
	}
	servePeer()
	hold()
}

// obliging exits shortly after the end of its stdin, and leaves a file.
func obliging() {
	fmt.Fprintln(os.Stderr, "process", os.Getpid())
	servePeer()
	file, err := os.Create(os.Getenv("FAREWELL"))
	if err == nil {
		_ = file.Close()
	}
}

// clientProgram starts a program and is killed before it closes the connection. Threads that end
// meanwhile must not kill the program.
func clientProgram() {
	cmd := &transport.Command{
		Argv: []string{os.Args[0]}, Stderr: os.Stdout,
		Env: append(program(os.Getenv("SERVER")), "WITH_CHILD="+os.Getenv("WITH_CHILD"), "FAREWELL="+os.Getenv("FAREWELL")),
	}
	ctx := context.Background() //nolint:forbidigo // a program's main
	conn, err := cmd.Connect(ctx, transport.Handler{})
	if err != nil {
		fmt.Println("error", err)
		exit(1)
	}
	var ended sync.WaitGroup
	for range 50 {
		ended.Go(runtime.LockOSThread) // a locked goroutine that ends stops its thread
	}
	ended.Wait()
	req := transport.Request{Request: jsonrpc.Request{ID: jsonrpc.IntID(1), Method: "echo", Params: []byte(`{}`)}}
	if _, err := conn.Call(ctx, req); err != nil {
		fmt.Println("error", err)
		exit(1)
	}
	fmt.Println("ready")
	hold()
}

// killedClient runs a client until its program answers, kills it, and returns the processes of
// the program.
func killedClient(t *testing.T, server string, env ...string) (pids []int) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), program("client")...), append(env, "SERVER="+server)...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() })
	ready := false
	for lines := bufio.NewScanner(out); (!ready || len(pids) == 0 || len(pids) < 2 && strings.Contains(strings.Join(env, " "), "WITH_CHILD")) && lines.Scan(); {
		var pid int
		word, _, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "process", "child":
			_, err := fmt.Sscan(lines.Text(), &word, &pid)
			require.NoError(t, err)
			pids = append(pids, pid)
		case "ready":
			ready = true
		default:
			require.Fail(t, "the client", lines.Text())
		}
	}
	require.True(t, ready)
	for _, pid := range pids {
		require.False(t, gone(pid))
	}
	require.NoError(t, cmd.Process.Kill())
	return pids
}

// ends waits for the end of a process, for less time than it would run on its own.
func ends(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return gone(pid) }, 40*time.Second, 5*time.Millisecond, "the program lives on")
}

// A killed client leaves nothing behind, not even a program that ignores the end of its stdin and
// the termination signal, or that program's child.
func TestKilledClientLeavesNoProgram(t *testing.T) {
	t.Parallel()
	t.Run("with a shell", func(t *testing.T) {
		t.Parallel()
		pids := killedClient(t, "stubborn", "WITH_CHILD=1")
		require.Len(t, pids, 2)
		for _, pid := range pids {
			ends(t, pid)
		}
	})
	t.Run("without a shell", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS != "linux" {
			t.Skip("only Linux ends a program without a watcher, and without its children")
		}
		pids := killedClient(t, "stubborn", "PATH=/nowhere")
		require.Len(t, pids, 1)
		ends(t, pids[0])
	})
	t.Run("an obliging program", func(t *testing.T) {
		t.Parallel()
		farewell := t.TempDir() + "/farewell"
		pids := killedClient(t, "obliging", "FAREWELL="+farewell)
		ends(t, pids[0])
		require.FileExists(t, farewell, "it had the time to exit")
	})
}
