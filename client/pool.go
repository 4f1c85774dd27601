package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// Pool is several servers behind one handle. Each has a [Client] of its own, with
// its own options, breaker and cache; one that is dead, hangs or crashes neither
// delays nor sinks the others, and is tried again behind the scenes. A program that
// ends is its client's business first ([WithRestart]). The methods of a Pool may be called from many goroutines at once. Close it when done.
//
// A Pool is a [Caller]: [Pool.CallTool] takes the names that [Pool.Tools] gives.
type Pool struct {
	cfg     *poolConfig
	members []*poolMember // in the order given
	byName  map[string]*poolMember
	tools   *poolTools
	events  poolEvents
	slots   chan struct{} // places for connecting

	// life ends with Close; everything of the pool runs under it.
	life context.Context
	end  context.CancelFunc
	work sync.WaitGroup

	mu      sync.Mutex
	changed chan struct{} // closed when a member's state changes, and replaced
	close   sync.Once
	err     error
}

var _ Caller = (*Pool)(nil)

// LoadPool opens a pool of the servers in a file; see [ReadServers] and
// [OpenPool]. The file's notes are logged, with [WithPoolLogger].
func LoadPool(ctx context.Context, path string, opts ...PoolOption) (*Pool, error) {
	cfg, err := newPoolConfig(opts)
	if err != nil {
		return nil, badOption(err)
	}
	servers, notes, err := ReadServers(path, cfg.lookup)
	if err != nil {
		return nil, err
	}
	for _, note := range notes {
		cfg.logger.Info("[MCP] file of servers: "+note, "path", path)
	}
	return openPool(ctx, cfg, servers)
}

// OpenPool connects to all servers at a time and returns once each is there or
// has failed, or after [WithStartupWait] with those that are there; the others join
// late, which [OnPoolEvent] tells. What became of each is in [Pool.Failures] and
// [Pool.Health].
//
// It fails, and leaves nothing behind, when options are wrong, when a server of
// [WithRequiredServers] cannot be had, when there are servers and none can, and
// when ctx ends before one is there. ctx bounds opening only. No servers at all are
// a pool without tools.
func OpenPool(ctx context.Context, servers []ServerSpec, opts ...PoolOption) (*Pool, error) {
	cfg, err := newPoolConfig(opts)
	if err != nil {
		return nil, badOption(err)
	}
	return openPool(ctx, cfg, servers)
}

func openPool(ctx context.Context, cfg *poolConfig, servers []ServerSpec) (*Pool, error) {
	p := &Pool{
		cfg: cfg, byName: map[string]*poolMember{}, slots: make(chan struct{}, cfg.limit),
		changed: make(chan struct{}), tools: newPoolTools(cfg.naming),
	}
	for _, spec := range servers {
		if err := p.add(spec); err != nil {
			return nil, badOption(err)
		}
	}
	for _, name := range cfg.required {
		m := p.byName[name]
		if m == nil {
			return nil, badOption(fmt.Errorf("WithRequiredServers: the pool has no server %q", name))
		}
		m.required = true
	}
	// A pool outlives the context it was opened with.
	p.life, p.end = context.WithCancel(context.WithoutCancel(ctx))
	for _, m := range p.members {
		p.work.Go(m.run)
	}
	if err := p.settle(ctx); err != nil {
		_ = p.Close() // what it says matters less
		return nil, err
	}
	return p, nil
}

// add checks a server and its options, before anything is started.
func (p *Pool) add(spec ServerSpec) error {
	switch {
	case spec.Name == "":
		return errors.New("a server of the pool has no name")
	case p.byName[spec.Name] != nil:
		return fmt.Errorf("two servers of the pool are called %q", spec.Name)
	case spec.Transport == nil && spec.Err == nil:
		return fmt.Errorf("server %q has no transport", spec.Name)
	}
	m := &poolMember{p: p, spec: spec, secrets: secretsOf(&spec), wake: make(chan struct{}, 1), since: time.Now()}
	m.opts = []Option{WithRequiredCapabilities()}
	if p.cfg.serverOptions != nil {
		if err := made("WithServerOptions", func() { m.opts = append(m.opts, p.cfg.serverOptions(spec.Name)...) }); err != nil {
			return err
		}
	}
	m.opts = append(m.opts, spec.Options...)
	if given := dialConfig(m.opts); given.http != nil || given.command != nil {
		return fmt.Errorf("server %q: WithHTTP and WithCommand have no place in a pool; set up the transport itself", spec.Name)
	}
	if _, err := newConfig(m.opts); err != nil {
		return fmt.Errorf("server %q: %w", spec.Name, err)
	}
	if p.cfg.onEvent != nil {
		m.opts = append(m.opts, m.tellEvents())
	}
	p.members = append(p.members, m)
	p.byName[spec.Name] = m
	return nil
}

// settle waits until the pool is worth returning.
func (p *Pool) settle(ctx context.Context) error {
	timer := time.NewTimer(p.cfg.startup)
	defer timer.Stop()
	for patient := true; ; {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		s := p.standing()
		switch {
		case s.lost != nil:
			return poolError(fmt.Sprintf("the required server %q cannot be used", s.lost.spec.Name), []*poolMember{s.lost})
		case s.tried == len(p.members) && s.up == 0 && s.tried > 0:
			return poolError(fmt.Sprintf("none of the %d servers can be used", s.tried), p.members)
		case s.tried == len(p.members), !patient && s.up > 0 && !s.waiting:
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			patient = false
		case <-ctx.Done():
			if s.up > 0 && !s.waiting && errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil
			}
			e := mcperrors.From(context.Cause(ctx), mcperrors.NotSent)
			return poolErrorOf(e.Kind, "opening the pool was given up", p.members, e)
		}
	}
}

// standing is how far the members are: how many were tried, how many are there,
// one that is required and failed, and whether a required one is still waited for.
type standing struct {
	tried, up int
	lost      *poolMember
	waiting   bool
}

func (p *Pool) standing() (s standing) {
	for _, m := range p.members {
		switch h := m.health(); {
		case h.State == ServerConnected:
			s.tried++
			s.up++
		case h.Attempts > 0:
			s.tried++
			if m.required && s.lost == nil {
				s.lost = m
			}
		case m.required:
			s.waiting = true
		}
	}
	return s
}

// poolError says what became of members that are needed.
func poolError(text string, members []*poolMember) error {
	return poolErrorOf(mcperrors.KindTransport, text, members, nil)
}

func poolErrorOf(kind mcperrors.Kind, text string, members []*poolMember, cause error) error {
	reasons := []error{cause}
	again := cause != nil
	for _, m := range members {
		if err := m.health().LastError; err != nil {
			reasons = append(reasons, fmt.Errorf("server %q: %w", m.spec.Name, err))
			again = again || mcperrors.Retryable(err)
		}
	}
	e := mcperrors.New(mcperrors.E201, kind, mcperrors.NotSent, text, errors.Join(reasons...))
	e.Retryable = again
	return e
}

// Client returns a server's client, which is good until the pool is closed or the
// server is lost and connected anew: ask again each time. It fails with the
// reason when the server is not connected, and with E203 for a name the pool does
// not have. The client is the pool's to close.
func (p *Pool) Client(name string) (*Client, error) {
	m, err := p.member(name)
	if err != nil {
		return nil, err
	}
	return m.ready()
}

// Clients returns the clients of the servers that are connected at this moment, in
// the order given. They are the pool's to close.
func (p *Pool) Clients() []*Client {
	var all []*Client
	for _, m := range p.members {
		if c := m.client.Load(); c != nil {
			all = append(all, c)
		}
	}
	return all
}

func (p *Pool) member(name string) (*poolMember, error) {
	if p.life.Err() != nil {
		return nil, poolClosed()
	}
	m := p.byName[name]
	if m == nil {
		return nil, badOption(fmt.Errorf("the pool has no server %q; it has %s", name, strings.Join(p.Servers(), ", ")))
	}
	return m, nil
}

// Servers returns the names of the servers, in the order given.
func (p *Pool) Servers() []string {
	names := make([]string, len(p.members))
	for i, m := range p.members {
		names[i] = m.spec.Name
	}
	return names
}

// Reconnect tries a server that is away now, without waiting for its turn or for
// the end of a hold, and returns what became of it: nil when it is connected, or was. It returns early
// when ctx ends; the try goes on.
func (p *Pool) Reconnect(ctx context.Context, name string) error {
	m, err := p.member(name)
	if err != nil {
		return err
	}
	return m.reconnect(ctx)
}

// Close closes all servers at a time and waits until connections, child processes
// and goroutines are gone, each within the bounds of [Client.Close]. A handler of
// [OnPoolEvent] that does not return is waited for one second. It may be called
// more than once.
func (p *Pool) Close() error {
	p.close.Do(func() {
		p.events.stop()
		p.end()
		p.work.Wait()
		if !waitFor(&p.events.work, closeTimeout) {
			p.cfg.logger.Warn("[MCP] a handler did not return within a second of the pool's Close")
		}
		callback.Flush(p.cfg.logger, closeTimeout)
		p.mu.Lock()
		defer p.mu.Unlock()
		var errs []error
		for _, m := range p.members {
			if m.closeErr != nil {
				errs = append(errs, fmt.Errorf("server %q: %w", m.spec.Name, m.closeErr))
			}
		}
		p.err = errors.Join(errs...)
	})
	return p.err
}

func poolClosed() error {
	e := errClosed()
	e.Message = "the pool is closed"
	return e
}

// String names the servers.
func (p *Pool) String() string {
	names := slices.Clone(p.Servers())
	return fmt.Sprintf("pool of %d servers: %s", len(names), strings.Join(names, ", "))
}
