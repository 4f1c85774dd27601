package clientsuite

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"github.com/mainstay-mcp/mainstay/conformance/clientsuite/internal/toyclient"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// memory is a network of pipes, so that a whole run can be in a synctest bubble.
type memory struct {
	mu     sync.Mutex
	count  int
	places map[string]*place
}

type place struct {
	name  string
	conns chan net.Conn
	quit  chan struct{}
	once  sync.Once
}

func newMemory() *memory { return &memory{places: map[string]*place{}} }

func (m *memory) listen() (net.Listener, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count++
	p := &place{name: fmt.Sprintf("m%d.invalid:80", m.count), conns: make(chan net.Conn), quit: make(chan struct{})}
	m.places[p.name] = p
	return p, nil
}

func (m *memory) private() (net.Listener, string) {
	l, _ := m.listen() // never fails
	p := l.(*place)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.places, p.name)
	m.count++
	p.name = fmt.Sprintf("10.0.%d.%d:443", m.count/250, m.count%250)
	m.places[p.name] = p
	return p, p.name
}

func (m *memory) dial(ctx context.Context, _, address string) (net.Conn, error) {
	m.mu.Lock()
	p := m.places[address]
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

func (p *place) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.quit:
		return nil, net.ErrClosed
	}
}

func (p *place) Close() error {
	p.once.Do(func() { close(p.quit) })
	return nil
}

func (p *place) Addr() net.Addr  { return p }
func (p *place) Network() string { return "memory" }
func (p *place) String() string  { return p.name }

// toy is the toy client as a program of this process.
type toy struct {
	defect string
	net    *memory
}

func (p *toy) argv() []string   { return []string{"toy", p.defect} }
func (p *toy) network() network { return p.net }

func (p *toy) start(ctx context.Context, inv invocation) (running, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := &runningToy{over: make(chan struct{}), cancel: cancel}
	task, err := json.Marshal(inv.task)
	if err != nil {
		cancel()
		return nil, err
	}
	go func() {
		defer close(r.over)
		toyclient.Run(ctx, toyclient.Config{
			Task: task, Lines: inv.lines, Dial: p.net.dial, Newest: string(mcp.Latest), Defect: p.defect,
			Start: func(argv []string) (*toyclient.Child, error) { return p.child(ctx, argv) },
		})
	}()
	return r, nil
}

// child is a bridge that is a goroutine. It ends with ctx, as a child in the
// group of a killed program does.
func (p *toy) child(ctx context.Context, argv []string) (*toyclient.Child, error) {
	address, token, _ := strings.Cut(argv[len(argv)-1], "/")
	conn, err := p.net.dial(ctx, "memory", address)
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
		bridge(conn, token, inR, outW, errW, signals)
		_, _, _ = inR.Close(), outW.Close(), errW.Close()
	}()
	return &toyclient.Child{Stdin: inW, Stdout: outR, Stderr: errR, Done: done, Signal: func(name string) {
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

func (r *runningToy) done() <-chan struct{} { return r.over }
func (r *runningToy) kill()                 { r.cancel() }
func (r *runningToy) ended() string         { return "" }
func (r *runningToy) stderr() string        { return "" }
