package transport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// child is a connection to a program of this binary.
type child struct {
	*testing.T
	transport.Conn
	ids    chan int
	stderr lines
}

// lines collects lines from another goroutine.
type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, line)
}

func (l *lines) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.text...)
}

// run starts a program; change may change its transport.
func run(t *testing.T, name string, change func(*transport.Command)) *child {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	cmd := &transport.Command{Argv: []string{os.Args[0]}, Env: program(name)}
	if change != nil {
		change(cmd)
	}
	c := &child{T: t, ids: make(chan int, 1)}
	c.ids <- 0
	conn, err := cmd.Connect(t.Context(), transport.Handler{Trace: transport.Trace{Stderr: c.stderr.add}})
	require.NoError(t, err)
	c.Conn = conn
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	return c
}

// shortGraces makes Close quick for programs that do not exit.
func shortGraces(c *transport.Command) {
	c.StopGrace, c.KillGrace = 50*time.Millisecond, 200*time.Millisecond
}

func (c *child) request(method, params string) transport.Request {
	id := <-c.ids + 1
	c.ids <- id
	req := transport.Request{Request: jsonrpc.Request{ID: jsonrpc.IntID(int64(id)), Method: method}}
	if params != "" {
		req.Params = []byte(params)
	}
	return req
}

// works makes a call that must succeed.
func (c *child) works() {
	c.Helper()
	_, err := c.Call(c.Context(), c.request("echo", `{}`))
	require.NoError(c, err)
}

// fails makes a call that must fail within a short time.
func (c *child) fails(req transport.Request, reason transport.Reason) *transport.Failure {
	c.Helper()
	ctx, cancel := context.WithTimeoutCause(c.Context(), 20*time.Second, errors.New("the call hung"))
	defer cancel()
	_, err := c.Call(ctx, req)
	return failure(c.T, err, reason)
}

// failure checks the class of a failure.
func failure(t *testing.T, err error, reason transport.Reason) *transport.Failure {
	t.Helper()
	var f *transport.Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, reason, f.Reason, "%v", err)
	return f
}

// pid returns the program's process id from a failure.
func (c *child) pid() int {
	c.Helper()
	req := c.request("silent", "")
	req.Wait.Max = time.Millisecond
	return c.fails(req, transport.ReasonTimeout).Process.PID
}

// closes calls Close and checks that it takes at most bound.
func (c *child) closes(bound time.Duration) {
	c.Helper()
	began := time.Now()
	require.NoError(c, c.Close())
	require.Less(c, time.Since(began), bound)
}

const soon = 5 * time.Second

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	require.Eventually(t, is, soon, 5*time.Millisecond, what)
}

// A program that exits at once fails the call at once, with the reason.
func TestCommandExitsAtOnce(t *testing.T) {
	t.Parallel()
	c := run(t, "exit 3", nil)
	began := time.Now()
	f := c.fails(c.request("initialize", ""), transport.ReasonLost)
	require.Less(t, time.Since(began), soon)
	require.True(t, f.Process.Exited)
	require.Equal(t, 3, f.Process.Exit)
	require.Empty(t, f.Process.Signal)
	require.Equal(t, []string{os.Args[0]}, f.Process.Command)
	require.Positive(t, f.Process.PID)
	require.Positive(t, f.Process.Age)
	require.Equal(t, []string{"starting", "boom: no configuration file"}, f.Process.Stderr)
	<-c.Done()
	require.True(t, reaped(f.Process.PID), "a zombie is left before Close")
	// From now on nothing can be sent.
	require.True(t, c.fails(c.request("echo", ""), transport.ReasonLost).NotSent)
	_ = failure(t, c.Notify(t.Context(), jsonrpc.Notification{Method: "n"}), transport.ReasonLost)
}

// Status 0 in the middle of a call is a proper exit: the call has a typed error.
func TestCommandExitsMidCall(t *testing.T) {
	t.Parallel()
	c := run(t, "exit 0 on request", nil)
	f := c.fails(c.request("echo", ""), transport.ReasonLost)
	require.False(t, f.NotSent)
	require.True(t, f.Process.Exited)
	require.Zero(t, f.Process.Exit)
}

// Lines that are not messages are skipped, counted and traced, whatever they start with.
func TestCommandBanner(t *testing.T) {
	t.Parallel()
	c := run(t, "banner", nil)
	c.works()
	req := c.request("silent", "")
	req.Wait.Idle = 10 * time.Millisecond
	require.Equal(t, "Server v1.0 is ready", c.fails(req, transport.ReasonTimeout).Process.Noise)

	// Three lines are noise; two are allowed.
	c = run(t, "banner", func(cmd *transport.Command) { cmd.MaxNoise = 2 })
	require.ErrorContains(t, c.fails(c.request("silent", ""), transport.ReasonLost), "must log to stderr")
	c = run(t, "banner", func(cmd *transport.Command) { cmd.MaxNoise = 3 })
	c.works()
}

// A JSON log is noise like any other log.
func TestCommandLogsJSON(t *testing.T) {
	t.Parallel()
	c := run(t, "log in JSON", nil)
	c.works()
	req := c.request("silent", "")
	req.Wait.Idle = 10 * time.Millisecond
	require.Equal(t, `{"level":30,"msg":"listening"}`, c.fails(req, transport.ReasonTimeout).Process.Noise)
	c = run(t, "log in JSON", func(cmd *transport.Command) { cmd.MaxNoise = 1 })
	require.ErrorContains(t, c.fails(c.request("silent", ""), transport.ReasonLost), "must log to stderr")
}

// A program that writes too much noise is killed.
func TestCommandTooMuchNoise(t *testing.T) {
	t.Parallel()
	c := run(t, "noise", func(cmd *transport.Command) { cmd.MaxNoise = 50 })
	f := c.fails(c.request("echo", ""), transport.ReasonLost)
	require.ErrorContains(t, f, "must log to stderr")
	require.Equal(t, "chatter", f.Process.Noise)
	require.True(t, c.fails(c.request("echo", ""), transport.ReasonLost).NotSent)
}

// A program that answers requests may write any amount in between.
func TestCommandChatty(t *testing.T) {
	t.Parallel()
	c := run(t, "chatty", func(cmd *transport.Command) { cmd.MaxNoise = 5 })
	for range 50 {
		c.works()
	}
	c = run(t, "chatty", func(cmd *transport.Command) { cmd.MaxNoise = 1 })
	require.ErrorContains(t, c.fails(c.request("echo", ""), transport.ReasonLost), "must log to stderr")
}

// Stderr is drained, copied, and its end is kept.
func TestCommandStderrFlood(t *testing.T) {
	t.Parallel()
	var copied bytes.Buffer
	c := run(t, "flood of stderr", func(cmd *transport.Command) { cmd.Stderr = &copied })
	c.works()
	last := func() string {
		all := c.stderr.all()
		if len(all) == 0 {
			return ""
		}
		return all[len(all)-1]
	}
	eventually(t, "the last line", func() bool { return strings.HasPrefix(last(), "final words") })
	require.True(t, strings.HasSuffix(last(), "ü\uFFFD"))
	require.Len(t, c.stderr.all(), 5001)
	req := c.request("silent", "")
	req.Wait.Idle = 10 * time.Millisecond
	tail := c.fails(req, transport.ReasonTimeout).Process.Stderr
	require.Len(t, tail, 41, "the first 8, what is left out, the last 32")
	require.True(t, strings.HasPrefix(tail[39], "4999 eee"))
	for _, line := range tail {
		require.LessOrEqual(t, len(line), 510)
		require.Equal(t, strings.ToValidUTF8(line, "?"), line, "a character was cut in two")
	}
	require.NoError(t, c.Close())
	require.Equal(t, 5001, strings.Count(copied.String(), "\n"))
}

// stuck is a writer that blocks until it is released.
type stuck chan struct{}

func (s stuck) Write(p []byte) (int, error) {
	<-s
	return len(p), nil
}

// Close does not wait for a blocked writer.
func TestCommandStderrCopyBlocks(t *testing.T) {
	t.Parallel()
	w := make(stuck)
	c := run(t, "exit 3", func(cmd *transport.Command) { cmd.Stderr = w })
	_ = c.fails(c.request("echo", ""), transport.ReasonLost)
	c.closes(soon)
	close(w)
}

// A program that never reads blocks no caller: contexts and timeouts work, and unsent requests
// are reported as not sent.
func TestCommandDeaf(t *testing.T) {
	t.Parallel()
	c := run(t, "deaf", shortGraces)
	large := fmt.Sprintf(`{"text":"%s"}`, strings.Repeat("x", 1<<20))
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan error, 3)
	for range 3 {
		req := c.request("echo", large)
		go func() {
			_, err := c.Call(ctx, req)
			results <- err
		}()
	}
	// Behind them, a small call with a timeout and one with a deadline.
	req := c.request("echo", `{}`)
	req.Wait.Idle = 100 * time.Millisecond
	_ = c.fails(req, transport.ReasonTimeout)
	late, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	began := time.Now()
	_, err := c.Call(late, c.request("echo", `{}`))
	_ = failure(t, err, transport.ReasonCanceled)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(began), soon)
	require.NoError(t, c.Notify(t.Context(), jsonrpc.Notification{Method: "n"}))
	began = time.Now()
	cancel()
	notSent := 0
	for range 3 {
		if failure(t, <-results, transport.ReasonCanceled).NotSent {
			notSent++
		}
	}
	// A part of one request is in the pipe, which is sent if the program reads after all.
	require.Equal(t, 2, notSent)
	require.Less(t, time.Since(began), soon)
	c.closes(soon)
}

// Every call to a program that is killed fails, and the program has received them all.
func TestCommandKilledMidCall(t *testing.T) {
	t.Parallel()
	c := run(t, "die at 64", nil)
	var work sync.WaitGroup
	for range 64 {
		req := c.request("echo", `{}`)
		work.Go(func() {
			_, err := c.Call(t.Context(), req)
			f, ok := errors.AsType[*transport.Failure](err)
			if !ok || f.Reason != transport.ReasonLost || f.NotSent || f.Process.Exit != -1 || f.Process.Signal != "SIGKILL" {
				t.Errorf("got %+v", err)
			}
		})
	}
	work.Wait()
}

// A program that exits after reading one request: no other request reached it completely, and the
// calls report that.
func TestCommandKilledMidWrite(t *testing.T) {
	t.Parallel()
	c := run(t, "die at 1", nil)
	large := fmt.Sprintf(`{"text":"%s"}`, strings.Repeat("x", 300<<10)) // more than a pipe holds
	sent := make(chan bool, 64)
	for range 64 {
		req := c.request("echo", large)
		go func() {
			_, err := c.Call(t.Context(), req)
			f, ok := errors.AsType[*transport.Failure](err)
			if !ok || f.Reason != transport.ReasonLost {
				t.Errorf("got %v", err)
			}
			sent <- ok && !f.NotSent
		}()
	}
	count := 0
	for range 64 {
		if <-sent {
			count++
		}
	}
	// The first was read. A part of the second may be in a write when the program exits; then its
	// delivery is unknown.
	require.GreaterOrEqual(t, count, 1)
	require.LessOrEqual(t, count, 2)
}

// A child of the program keeps stdout open after the program has exited. The limit is 250 ms; the
// test allows ten times that, for busy machines.
func TestCommandOrphanHoldsStdout(t *testing.T) {
	t.Parallel()
	var took time.Duration
	for range 10 {
		c := run(t, "orphan", nil)
		began := time.Now()
		f := c.fails(c.request("echo", ""), transport.ReasonLost)
		took = time.Since(began)
		require.True(t, f.Process.Exited)
		require.False(t, f.NotSent)
		require.NoError(t, c.Close())
		eventually(t, "the orphan ends", func() bool { return gone(grandchild(c)) })
		if took < 10*250*time.Millisecond {
			return
		}
	}
	t.Errorf("a call took %v to fail", took)
}

// grandchild is a process that the program has started.
func grandchild(c *child) int {
	c.Helper()
	var pid int
	eventually(c.T, "the pid of the child", func() bool {
		_, err := fmt.Sscanf(strings.Join(c.stderr.all(), "\n"), "child %d", &pid)
		return err == nil
	})
	return pid
}

// Close ends the whole group, and an answer without a final newline counts.
func TestCommandCloseEndsTheGroup(t *testing.T) {
	t.Parallel()
	c := run(t, "parent", nil)
	c.works()
	pid, grand := c.pid(), grandchild(c)
	require.False(t, gone(pid))
	require.False(t, gone(grand))
	c.closes(soon)
	require.True(t, reaped(pid))
	eventually(t, "the child of the program ends", func() bool { return gone(grand) })
}

// Programs that ignore the end of stdin are terminated.
func TestCommandCloseInsists(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ignore EOF", "ignore TERM", "deaf"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := run(t, name, func(cmd *transport.Command) {
				shortGraces(cmd)
				if name != "ignore TERM" {
					cmd.KillGrace = time.Minute // TERM ends the others
				}
			})
			if name != "deaf" {
				c.works()
			}
			pid := c.pid()
			began := time.Now()
			c.closes(soon)
			least := 50 * time.Millisecond
			if name == "ignore TERM" {
				least += 200 * time.Millisecond
			}
			require.GreaterOrEqual(t, time.Since(began), least)
			require.True(t, reaped(pid))
			require.NoError(t, c.Close())
		})
	}
}

// A program that reads to the end of stdin gets no signal: it exits on its own.
func TestCommandCloseIsPatient(t *testing.T) {
	t.Parallel()
	c := run(t, "peer", nil)
	c.works()
	pid := c.pid()
	began := time.Now()
	require.NoError(t, c.Close())
	require.Less(t, time.Since(began), 5*time.Second, "it waited for the whole grace")
	require.True(t, reaped(pid))
}

// A truncated line fails its own call at once if it has the id, and counts as noise otherwise.
func TestCommandTruncatedLine(t *testing.T) {
	t.Parallel()
	c := run(t, "truncate", nil)
	f := c.fails(c.request("early", ""), transport.ReasonProtocol)
	require.ErrorIs(t, f, jsonrpc.ErrInvalid)
	require.ErrorContains(t, f, "this is no")
	require.NotNil(t, f.Process)
	c.works()
	req := c.request("late", "")
	req.Wait.Idle = 50 * time.Millisecond
	f = c.fails(req, transport.ReasonTimeout)
	require.Contains(t, f.Process.Noise, "this is no")
	c.works()
}

func TestCommandLineEnds(t *testing.T) {
	t.Parallel()
	run(t, "carriage", nil).works()
	run(t, "no last line", nil).works()
}

// The default limit is 16 MiB: a message just below passes, and one above fails only its call.
func TestCommandSixteenMiB(t *testing.T) {
	t.Parallel()
	testmain.SkipLarge(t)
	c := run(t, "peer", nil)
	const limit = 16 << 20
	answer, err := c.Call(t.Context(), c.request("large", fmt.Sprintf(`{"bytes":%d}`, limit-100)))
	require.NoError(t, err)
	require.Greater(t, len(answer.Result), limit-100)
	f := c.fails(c.request("large", fmt.Sprintf(`{"bytes":%d}`, limit)), transport.ReasonTooLarge)
	require.False(t, f.NotSent)
	c.works()
}

// A transport that cannot work starts nothing, and its error has the reason.
func TestCommandCannotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "readme")
	require.NoError(t, os.WriteFile(text, []byte("not a program"), 0o600))
	self := []string{os.Args[0]}
	peer := program("peer") // for programs that must not start
	tests := []struct {
		name   string
		cmd    transport.Command
		reason transport.Reason
		text   string
	}{
		{"no argv", transport.Command{}, transport.ReasonOption, "no program"},
		{"empty name", transport.Command{Argv: []string{""}}, transport.ReasonOption, "no program"},
		{"missing", transport.Command{Argv: []string{filepath.Join(dir, "nothing-here"), "--token", "s"}}, transport.ReasonUnavailable, "nothing-here"},
		{"not in the path", transport.Command{Argv: []string{"mainstay-no-such-program"}}, transport.ReasonUnavailable, "mainstay-no-such-program"},
		{"not executable", transport.Command{Argv: []string{text}}, transport.ReasonUnavailable, "permission denied"},
		{"folder missing", transport.Command{Argv: self, Env: peer, Dir: filepath.Join(dir, "nowhere")}, transport.ReasonUnavailable, "nowhere"},
		{"environment", transport.Command{Argv: self, Env: append(program("peer"), "TOKEN")}, transport.ReasonOption, "NAME=value"},
		{"environment without name", transport.Command{Argv: self, Env: append(program("peer"), "=x")}, transport.ReasonOption, "NAME=value"},
		{"policy", transport.Command{Argv: self, Env: peer, Inherit: 9}, transport.ReasonOption, "policy"},
		{"grace", transport.Command{Argv: self, Env: peer, StopGrace: -1}, transport.ReasonOption, "negative"},
		{"noise", transport.Command{Argv: self, Env: peer, MaxNoise: -1}, transport.ReasonOption, "negative"},
		{"limits", transport.Command{Argv: self, Env: peer, Limits: transport.Limits{Depth: -1}}, transport.ReasonOption, "negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			conn, err := tt.cmd.Connect(t.Context(), transport.Handler{})
			if conn != nil {
				_ = conn.Close()
			}
			f := failure(t, err, tt.reason)
			require.True(t, f.NotSent)
			require.ErrorContains(t, err, tt.text)
			require.NotContains(t, tt.cmd.String(), "--token")
			if tt.reason == transport.ReasonUnavailable {
				require.Equal(t, tt.cmd.Argv, f.Process.Command)
				require.Zero(t, f.Process.PID)
			}
		})
	}
}

// A context that has already ended starts nothing.
func TestCommandContextEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("not any more")
	cancel(cause)
	conn, err := (&transport.Command{Argv: []string{os.Args[0]}, Env: program("peer")}).Connect(ctx, transport.Handler{})
	if conn != nil {
		require.NoError(t, conn.Close())
	}
	require.True(t, failure(t, err, transport.ReasonCanceled).NotSent)
	require.ErrorIs(t, err, cause)
}

// A call that ends with a deadline, its own or its caller's, has the evidence of the program; a
// canceled one has not.
func TestCommandDeadline(t *testing.T) {
	t.Parallel()
	c := run(t, "peer", nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := c.Call(ctx, c.request("silent", ""))
	require.NotNil(t, failure(t, err, transport.ReasonCanceled).Process)
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	_, err = c.Call(ctx, c.request("silent", ""))
	require.Nil(t, failure(t, err, transport.ReasonCanceled).Process)
}

// A program without a handshake is ended faster: the caller waits for the error.
func TestCommandAbort(t *testing.T) {
	t.Parallel()
	c := run(t, "ignore TERM", func(c *transport.Command) { c.StopGrace, c.KillGrace = time.Minute, time.Minute })
	c.works() // it ignores TERM from now on
	began := time.Now()
	require.NoError(t, c.Conn.(interface{ Abort() error }).Abort())
	require.Less(t, time.Since(began), 20*time.Second)
}
