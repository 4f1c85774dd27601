//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// payReply is a response, as far as a host needs it.
type payReply struct {
	ID     string
	Result *struct {
		Content []struct{ Text string }
		IsError bool
		Meta    struct {
			Failure struct{ Delivery string } `json:"io.github.mainstay-mcp/failure"`
		} `json:"_meta"`
	}
	Error *struct {
		Code    int
		Message string
		Data    struct{ Delivery string }
	}
}

// end returns what the call came to.
func (r *payReply) end() string {
	switch {
	case r.Error != nil && r.Error.Data.Delivery != "":
		return r.Error.Data.Delivery
	case r.Error != nil:
		return r.Error.Message
	case r.Result == nil:
		return "no result"
	case r.Result.IsError:
		return r.Result.Meta.Failure.Delivery
	case len(r.Result.Content) != 1 || r.Result.Content[0].Text != r.ID:
		return fmt.Sprintf("the result of another call: %v", r.Result.Content)
	}
	return paid
}

// payMessage returns a request, or a notification without an id.
func payMessage(id, method, params string) []byte {
	if id != "" {
		id = fmt.Sprintf(`"id":%q,`, id)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0",%s"method":%q,"params":%s}`+"\n", id, method, params)
}

func payCall(id string) []byte {
	return payMessage(id, "tools/call", fmt.Sprintf(`{"name":"pay","arguments":{"id":%q}}`, id))
}

const (
	payOpening = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"chaos","version":"1"}}`
	payOpened  = "notifications/initialized"

	payStateless = `{"name":"pay","arguments":{"id":%q},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"chaos","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}`
)

// pipeFront is a host that starts a proxy and talks to it over its stdin and stdout.
type pipeFront struct {
	c       *chaos
	args    []string
	ended   sync.WaitGroup // the proxies
	mu      sync.Mutex
	current *pipeProxy
}

// pipeProxy is one of its proxies.
type pipeProxy struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	said   bytes.Buffer  // on stderr
	done   chan struct{} // closed when it has ended

	mu      sync.Mutex
	gone    bool
	waiting map[string]chan *payReply
}

func newPipeFront(c *chaos, args []string) *pipeFront { return &pipeFront{c: c, args: args} }

// proxy returns the running proxy, or starts one.
func (f *pipeFront) proxy(ctx context.Context) (*pipeProxy, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current != nil && !f.current.isGone() {
		return f.current, nil
	}
	p := &pipeProxy{waiting: map[string]chan *payReply{}, done: make(chan struct{})}
	p.cmd = exec.Command("mcpctl", append([]string{"proxy"}, f.args...)...)
	p.cmd.Stderr = &p.said
	var err, err2 error
	p.stdin, err = p.cmd.StdinPipe()
	p.stdout, err2 = p.cmd.StdoutPipe()
	if err := errors.Join(err, err2, p.cmd.Start()); err != nil {
		return nil, err
	}
	f.current = p
	f.ended.Go(p.read)
	reply, err := p.ask(ctx, "open", payMessage("open", "initialize", payOpening))
	if err != nil {
		return nil, err
	}
	if reply.Error != nil { // its program was killed before it answered
		p.cut()
		return nil, errLost
	}
	return p, p.write(payMessage("", payOpened, `{}`))
}

func (p *pipeProxy) isGone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone
}

// read hands out the responses until the proxy ends.
func (p *pipeProxy) read() {
	lines := bufio.NewReader(p.stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var reply payReply
		if json.Unmarshal(line, &reply) != nil {
			continue // not for a call: the judge misses its response
		}
		p.mu.Lock()
		if answer := p.waiting[reply.ID]; answer != nil {
			delete(p.waiting, reply.ID)
			answer <- &reply
		}
		p.mu.Unlock()
	}
	p.mu.Lock()
	p.gone = true
	for _, answer := range p.waiting {
		close(answer)
	}
	p.mu.Unlock()
	_ = p.cmd.Wait() // it was killed, or not
	close(p.done)
}

func (p *pipeProxy) write(message []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.stdin.Write(message)
	return err
}

// ask sends a request and waits for its response.
func (p *pipeProxy) ask(ctx context.Context, id string, message []byte) (*payReply, error) {
	answer := make(chan *payReply, 1)
	p.mu.Lock()
	if p.gone {
		p.mu.Unlock()
		return nil, errLost
	}
	p.waiting[id] = answer
	p.mu.Unlock()
	if p.write(message) != nil {
		return nil, errLost
	}
	select {
	case reply, ok := <-answer:
		if !ok {
			return nil, errLost
		}
		return reply, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipeProxy) cut() {
	_ = p.stdin.Close()
	_ = p.stdout.Close()
}

// pay implements [front].
func (f *pipeFront) pay(ctx context.Context, _ int, id string) string {
	p, err := f.proxy(ctx)
	if err != nil {
		return lost
	}
	reply, err := p.ask(ctx, id, payCall(id))
	if err != nil {
		return lost
	}
	return reply.end()
}

func (f *pipeFront) running() *pipeProxy {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current
}

// cut closes the pipes of the proxy.
func (f *pipeFront) cut() { f.running().cut() }

// process implements [front].
func (f *pipeFront) process() *os.Process { return f.running().cmd.Process }

// dump implements [front].
func (f *pipeFront) dump() string {
	p := f.running()
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	within(f.c, p.done)
	return p.said.String()
}

// settle implements [front].
func (f *pipeFront) settle() int { return 0 }

// end implements [front].
func (f *pipeFront) end() {
	require.NoError(f.c.t, f.running().stdin.Close())
	within(f.c, all(&f.ended))
}

// all returns a channel that is closed when a group is done.
func all(g *sync.WaitGroup) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		g.Wait()
		close(done)
	}()
	return done
}

// within waits until something has ended.
func within(c *chaos, ended <-chan struct{}) {
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		require.Fail(c.t, "a proxy does not end")
	}
}

// urlFront is a host that reaches a proxy by its URL, in several sessions.
type urlFront struct {
	c        *chaos
	args     []string
	client   *http.Client
	ended    sync.WaitGroup
	sessions [4]urlSession

	stateless bool // calls have the revision 2026-07-28, and no session

	mu      sync.Mutex
	current *urlProxy

	connecting sync.Mutex
	conns      map[net.Conn]bool
}

type urlProxy struct {
	cmd  *exec.Cmd
	url  string
	said []byte        // on stderr since it listens, once it has ended
	gone chan struct{} // closed when it has ended
	lost atomic.Int64  // sessions whose ids did not arrive
}

type urlSession struct {
	mu    sync.Mutex
	proxy *urlProxy
	id    string
}

func newURLFront(c *chaos, args []string) *urlFront {
	f := &urlFront{c: c, args: args, conns: map[net.Conn]bool{}}
	f.client = &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: c.callers,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err == nil {
				f.connecting.Lock()
				defer f.connecting.Unlock()
				f.conns[conn] = true
			}
			return conn, err
		},
	}}
	return f
}

// listening is how a proxy names its URL.
var listeningAt = regexp.MustCompile(`listening at (http://[0-9.:]+/mcp)\n`)

// proxy returns the running proxy, or starts one.
func (f *urlFront) proxy() (*urlProxy, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current != nil {
		select {
		case <-f.current.gone:
		default:
			return f.current, nil
		}
	}
	p := &urlProxy{gone: make(chan struct{})}
	p.cmd = exec.Command("mcpctl", append([]string{"proxy", "--listen", "127.0.0.1:0", "--no-auth"}, f.args...)...)
	stderr, err := p.cmd.StderrPipe()
	if err := errors.Join(err, p.cmd.Start()); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(stderr)
	found := make(chan []string, 1)
	f.ended.Go(func() {
		defer close(p.gone)
		for {
			line, err := lines.ReadString('\n')
			if at := listeningAt.FindStringSubmatch(line); at != nil {
				found <- at
				break
			}
			if err != nil {
				found <- nil
				break
			}
		}
		p.said, _ = io.ReadAll(lines)
		_ = p.cmd.Wait() // it was killed, or not
	})
	at := <-found
	if at == nil {
		return nil, errLost
	}
	p.url = at[1]
	f.current = p
	return p, nil
}

// post sends a message, and returns the response to the request id.
func (f *urlFront) post(ctx context.Context, p *urlProxy, session, id string, message []byte) (*payReply, int, string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, io.NopCloser(bytes.NewReader(message))) // not sent again by net/http
	if err != nil {
		return nil, 0, "", err
	}
	r.ContentLength = int64(len(message))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	switch {
	case f.stateless:
		r.Header.Set("Mcp-Protocol-Version", string(mcp.Latest))
		r.Header.Set("Mcp-Method", mcp.MethodToolsCall)
		r.Header.Set("Mcp-Name", "pay")
	case session != "":
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	resp, err := f.client.Do(r)
	if err != nil {
		return nil, 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	lines := bufio.NewReader(resp.Body)
	var reply payReply
	for reply.ID != id {
		line, err := lines.ReadString('\n')
		if line == "" && err != nil {
			if resp.StatusCode != http.StatusOK {
				return nil, resp.StatusCode, "", nil
			}
			return nil, 0, "", errLost
		}
		data, isData := strings.CutPrefix(line, "data:")
		if media == "text/event-stream" && !isData {
			continue
		}
		_ = json.Unmarshal([]byte(data), &reply) // else the id is not that
	}
	drain(lines)
	return &reply, resp.StatusCode, resp.Header.Get("Mcp-Session-Id"), nil
}

// open returns a session of the running proxy.
func (f *urlFront) open(ctx context.Context, s *urlSession) (*urlProxy, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := f.proxy()
	if err != nil {
		return nil, "", err
	}
	if s.proxy == p && s.id != "" {
		return p, s.id, nil
	}
	reply, _, id, err := f.post(ctx, p, "", "open", payMessage("open", "initialize", payOpening))
	if err != nil || reply == nil || reply.Error != nil || id == "" {
		p.lost.Add(1)
		return nil, "", errors.Join(errLost, err)
	}
	if _, status, _, err := f.post(ctx, p, id, "none", payMessage("", payOpened, `{}`)); err != nil || status != http.StatusAccepted {
		p.lost.Add(1)
		return nil, "", errors.Join(errLost, err)
	}
	s.proxy, s.id = p, id
	return p, id, nil
}

// pay implements [front].
func (f *urlFront) pay(ctx context.Context, caller int, id string) string {
	s := &f.sessions[caller%len(f.sessions)]
	var p *urlProxy
	var session string
	var err error
	message := payCall(id)
	if f.stateless {
		p, err = f.proxy()
		message = payMessage(id, "tools/call", fmt.Sprintf(payStateless, id))
	} else {
		p, session, err = f.open(ctx, s)
	}
	if err != nil {
		return lost
	}
	reply, status, _, err := f.post(ctx, p, session, id, message)
	switch {
	case err != nil:
		return lost
	case reply != nil:
		return reply.end()
	case status == http.StatusNotFound:
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.id == session {
			s.id = ""
		}
		return "rejected"
	}
	return http.StatusText(status)
}

// cut breaks the connections to the proxy.
func (f *urlFront) cut() {
	f.connecting.Lock()
	defer f.connecting.Unlock()
	for conn := range f.conns {
		_ = conn.Close()
	}
	clear(f.conns)
}

// cuts is [urlFront.cut] among what is killed.
func (f *urlFront) cuts() kill { return kill{func(*rand.Rand) { f.cut() }, true} }

// dump implements [front].
func (f *urlFront) dump() string {
	f.mu.Lock()
	p := f.current
	f.mu.Unlock()
	_ = p.cmd.Process.Signal(syscall.SIGQUIT)
	within(f.c, p.gone)
	return string(p.said)
}

// process implements [front].
func (f *urlFront) process() *os.Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.current.cmd.Process
}

// settle implements [front].
func (f *urlFront) settle() int {
	f.mu.Lock()
	p := f.current
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.c.t.Context()), callLimit)
	defer cancel()
	for i := range f.sessions {
		s := &f.sessions[i]
		if s.proxy != p || s.id == "" {
			continue
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodDelete, p.url, http.NoBody)
		require.NoError(f.c.t, err)
		r.Header.Set("Mcp-Session-Id", s.id)
		resp, err := f.client.Do(r)
		require.NoError(f.c.t, err)
		require.NoError(f.c.t, resp.Body.Close())
		s.id = ""
	}
	f.client.CloseIdleConnections()
	return int(p.lost.Load())
}

// end implements [front].
func (f *urlFront) end() {
	_ = f.process().Signal(os.Interrupt) // it may have been killed
	within(f.c, all(&f.ended))
}

// payProcess is a server over HTTP, behind a relay at an address that stays.
type payProcess struct {
	c    *chaos
	on   net.Listener
	copy sync.WaitGroup

	mu    sync.Mutex
	cmd   *exec.Cmd
	at    string
	conns map[net.Conn]bool
}

func newPayProcess(c *chaos) *payProcess {
	on, err := new(net.ListenConfig).Listen(c.t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(c.t, err)
	s := &payProcess{c: c, on: on, conns: map[net.Conn]bool{}}
	s.start()
	c.t.Cleanup(func() { _ = s.cmd.Process.Kill() }) // if the test fails: else it has ended
	c.ends, c.settled = append(c.ends, s.end), s.cut
	s.copy.Go(func() {
		for {
			near, err := on.Accept()
			if err != nil {
				return
			}
			s.copy.Go(func() { s.relay(near) })
		}
	})
	return s
}

func (s *payProcess) url() string { return "http://" + s.on.Addr().String() + "/mcp" }

// kills are what can be broken of it.
func (s *payProcess) kills() []kill {
	return []kill{{func(*rand.Rand) { s.kill() }, true}, {func(*rand.Rand) { s.cut() }, true}}
}

// start starts a server. s.mu is held, or nobody else has s.
func (s *payProcess) start() {
	s.cmd = exec.Command("payserver", "http")
	s.cmd.Env = append(os.Environ(), s.c.env()...)
	_, err := s.cmd.StdinPipe() // it ends with this process, however that ends
	require.NoError(s.c.t, err)
	stdout, err := s.cmd.StdoutPipe()
	require.NoError(s.c.t, err)
	require.NoError(s.c.t, s.cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(s.c.t, err)
	s.at = strings.TrimSpace(line)
}

// relay copies both ways until one ends.
func (s *payProcess) relay(near net.Conn) {
	defer func() { _ = near.Close() }()
	s.mu.Lock()
	at := s.at
	s.mu.Unlock()
	far, err := new(net.Dialer).DialContext(s.c.t.Context(), "tcp", at)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.conns[near], s.conns[far] = true, true
	s.mu.Unlock()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(near, far)
		_ = near.Close()
	})
	_, _ = io.Copy(far, near)
	_ = far.Close()
	back.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, near)
	delete(s.conns, far)
}

// cut breaks the connections of the server.
func (s *payProcess) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		_ = conn.Close()
	}
}

// kill kills the server and starts another.
func (s *payProcess) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	s.start()
}

func (s *payProcess) stop() {
	require.NoError(s.c.t, s.cmd.Process.Kill())
	_ = s.cmd.Wait() // it was killed
}

func (s *payProcess) end() {
	require.NoError(s.c.t, s.on.Close())
	s.cut()
	s.stop()
	within(s.c, all(&s.copy))
}
