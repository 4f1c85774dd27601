package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// TestMain makes this test binary its own worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Argument {
		os.Exit(Main(os.Stdin, os.Stdout, mischief)) //nolint:forbidigo // this is the main of the worker
	}
	if len(os.Args) > 1 && os.Args[1] == "mute" {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test is done with it
		return
	}
	testmain.Run(m)
}

// mischief does what the document says.
func mischief(req *Request) (json.RawMessage, error) {
	switch text := string(req.Document); text {
	case "panic":
		panic("index out of range")
	case "loop":
		for i := 0; ; i++ {
			if i < 0 {
				return nil, nil
			}
		}
	case "eat":
		var held [][]byte
		for i := range 1 << 20 {
			b := make([]byte, 1<<20)
			for j := 0; j < len(b); j += 4096 {
				b[j] = byte(i)
			}
			held = append(held, b)
		}
		return json.RawMessage{held[0][0]}, nil
	case "overflow":
		var f func(int) int
		f = func(n int) int { return f(n+1) + n }
		return json.RawMessage{byte(f(0))}, nil
	case "die":
		os.Exit(7) //nolint:forbidigo // a crash
	case "large":
		return json.RawMessage(`"` + strings.Repeat("x", 4096) + `"`), nil
	case "locked":
		return nil, Fail(Encrypted, "it wants a password")
	case "odd":
		return nil, errors.New("not what it should be")
	case "env":
		return json.Marshal(os.Environ())
	}
	return json.Marshal(map[string]string{
		"format": req.Format, "filename": req.Filename, "options": string(req.Options), "text": string(req.Document),
	})
}

func testPool(t *testing.T, limits Limits, parallel, queue int) *Pool {
	t.Helper()
	argv, err := Command()
	require.NoError(t, err)
	return NewPool(argv, limits, parallel, queue)
}

func TestPool_Outcomes_S2_CONV_09(t *testing.T) {
	t.Parallel()
	pool := testPool(t, Limits{Memory: 256 << 20, Output: 1024}, 0, 0)
	for _, tt := range []struct{ document, reason, message string }{
		{"panic", Corrupt, "malformed"},
		{"eat", TooLarge, "more memory"},
		{"overflow", TooLarge, "more memory"},
		{"die", Corrupt, "ended its converter"},
		{"large", TooLarge, "over the limit"},
		{"locked", Encrypted, "password"},
		{"odd", Corrupt, "not what it should be"},
	} {
		t.Run(tt.document, func(t *testing.T) {
			t.Parallel()
			if (tt.document == "eat" || tt.document == "overflow") && testmain.Race {
				t.Skip("the race detector maps too much for a limit")
			}
			_, err := pool.Convert(t.Context(), &Request{Format: "pdf", Document: []byte(tt.document)})
			var failure *Failure
			require.ErrorAs(t, err, &failure)
			require.Equal(t, tt.reason, failure.Reason)
			require.Contains(t, failure.Message, tt.message)
			require.Equal(t, "convert", failure.Stage)
		})
	}
}

func TestPool_MemoryIsBounded(t *testing.T) {
	t.Parallel()
	if testmain.Race {
		t.Skip("the race detector maps too much for a limit")
	}
	_, err := testPool(t, Limits{Memory: 256 << 20}, 0, 0).Convert(t.Context(), &Request{Document: []byte("eat")})
	var failure *Failure
	require.ErrorAs(t, err, &failure)
	require.Equal(t, TooLarge, failure.Reason, "the limit ended it, not the machine: %v", failure.Err)
}

// Which of these a process says depends on what it asked memory for last.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	for _, said := range []string{
		"fatal error: runtime: out of memory",
		"fatal error: runtime: cannot allocate memory",
		"runtime: out of memory: cannot allocate 4194304-byte block (260046848 in use)",
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable",
		"runtime: failed to create new OS thread (have 8 already; errno=11)",
	} {
		require.Regexp(t, outOfMemory, said)
	}
	for _, said := range []string{"", "panic: out of memory", "fatal error: all goroutines are asleep - deadlock!"} {
		require.NotRegexp(t, outOfMemory, said)
	}
}

func TestPool_Converts(t *testing.T) {
	t.Parallel()
	doc, err := testPool(t, Limits{}, 0, 0).Convert(t.Context(),
		&Request{Format: "pdf", Filename: "a.pdf", Options: json.RawMessage(`{"a":1}`), Document: []byte("some text")})
	require.NoError(t, err)
	require.Equal(t, `{"filename":"a.pdf","format":"pdf","options":"{\"a\":1}","text":"some text"}`, string(doc))
}

func TestPool_DeadlineKills_S2_ROUTE_03(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := testPool(t, Limits{}, 0, 0).Convert(ctx, &Request{Document: []byte("loop")})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestPool_CancelStopsTheWork_S2_CONV_14(t *testing.T) {
	t.Parallel()
	argv, err := Command()
	require.NoError(t, err)
	proc, err := Start(t.Context(), argv, Limits{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var ended error
	var wg sync.WaitGroup
	wg.Go(func() { _, ended = proc.Convert(ctx, &Request{Document: []byte("loop")}) })
	cancel()
	wg.Wait()
	require.ErrorIs(t, ended, context.Canceled)
	require.True(t, proc.Dead())
	require.NotNil(t, proc.cmd.ProcessState, "the process is gone and waited for")
}

func TestPool_Busy(t *testing.T) {
	t.Parallel()
	pool := testPool(t, Limits{}, 1, -1)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = pool.Convert(ctx, &Request{Document: []byte("loop")}) })
	require.Eventually(t, func() bool { return len(pool.running) == 1 }, 5*time.Second, time.Millisecond)
	_, err := pool.Convert(t.Context(), &Request{Document: []byte("text")})
	require.ErrorIs(t, err, ErrBusy)
	cancel()
	wg.Wait()
	_, err = pool.Convert(t.Context(), &Request{Document: []byte("text")})
	require.NoError(t, err, "the place is free again")
}

func TestPool_WaitEndsWithTheContext(t *testing.T) {
	t.Parallel()
	pool := testPool(t, Limits{}, 1, 1)
	pool.running <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := pool.Convert(ctx, &Request{})
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, pool.waiting)
}

func TestProcess_LivesOn(t *testing.T) {
	t.Parallel()
	argv, err := Command()
	require.NoError(t, err)
	proc, err := Start(t.Context(), argv, Limits{})
	require.NoError(t, err)
	defer proc.Close()
	for _, text := range []string{"one", "panic", "locked", "two"} {
		doc, err := proc.Convert(t.Context(), &Request{Document: []byte(text)})
		var failure *Failure
		if err != nil {
			require.ErrorAs(t, err, &failure)
		} else {
			require.Contains(t, string(doc), text)
		}
		require.False(t, proc.Dead())
	}
}

func TestStart_NotAWorker(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{
		{filepath.Join(t.TempDir(), "missing")},
		{os.Args[0], "-test.run=^$"}, // a test binary that runs nothing
	} {
		_, err := Start(t.Context(), argv, Limits{})
		require.ErrorIs(t, err, ErrUnavailable)
	}
}

func TestStart_SaysNothing(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), []string{os.Args[0], "mute"}, Limits{Start: 200 * time.Millisecond})
	require.ErrorIs(t, err, ErrUnavailable)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = Start(ctx, []string{os.Args[0], "mute"}, Limits{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestStart_NoWorkerOfAWorker(t *testing.T) {
	t.Setenv(marker, "1")
	argv, err := Command()
	require.NoError(t, err)
	_, err = Start(t.Context(), argv, Limits{})
	require.ErrorIs(t, err, ErrUnavailable)
}

func TestWorker_SeesNoSecretOfTheServer(t *testing.T) {
	t.Setenv("MAINSTAY_PLANTED_KEY", "sk-planted")
	doc, err := testPool(t, Limits{}, 0, 0).Convert(t.Context(), &Request{Document: []byte("env")})
	require.NoError(t, err)
	require.NotContains(t, string(doc), "planted")
}

func TestMain_EndsWithItsInput(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], Argument)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, writeFrame(in, header{Timeout: 60_000}, []byte("loop")))
	require.NoError(t, in.Close()) // as when the server dies during a conversion
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, exitFault, exit.ExitCode())
}

func TestMain_GivesUpByItself(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], Argument)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, writeFrame(in, header{Timeout: 10}, []byte("loop")))
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, exitLate, exit.ExitCode())
}

func FuzzReadFrame(f *testing.F) {
	var whole bytes.Buffer
	require.NoError(f, writeFrame(&whole, answer{Fail(Corrupt, "x")}, []byte("body")))
	f.Add(whole.Bytes())
	f.Add([]byte{0, 0, 0, 2, '{', '}', 255, 255, 255, 255, 255, 255, 255, 255})
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		var a answer
		body, err := readFrame(bytes.NewReader(data), &a, 1024)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(body), 1024)
		var again bytes.Buffer
		require.NoError(t, writeFrame(&again, a, body))
		var b answer
		same, err := readFrame(&again, &b, 1024)
		require.NoError(t, err)
		require.Equal(t, body, same)
		require.Equal(t, a, b)
	})
}

func TestReadFrame_Cut(t *testing.T) {
	t.Parallel()
	var whole bytes.Buffer
	require.NoError(t, writeFrame(&whole, answer{}, []byte("body")))
	for n := range whole.Len() {
		_, err := readFrame(bytes.NewReader(whole.Bytes()[:n]), &answer{}, 1024)
		if n < 4 {
			require.Error(t, err)
			continue
		}
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	}
}
