package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// browserMain is the program xdg-open: a person who agrees to everything at once.
func browserMain() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) //nolint:forbidigo // the main of a program
	defer cancel()
	if err := open(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func open(ctx context.Context, page string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// output is what a process writes, which may be read meanwhile.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// proxied is a proxy in a process of its own, and its host.
type proxied struct {
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
	log *output
}

func startProxy(t *testing.T, w *authtest.World, folder string, flags ...string) *proxied {
	t.Helper()
	p := &proxied{t: t, log: &output{}}
	p.cmd = exec.Command("mcpctl", append(append([]string{"proxy"}, flags...), w.MCP.URL+"/mcp")...)
	p.cmd.Env = append(os.Environ(), "MCPCTL_AUTH_DIR="+folder)
	p.cmd.Stderr = p.log
	var err error
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	p.out = bufio.NewReader(out)
	t.Cleanup(func() {
		_ = p.in.Close()
		_, _ = io.Copy(io.Discard, p.out)
		require.NoError(t, p.cmd.Wait())
		require.NotContains(t, p.log.String(), "planted-secret")
	})
	return p
}

func (p *proxied) send(format string, args ...any) {
	p.t.Helper()
	_, err := fmt.Fprintf(p.in, format+"\n", args...)
	require.NoError(p.t, err)
}

// message is the next message to the host.
func (p *proxied) message() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	require.NoError(p.t, err, p.log.String())
	require.NotContains(p.t, line, "planted-secret")
	return line
}

// initialize opens the session of a host with some capabilities.
func (p *proxied) initialize(capabilities string) string {
	p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":%s,"clientInfo":{"name":"host","version":"1"}}}`, capabilities)
	answer := p.message()
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return answer
}

const sessionCall = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{}}}`

// statelessCall is a call of a stateless host; more are members of params.
func statelessCall(id int, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{}%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"h","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}}}}}}`, id, more)
}

// Three proxies of one server open one page in the browser.
func TestProxyLoginInBrowser(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the browser is a program named xdg-open")
	}
	w := authtest.New(t)
	w.Public = true
	folder := filepath.Join(t.TempDir(), "tokens")
	var work sync.WaitGroup
	answers := make([]string, 3)
	for i := range answers {
		p := startProxy(t, w, folder)
		require.Contains(t, p.initialize(`{}`), `"result"`, "the server gives that without a login")
		work.Go(func() {
			if _, err := io.WriteString(p.in, sessionCall+"\n"); err == nil {
				answers[i], _ = p.out.ReadString('\n')
			}
		})
	}
	work.Wait()
	for _, answer := range answers {
		require.Contains(t, answer, `"done"`)
	}
	require.Equal(t, 1, w.Asked("authorize"))
}

// With --login start the page opens for a handshake that needs a login, by the flags of the login.
func TestProxyLoginAtStart(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("the browser is a program named xdg-open")
	}
	w := authtest.New(t)
	p := startProxy(t, w, filepath.Join(t.TempDir(), "tokens"), "--login", "start", "--client-id", "known", "--issuer", w.AS.URL)
	require.Contains(t, p.initialize(`{}`), `"result"`)
	p.send(sessionCall)
	require.Contains(t, p.message(), `"done"`)
	require.Equal(t, 1, w.Asked("authorize"))
	require.Empty(t, w.Registered())

	code, _, stderr := script(t, t.TempDir(), "", "proxy", "--config", "mcp.json", "--client-id", "known")
	require.Equal(t, failure.KindUsage.ExitCode(), code)
	require.Contains(t, stderr, "--client-id is for one server")
	p = startProxy(t, w, filepath.Join(t.TempDir(), "tokens"), "--client-id", "known")
	require.Contains(t, p.initialize(`{}`), "log in with: mcpctl auth login --client-id known "+w.MCP.URL)
}

// A program logs in with what its file says.
func TestProgramLogin(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	folder := t.TempDir()
	jwt := filepath.Join(folder, "jwt")
	require.NoError(t, os.WriteFile(jwt, []byte("planted-secret-jwt\n"), 0o600))
	for _, tt := range []struct{ name, file, says string }{
		{"secret", `{"client_id":"robot","client_secret":"robot-planted-secret","issuer":` + strconv.Quote(w.AS.URL) + `,"scopes":["mcp"]}`, "done"},
		{"platform", `{"client_id":"robot","assertion_file":` + strconv.Quote(jwt) + `}`, "done"},
		{"no token of the platform", `{"client_id":"robot","assertion_file":` + strconv.Quote(jwt+"2") + `}`, "no such file"},
		{"key", `{"client_id":"robot","private_key":"planted-secret","algorithm":"ES256"}`, "PEM"},
		{"provider", `{"client_id":"robot","client_secret":"planted-secret","idp":{}}`, "TokenURL"},
		{"unknown member", `{"clientId":"robot"}`, `unknown field "clientId"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "program.json")
			require.NoError(t, os.WriteFile(file, []byte(tt.file), 0o600))
			_, stdout, stderr := script(t, t.TempDir(), "", "call", w.MCP.URL+"/mcp", "echo", "--auth", "program:@"+file)
			require.Contains(t, stdout+stderr, tt.says)
			require.NotContains(t, stdout+stderr, "planted-secret")
		})
	}
}

// Without a page to open, the host gets the command.
func TestProxyLoginNever(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	command := "log in with: mcpctl auth login " + w.MCP.URL + "/mcp"
	p := startProxy(t, w, filepath.Join(t.TempDir(), "tokens"))
	answer := p.initialize(`{"elicitation":{"url":{}}}`)
	require.Contains(t, answer, `"error"`)
	require.Contains(t, answer, command)
	p.send(statelessCall(2, ""))
	require.Contains(t, p.message(), `"input_required"`, "the call leads to a login, even if the handshake needs it")

	w.Public = true
	p = startProxy(t, w, filepath.Join(t.TempDir(), "tokens"), "--login", "never")
	p.initialize(`{"elicitation":{"url":{}}}`)
	p.send(sessionCall)
	answer = p.message()
	require.Contains(t, answer, `"isError":true`)
	require.Contains(t, answer, command)
	require.Zero(t, w.Asked("authorize"))
}

// A session host opens the page.
func TestProxyLoginInSessionHost(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"accept", "decline"} {
		t.Run(action, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			w.Public = true
			p := startProxy(t, w, filepath.Join(t.TempDir(), "tokens"))
			p.initialize(`{"elicitation":{"url":{}}}`)
			p.send(sessionCall)
			var asked struct {
				ID     string
				Method string
				Params struct{ Mode, URL, ElicitationID, Message string }
			}
			require.NoError(t, json.Unmarshal([]byte(p.message()), &asked))
			require.Equal(t, "elicitation/create", asked.Method)
			require.Equal(t, "url", asked.Params.Mode)
			require.Contains(t, asked.Params.Message, w.AS.URL)
			p.send(`{"jsonrpc":"2.0","id":%q,"result":{"action":%q}}`, asked.ID, action)
			if action == "decline" {
				refused := p.message()
				require.Contains(t, refused, "log in with: mcpctl auth login")
				p.send(strings.Replace(sessionCall, `"id":2`, `"id":3`, 1))
				require.Contains(t, p.message(), `"isError":true`, "nobody is asked again")
				require.Zero(t, w.Asked("authorize"))
				return
			}
			require.NoError(t, open(t.Context(), asked.Params.URL))
			done, answer := p.message(), p.message()
			if strings.Contains(done, `"result"`) { // they are from two goroutines
				done, answer = answer, done
			}
			if !strings.Contains(done, "notifications/cancelled") { // the login was faster than the answer of the host
				require.Contains(t, done, "notifications/elicitation/complete")
				require.Contains(t, done, asked.Params.ElicitationID)
			}
			require.Contains(t, answer, `"done"`)
		})
	}
}

// A stateless host gets the page in the answer, and makes its call again.
func TestProxyLoginInStatelessHost(t *testing.T) {
	t.Parallel()
	for _, public := range []bool{true, false} {
		t.Run(fmt.Sprint("the handshake needs no login: ", public), func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			w.Public = public
			p := startProxy(t, w, filepath.Join(t.TempDir(), "tokens"))
			p.send(statelessCall(1, ""))
			var asked struct {
				Result struct {
					ResultType    string
					RequestState  string
					InputRequests map[string]struct {
						Method string
						Params struct{ Mode, URL string }
					}
				}
			}
			require.NoError(t, json.Unmarshal([]byte(p.message()), &asked))
			require.Equal(t, "input_required", asked.Result.ResultType)
			ask := asked.Result.InputRequests["login"]
			require.Equal(t, "url", ask.Params.Mode)
			page, err := url.Parse(ask.Params.URL)
			require.NoError(t, err)
			require.Equal(t, "/authorize", page.Path)
			state := fmt.Sprintf(`,"requestState":%q`, asked.Result.RequestState)
			p.send(statelessCall(2, state))
			require.Contains(t, p.message(), `"input_required"`, "an answer is missing")
			p.send(statelessCall(3, state+`,"inputResponses":{"login":{"action":"accept"}}`))
			require.NoError(t, open(t.Context(), ask.Params.URL))
			require.Contains(t, p.message(), `"done"`)
			require.Equal(t, 1, w.Asked("authorize"))
			require.Len(t, w.Runs(), 1, "the call ran once")

			p.send(statelessCall(4, state+`,"inputResponses":{"login":{"action":"accept"}}`))
			require.Contains(t, p.message(), `"done"`, "the login has ended")
		})
	}
}
