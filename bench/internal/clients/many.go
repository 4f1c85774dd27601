package clients

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/pool"
)

// Many is a connection to several servers.
type Many interface {
	// Call calls a tool of one of them, as [Client] does.
	Call(ctx context.Context, server int, tool string, args any) (int, error)
	Close() error
}

// DialMany connects the named client to all servers and lists their tools.
// Mainstay has a pool for that and keeps the lists; the others are connected one by
// one, as many at a time as the pool does, over one round tripper.
func DialMany(ctx context.Context, name string, servers []Options) (Many, error) {
	if name == Mainstay {
		return openPool(ctx, servers)
	}
	shared := NewPool()
	all := make(each, len(servers))
	failures := make([]error, len(servers))
	places := make(chan struct{}, pool.DefaultConnectLimit)
	var work sync.WaitGroup
	for i, o := range servers {
		o.Shared = shared
		places <- struct{}{}
		work.Go(func() {
			defer func() { <-places }()
			all[i], failures[i] = ready(ctx, name, o)
		})
	}
	work.Wait()
	if err := errors.Join(failures...); err != nil {
		return nil, errors.Join(err, all.Close())
	}
	return all, nil
}

// ready connects a client and lists its tools.
func ready(ctx context.Context, name string, o Options) (Client, error) {
	if name == Floor && len(o.Argv) > 0 {
		name = FloorGoroutine // as any client of a program that takes calls at any time
	}
	c, err := Dial(ctx, name, o)
	if err != nil {
		return nil, err
	}
	if _, err := c.List(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// each is a client for each server.
type each []Client

// Call implements Many.
func (e each) Call(ctx context.Context, server int, tool string, args any) (int, error) {
	return e[server].Call(ctx, tool, args)
}

// Close implements Many.
func (e each) Close() error {
	var work sync.WaitGroup
	failures := make([]error, len(e))
	for i, c := range e {
		if c != nil {
			work.Go(func() { failures[i] = c.Close() })
		}
	}
	work.Wait()
	return errors.Join(failures...)
}

// mainstayPool is Mainstay's own pool.
type mainstayPool struct{ p *pool.Pool }

func openPool(ctx context.Context, servers []Options) (Many, error) {
	list := make([]pool.Server, len(servers))
	for i, o := range servers {
		list[i] = pool.Server{Name: strconv.Itoa(i), Options: []client.Option{client.WithProtocolVersion(version(o))}}
		if len(o.Argv) > 0 {
			list[i].Transport = &transport.Command{Argv: o.Argv}
		} else {
			list[i].Transport = &transport.HTTP{URL: o.URL, RoundTripper: o.Shared}
		}
	}
	p, err := pool.Open(ctx, list, pool.WithStartupWait(pool.DefaultConnectTimeout)) // all of them
	if err != nil {
		return nil, err
	}
	for name, err := range p.Failures() {
		return nil, errors.Join(errors.New("server "+name+" is not connected"), err, p.Close())
	}
	return &mainstayPool{p}, nil
}

// Call implements Many.
func (m *mainstayPool) Call(ctx context.Context, server int, tool string, args any) (int, error) {
	c, err := m.p.Client(strconv.Itoa(server))
	if err != nil {
		return 0, err
	}
	return (&mainstay{c}).Call(ctx, tool, args)
}

// Close implements Many.
func (m *mainstayPool) Close() error { return m.p.Close() }
