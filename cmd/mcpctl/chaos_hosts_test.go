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
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
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
