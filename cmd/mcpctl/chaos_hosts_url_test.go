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

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
)

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
