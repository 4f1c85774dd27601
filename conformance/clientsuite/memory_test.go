package clientsuite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance/internal/client/peer"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// memory is a network of pipes, so that a whole run can be in a synctest bubble.
type memory struct {
	mu        sync.Mutex
	count     int
	listeners map[string]*listener
}

type listener struct {
	name  string
	conns chan net.Conn
	quit  chan struct{}
	once  sync.Once
}

func newMemory() *memory { return &memory{listeners: map[string]*listener{}} }

func (m *memory) Listen() (net.Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count++
	p := &listener{name: fmt.Sprintf("m%d.invalid:80", m.count), conns: make(chan net.Conn), quit: make(chan struct{})}
	m.listeners[p.name] = p
	return p, nil
}

func (m *memory) Private() (net.Listener, string) {
	l, _ := m.Listen() // never fails
	p := l.(*listener)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.listeners, p.name)
	m.count++
	p.name = fmt.Sprintf("10.0.%d.%d:443", m.count/250, m.count%250)
	m.listeners[p.name] = p
	return p, p.name
}

func (m *memory) Dial(ctx context.Context, _, address string) (net.Conn, error) {
	m.mu.Lock()
	p := m.listeners[address]
	m.mu.Unlock()
	if p == nil {
		return nil, fmt.Errorf("nothing is at %s", address)
	}
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.quit:
	case <-ctx.Done():
	}
	return nil, net.ErrClosed
}

func (p *listener) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.quit:
		return nil, net.ErrClosed
	}
}

func (p *listener) Close() error {
	p.once.Do(func() { close(p.quit) })
	return nil
}

func (p *listener) Addr() net.Addr  { return p }
func (p *listener) Network() string { return "memory" }
func (p *listener) String() string  { return p.name }

// toy is the toy client as a program of this process.
type toy struct {
	defect string
	net    *memory
}

func (p *toy) Argv() []string        { return []string{"toy", p.defect} }
func (p *toy) Network() peer.Network { return p.net }

func (p *toy) Start(ctx context.Context, task trial.Task, out io.Writer) (trial.Running, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &runningToy{over: make(chan struct{}), cancel: cancel}
	text, err := json.Marshal(task)
	if err != nil {
		cancel()
		return nil, err
	}
	go func() {
		defer close(r.over)
		runToy(ctx, toyConfig{
			Task: text, Lines: out, Dial: p.net.Dial, Newest: string(mcp.Latest), Defect: p.defect,
			Start: func(argv []string) (*toyChild, error) { return p.child(ctx, argv) },
		})
	}()
	return r, nil
}

// child is a bridge that is a goroutine. It ends with ctx, as a child in the
// group of a killed program does.
func (p *toy) child(ctx context.Context, argv []string) (*toyChild, error) {
	address, token, _ := strings.Cut(argv[len(argv)-1], "/")
	conn, err := p.net.Dial(ctx, "memory", address)
	if err != nil {
		return nil, err
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	errR, errW := io.Pipe()
	signals := make(chan string, 1)
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	go func() {
		defer close(done)
		defer stop()
		peer.RunBridge(conn, token, inR, outW, errW, signals)
		_, _, _ = inR.Close(), outW.Close(), errW.Close()
	}()
	return &toyChild{Stdin: inW, Stdout: outR, Stderr: errR, Done: done, Signal: func(name string) {
		if name == "KILL" {
			_ = conn.Close()
			_, _ = outR.Close(), errR.Close()
			return
		}
		signals <- name
	}}, nil
}

type runningToy struct {
	over   chan struct{}
	cancel context.CancelFunc
}

func (r *runningToy) Done() <-chan struct{} { return r.over }
func (r *runningToy) Kill()                 { r.cancel() }
func (r *runningToy) Failure() string       { return "" }
func (r *runningToy) Stderr() string        { return "" }
