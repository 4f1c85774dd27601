package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// program is the program in a process of its own.
type program struct {
	*exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	log *bufio.Reader
}

func start(t *testing.T, args ...string) *program {
	t.Helper()
	p := prepare(t, args...)
	p.pipes(t)
	require.NoError(t, p.Start())
	return p
}

func prepare(t *testing.T, args ...string) *program {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("signals are sent")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	p := &program{Cmd: exec.CommandContext(t.Context(), self, args...)}
	p.Env = append(os.Environ(), asProgram+"=1")
	return p
}

// pipes connects what is not connected yet.
func (p *program) pipes(t *testing.T) {
	t.Helper()
	var err error
	p.in, err = p.StdinPipe()
	require.NoError(t, err)
	if p.Stdout == nil {
		out, err := p.StdoutPipe()
		require.NoError(t, err)
		p.out = bufio.NewReader(out)
	}
	if p.Stderr == nil {
		log, err := p.StderrPipe()
		require.NoError(t, err)
		p.log = bufio.NewReader(log)
	}
}

// logged reads the log up to the first match.
func (p *program) logged(t *testing.T, pattern string) string {
	t.Helper()
	for {
		l, err := p.log.ReadString('\n')
		require.NoError(t, err)
		if found := regexp.MustCompile(pattern).FindString(l); found != "" {
			return found
		}
	}
}

// SIGINT and SIGTERM finish the running requests and exit 0.
func TestX_SHUT_01_Signals_S1_TRANS_05(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "--families", "coe", "--allow-fault-injection", "--fault", "tool=getNextTask,kind=delay,delay=300ms")
			p.logged(t, "standalone mode")
			_, err := io.WriteString(p.in, `{"jsonrpc":"2.0","id":1,"method":"getNextTask"}`+"\n")
			require.NoError(t, err)
			p.logged(t, "getNextTask_invocation_started")
			require.NoError(t, p.Process.Signal(sig))
			rest, err := io.ReadAll(p.log)
			require.NoError(t, err)
			require.Contains(t, string(rest), "server_stopped")
			answer, err := p.out.ReadString('\n')
			require.NoError(t, err)
			require.Contains(t, answer, `"id":1,"result"`)
			require.NoError(t, p.Wait(), "exit 0")
		})
	}
}

// Nobody has to read the log: the program serves on when its reader has gone,
// and its end is clean.
func TestLogReaderGoesAway(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	p := prepare(t, "--families", "coe")
	p.Stderr = w
	p.pipes(t)
	require.NoError(t, p.Start())
	require.NoError(t, w.Close())
	require.NoError(t, r.Close())
	for range 3 {
		_, err := io.WriteString(p.in, `{"jsonrpc":"2.0","id":1,"method":"getNextTask"}`+"\n")
		require.NoError(t, err)
		answer, err := p.out.ReadString('\n')
		require.NoError(t, err)
		require.Contains(t, answer, `"id":1,"result"`)
	}
	require.NoError(t, p.in.Close())
	require.NoError(t, p.Wait(), "exit 0")
}

// When nobody reads the answers any more the program ends, and says why.
func TestAnswerReaderGoesAway(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	p := prepare(t, "--families", "coe")
	p.Stdout = w
	p.pipes(t)
	require.NoError(t, p.Start())
	require.NoError(t, w.Close())
	require.NoError(t, r.Close())
	p.logged(t, "standalone mode")
	_, err = io.WriteString(p.in, handshake)
	require.NoError(t, err)
	rest, err := io.ReadAll(p.log)
	require.NoError(t, err)
	require.Contains(t, string(rest), "broken pipe")
	require.Error(t, p.Wait())
	require.Equal(t, exitFailed, p.ProcessState.ExitCode(), "no signal has ended it")
}

// The program is its own converter process.
func TestConvertsInAProcessOfItsOwn(t *testing.T) {
	t.Parallel()
	p := start(t, "--families", "docling", "--debug")
	html := base64.StdEncoding.EncodeToString([]byte("%PDF-1.4\nno document"))
	_, err := io.WriteString(p.in, handshake+`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"convert_pdf","arguments":{"content_base64":"`+html+`","filename":"x.pdf"}}}`+"\n")
	require.NoError(t, err)
	_, err = p.out.ReadString('\n')
	require.NoError(t, err)
	got, err := p.out.ReadString('\n')
	require.NoError(t, err)
	var a struct{ Error struct{ Code int64 } }
	require.NoError(t, json.Unmarshal([]byte(got), &a))
	require.Equal(t, int64(-32002), a.Error.Code, "the converter has looked at it: %s", got)
	require.NoError(t, p.in.Close())
	_, err = io.ReadAll(p.log)
	require.NoError(t, err)
	require.NoError(t, p.Wait())
}

// With HTTP the token guards everything, and the chat's agent still reaches the
// server it runs in.
func TestHTTP_TokenAndChat(t *testing.T) {
	t.Parallel()
	p := start(t, "--http", "127.0.0.1:0", "--families", "assistant", "--token", "s3cret-token")
	base := strings.TrimSuffix(p.logged(t, `http://127\.0\.0\.1:\d+/mcp`), "/mcp")
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	chat := func(token string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/api/threads/t-1/chat",
			strings.NewReader(`{"content":"Write a plan","artifact_generation":true,"thread_type":"assistant"}`))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := client.Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return res.StatusCode, string(body)
	}
	status, _ := chat("")
	require.Equal(t, http.StatusUnauthorized, status)
	status, body := chat("s3cret-token")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "event: artifact_created")
	require.Contains(t, body, "event: message_complete")
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	rest, err := io.ReadAll(p.log)
	require.NoError(t, err)
	require.NotContains(t, string(rest), "s3cret")
	require.NoError(t, p.Wait())
}

// A server that is killed leaves its temporary folder to the next one, which
// removes it, and not those of servers that live.
func TestTemporaryFolder_KilledServer(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	run := func() (*program, string) {
		p := prepare(t, "--families", "coe")
		p.Env = append(p.Env, "TMPDIR="+temp)
		p.pipes(t)
		require.NoError(t, p.Start())
		dir := regexp.MustCompile(`"data_dir":"([^"]+)"`).FindStringSubmatch(p.logged(t, `"data_dir":"[^"]+"`))[1]
		require.DirExists(t, dir)
		return p, dir
	}
	end := func(p *program) {
		require.NoError(t, p.in.Close())
		_, _ = io.Copy(io.Discard, p.log)
		require.NoError(t, p.Wait())
	}
	killed, left := run()
	living, kept := run()
	require.DirExists(t, left)
	require.NoError(t, killed.Process.Kill())
	_ = killed.Wait()
	require.DirExists(t, left)
	next, own := run()
	require.NoDirExists(t, left)
	require.DirExists(t, kept)
	end(living)
	end(next)
	require.NoDirExists(t, kept)
	require.NoDirExists(t, own)
}
