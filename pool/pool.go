// Package pool connects to several MCP servers at once and offers their tools behind
// one handle.
//
// [Open] takes servers that the application lists, [Load] a file of servers as MCP
// hosts write it. Each server has a [client.Client] of its own, with its own options,
// circuit breaker and cache. A server that is down, hangs or crashes neither delays
// the others nor fails the pool, which connects to it again in the background.
//
//	p, err := pool.Load(ctx, "mcp.json")
//	if err != nil {
//		return err
//	}
//	defer p.Close()
//	list, err := p.Tools(ctx) // give the names to a model
//	result, err := p.CallTool(ctx, list.Tools[0].Name, arguments)
package pool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/callback"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Pool holds connections to several servers. It is a [client.Caller]:
// [Pool.CallTool] takes the names that [Pool.Tools] returns. Its methods may be
// called from many goroutines at once. Close it when done.
//
// If a program exits, its client restarts it first ([client.Restart]). If the client
// gives up, the pool connects again.
type Pool struct {
	cfg     *config
	members []*member // in the order given
	byName  map[string]*member
	tools   *tools
	events  events
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

var _ client.Caller = (*Pool)(nil)

// Load opens a pool of the servers in a file; see [ReadServers] and [Open]. It logs
// the notes of the file with [WithLogger].
func Load(ctx context.Context, path string, opts ...Option) (*Pool, error) {
	cfg, err := newConfig(opts)
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
	return open(ctx, cfg, servers)
}

// Open connects to all servers at the same time. It returns when every server is
// connected or has failed, or after [WithStartupWait] with those that are connected
// by then. The others join later, which [OnEvent] reports. [Pool.Failures] and
// [Pool.Health] report the result for each server.
//
// Open returns an error when an option is wrong, when a server of
// [WithRequiredServers] fails, when all servers fail, and when ctx ends before one
// is connected; it releases everything then. ctx bounds opening only. A pool without
// servers has no tools.
func Open(ctx context.Context, servers []Server, opts ...Option) (*Pool, error) {
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, badOption(err)
	}
	return open(ctx, cfg, servers)
}

func open(ctx context.Context, cfg *config, servers []Server) (*Pool, error) {
	p := &Pool{
		cfg: cfg, byName: map[string]*member{}, slots: make(chan struct{}, cfg.limit),
		changed: make(chan struct{}), tools: newTools(cfg.naming),
	}
	for _, server := range servers {
		if err := p.add(server); err != nil {
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
	p.events.begin(p)
	// A pool outlives the context that opened it.
	p.life, p.end = context.WithCancel(context.WithoutCancel(ctx))
	for _, m := range p.members {
		p.begin(m.run)
	}
	if err := p.await(ctx); err != nil {
		_ = p.Close() // err is more important
		return nil, err
	}
	return p, nil
}

// begin runs f on a goroutine that Close waits for, unless the pool is closed.
func (p *Pool) begin(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() == nil {
		p.work.Go(f)
	}
}

// add checks a server and its options, before anything is started.
func (p *Pool) add(server Server) error {
	switch {
	case server.Name == "":
		return errors.New("a server of the pool has no name")
	case p.byName[server.Name] != nil:
		return fmt.Errorf("two servers of the pool are called %q", server.Name)
	case server.Transport == nil && server.Err == nil:
		return fmt.Errorf("server %q has no transport", server.Name)
	}
	m := &member{p: p, server: server, secrets: secretsOf(&server), wake: make(chan struct{}, 1), since: time.Now()}
	m.opts = []client.Option{client.WithName(server.Name), client.WithRequiredCapabilities()}
	if p.cfg.onEvent != nil {
		m.opts = append(m.opts, client.OnEvent(m.forward))
	}
	m.opts = append(m.opts, p.cfg.clientOptions...)
	if p.cfg.serverOptions != nil {
		var failure error
		callback.Run("WithServerOptions", func(e *callback.Error) { failure = e }, func() {
			m.opts = append(m.opts, p.cfg.serverOptions(server.Name)...)
		})
		if failure != nil {
			return failure
		}
	}
	m.opts = append(m.opts, server.Options...)
	if err := client.CheckOptions(m.opts...); err != nil {
		return fmt.Errorf("server %q: %s", server.Name, errormap.From(err, mcperrors.NotSent).Message)
	}
	p.members = append(p.members, m)
	p.byName[server.Name] = m
	return nil
}

// await waits until Open may return.
func (p *Pool) await(ctx context.Context) error {
	timer := time.NewTimer(p.cfg.startup)
	defer timer.Stop()
	for patient := true; ; {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		s := p.progress()
		switch {
		case s.lost != nil:
			return unusable(fmt.Sprintf("the required server %q cannot be used", s.lost.server.Name), []*member{s.lost})
		case s.tried == len(p.members) && s.up == 0 && s.tried > 0:
			return unusable(fmt.Sprintf("none of the %d servers can be used", s.tried), p.members)
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
			e := errormap.From(context.Cause(ctx), mcperrors.NotSent)
			return unusableFor(e.Kind, "opening the pool was given up", p.members, e)
		}
	}
}

// progress counts the members that were tried and those that are connected. lost is a
// required one that failed. waiting is set while a required one was not tried yet.
type progress struct {
	tried, up int
	lost      *member
	waiting   bool
}

func (p *Pool) progress() (s progress) {
	for _, m := range p.members {
		switch h := m.health(); {
		case h.State == Connected:
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

// unusable is the error of Open about members that it needs.
func unusable(text string, members []*member) error {
	return unusableFor(mcperrors.KindTransport, text, members, nil)
}

func unusableFor(kind mcperrors.Kind, text string, members []*member, cause error) error {
	reasons := []error{cause}
	again := cause != nil
	for _, m := range members {
		if err := m.health().LastError; err != nil {
			reasons = append(reasons, fmt.Errorf("server %q: %w", m.server.Name, err))
			again = again || mcperrors.Retryable(err)
		}
	}
	e := mcperrors.New(mcperrors.CodeUnavailable, kind, mcperrors.NotSent, text, errors.Join(reasons...))
	e.Retryable = again
	return e
}

// Client returns the client of a server. It is valid until the pool is closed or
// connects to the server again: ask for it each time. The error says why the server
// is not connected; for a name that the pool does not have it is E203. The pool
// closes the client.
func (p *Pool) Client(name string) (*client.Client, error) {
	m, err := p.member(name)
	if err != nil {
		return nil, err
	}
	return m.ready()
}

// Clients returns the clients of the servers that are connected at this moment, in
// the order given. The pool closes them.
func (p *Pool) Clients() []*client.Client {
	var all []*client.Client
	for _, m := range p.members {
		if c := m.client.Load(); c != nil {
			all = append(all, c)
		}
	}
	return all
}

func (p *Pool) member(name string) (*member, error) {
	if p.life.Err() != nil {
		return nil, closed()
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
		names[i] = m.server.Name
	}
	return names
}

// Reconnect connects to a server now, without waiting for the next scheduled
// attempt. It returns the outcome, nil for a server that is connected already. It
// returns early when ctx ends; the attempt goes on.
func (p *Pool) Reconnect(ctx context.Context, name string) error {
	m, err := p.member(name)
	if err != nil {
		return err
	}
	return m.reconnect(ctx)
}

// closeTimeout is how long Close waits for a handler of the application.
const closeTimeout = time.Second

// Close closes all servers at the same time. It waits until connections, child
// processes and goroutines are gone, each within the bounds of
// [client.Client.Close], and one second for a handler of [OnEvent] that does not
// return. It may be called more than once.
func (p *Pool) Close() error {
	p.close.Do(func() {
		p.events.stop()
		p.mu.Lock()
		p.end()
		p.mu.Unlock()
		for _, m := range p.members {
			p.work.Go(m.close)
		}
		p.work.Wait()
		if !p.events.wait(closeTimeout) {
			p.cfg.logger.Warn("[MCP] a handler did not return within a second of the pool's Close")
		}
		callback.Flush(p.cfg.logger, closeTimeout)
		p.mu.Lock()
		defer p.mu.Unlock()
		var errs []error
		for _, m := range p.members {
			if m.closeErr != nil {
				errs = append(errs, fmt.Errorf("server %q: %w", m.server.Name, m.closeErr))
			}
		}
		p.err = errors.Join(errs...)
	})
	return p.err
}

// String returns the names of the servers.
func (p *Pool) String() string {
	names := p.Servers()
	return fmt.Sprintf("pool of %d servers: %s", len(names), strings.Join(names, ", "))
}

// badOption returns the error for a wrong option or argument.
func badOption(err error) error {
	return mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent, err.Error(), err)
}

// closed returns the error of all calls on a closed pool.
func closed() error {
	e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindClosed, mcperrors.NotSent, "the pool is closed", jsonrpc.ErrClosed)
	e.Retryable = false // it stays closed
	return e
}
