//go:build unix

package faults

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// childRig is the proxy as a process before the fake server as a process.
type childRig struct {
	t       *testing.T
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	stderr  *bytes.Buffer
	journal string
}

func newChildRig(t *testing.T, journal string, rules ...Rule) *childRig {
	t.Helper()
	plan, err := json.Marshal(Plan{Rules: rules})
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	r := &childRig{t: t, stderr: &bytes.Buffer{}, journal: journal}
	r.cmd = exec.CommandContext(t.Context(), self, "-plan", string(plan), "-journal", journal, self)
	r.cmd.Env = append(os.Environ(), roleVar+"="+roleProxy)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	r.cmd.Stderr = r.stderr
	r.cmd.WaitDelay = 10 * time.Second
	r.in, err = r.cmd.StdinPipe()
	require.NoError(t, err)
	// A pipe of our own: Wait must not close it under the reader.
	from, to, err := os.Pipe()
	require.NoError(t, err)
	r.cmd.Stdout = to
	require.NoError(t, r.cmd.Start())
	require.NoError(t, to.Close())
	r.out = bufio.NewReader(from)
	t.Cleanup(func() {
		_ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) // the whole group; it may have ended
		_ = r.cmd.Wait()
		_ = from.Close()
	})
	return r
}

func (r *childRig) say(line string) { _, _ = io.WriteString(r.in, line+"\n") }

func (r *childRig) hears() {
	r.t.Helper()
	line, err := r.out.ReadString('\n')
	require.NoError(r.t, err)
	isGood(r.t, line)
}

// ends waits for the end of stdout and of the process.
func (r *childRig) ends() syscall.WaitStatus {
	r.t.Helper()
	rest, err := io.ReadAll(r.out)
	require.NoError(r.t, err)
	require.Empty(r.t, rest)
	_ = r.cmd.Wait()
	return r.cmd.ProcessState.Sys().(syscall.WaitStatus)
}

func (r *childRig) read() *Journal {
	r.t.Helper()
	j, err := ReadJournal(r.journal)
	require.NoError(r.t, err)
	return j
}

var processCases = map[string]struct {
	rule  Rule
	check func(t *testing.T, rig *childRig)
}{
	"E2": {rule: Rule{Status: 3, Text: "cannot start"}, check: func(t *testing.T, rig *childRig) {
		require.Equal(t, 3, rig.ends().ExitStatus())
		require.Equal(t, "cannot start", rig.stderr.String())
	}},
	"E4": {rule: Rule{Size: 3 << 20}, check: func(t *testing.T, rig *childRig) {
		rig.say(call(1))
		rig.hears()
		require.NoError(t, rig.in.Close())
		require.Zero(t, rig.ends().ExitStatus())
		require.Equal(t, 3<<20, rig.stderr.Len())
	}},
	"E5": {check: func(t *testing.T, rig *childRig) {
		rig.say(call(1))
		require.Equal(t, syscall.SIGKILL, rig.ends().Signal())
		all := rig.read().Calls
		require.Len(t, all, 1)
		require.Equal(t, []bool{true, true, false}, []bool{all[0].Sent, all[0].Answered, all[0].Delivered})
	}},
	"E10/sigstop": {check: func(t *testing.T, rig *childRig) {
		rig.say(call(1))
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(rig.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		require.NoError(t, err)
		require.Equal(t, rig.cmd.Process.Pid, pid)
		require.True(t, status.Stopped())
		require.NoError(t, rig.cmd.Process.Signal(syscall.SIGCONT))
		rig.hears()
	}},
	"E11/term": {check: func(t *testing.T, rig *childRig) {
		rig.say(call(1))
		rig.hears()
		require.NoError(t, rig.cmd.Process.Signal(syscall.SIGTERM))
		rig.say(call(1))
		rig.hears()
		require.NoError(t, rig.in.Close())
		_, err := rig.out.ReadByte()
		require.ErrorIs(t, err, io.EOF, "the server ended, and with it stdout")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = rig.cmd.Wait()
		}()
		// Not the passing of time, but another signal, ends the wait.
		require.NoError(t, rig.cmd.Process.Signal(syscall.SIGKILL))
		<-ended
		require.Equal(t, syscall.SIGKILL, rig.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal(), "it has not ended on its own")
	}},
	"E11/grandchild": {rule: Rule{For: Duration(time.Minute)}, check: func(t *testing.T, rig *childRig) {
		rig.say(call(1))
		rig.hears()
		require.NoError(t, rig.in.Close())
		state, err := rig.cmd.Process.Wait()
		require.NoError(t, err)
		require.True(t, state.Success())
		ended := make(chan error, 1)
		go func() {
			_, err := rig.out.ReadByte()
			ended <- err
		}()
		require.Empty(t, ended, "the pipe is held")
		require.NoError(t, syscall.Kill(-rig.cmd.Process.Pid, syscall.SIGKILL))
		require.ErrorIs(t, <-ended, io.EOF)
	}},
	"E12/kill": {check: func(t *testing.T, rig *childRig) {
		rig.say(call(1))
		require.Equal(t, syscall.SIGKILL, rig.ends().Signal())
	}},
	"E12/segv": {check: func(t *testing.T, rig *childRig) {
		rig.say(call(1))
		require.Equal(t, syscall.SIGSEGV, rig.ends().Signal())
	}},
	"E12/exit0": {check: func(t *testing.T, rig *childRig) {
		rig.say(call(1))
		status := rig.ends()
		require.True(t, status.Exited())
		require.Zero(t, status.ExitStatus())
	}},
}

func TestFaultsOfProcesses(t *testing.T) {
	t.Parallel()
	for key, c := range processCases {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			rule := c.rule
			rule.Fault, rule.Variant, _ = strings.Cut(key, "/")
			c.check(t, newChildRig(t, filepath.Join(t.TempDir(), "journal"), rule))
		})
	}
}

// Counters go on over instances: one crash and none after the restart. A death
// of the client is in the journal as the end of stdin (E16).
func TestInstances(t *testing.T) {
	t.Parallel()
	journal := filepath.Join(t.TempDir(), "journal")
	rule := Rule{Fault: "E13", When: Selector{Count: 1, Tools: []string{"add"}}}
	rig := newChildRig(t, journal, rule)
	rig.say(call(1))
	require.Equal(t, syscall.SIGKILL, rig.ends().Signal())
	rig = newChildRig(t, journal, rule)
	rig.say(call(1))
	rig.hears()
	require.NoError(t, rig.in.Close())
	require.Zero(t, rig.ends().ExitStatus())
	j := rig.read()
	require.Equal(t, []int{2, 1}, []int{j.Starts, j.StdinEnds})
	require.Len(t, j.Calls, 2)
	require.Equal(t, []bool{false, true}, []bool{j.Calls[0].Sent, j.Calls[1].Delivered})
	require.Equal(t, "E13", j.Calls[0].Fault)
}

// A server that exits ends the proxy, with its status.
func TestServerEnds(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "sh", "-c", "exit 9")
	cmd.Env = append(os.Environ(), roleVar+"="+roleProxy)
	in, err := cmd.StdinPipe() // which stays open
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_ = cmd.Wait()
	require.Equal(t, 9, cmd.ProcessState.ExitCode())
	_ = in.Close() // Wait may have
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"-no-such-flag"}, {"-plan", `{"rules":[{"fault":"Z1"}]}`, "cat"}, {"-plan-file", "not/there", "cat"}, {"-journal", "not/there/at/all", "cat"}} {
		require.Equal(t, exitUsage, Main(t.Context(), args), args)
	}
	require.Equal(t, exitNoStart, Main(t.Context(), []string{"./no-such-server"}))
}
