package client

import (
	"cmp"
	"context"
	"errors"

	"github.com/mainstay-mcp/mainstay/client/internal/keeper"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// Dial connects to a server over streamable HTTP. ctx bounds connecting only. For
// headers, credentials, a RoundTripper or limits, use [Connect] with a [transport.HTTP].
func Dial(ctx context.Context, url string, opts ...Option) (*Client, error) {
	return Connect(ctx, &transport.HTTP{URL: url}, opts...)
}

// DialCommand starts a program and connects to it over its stdin and stdout.
// ctx bounds connecting only: the program lives until [Client.Close]. It gets
// a safe subset of the environment. For variables, a directory, its stderr or
// limits, use [Connect] with a [transport.Command].
//
// A program that exits is restarted. Calls in flight fail; their errors tell whether
// they may have run. Later calls wait for the next program; see [Restart] and
// [StateChanged].
//
// The program runs in a process group of its own, so Ctrl-C in a terminal does
// not reach it. Call Close when your program is interrupted, for example when
// the context of [os/signal.NotifyContext] ends. Otherwise the program has no
// time to shut down: it is killed soon after your program has ended.
func DialCommand(ctx context.Context, argv []string, opts ...Option) (*Client, error) {
	return Connect(ctx, &transport.Command{Argv: argv}, opts...)
}

// Connect connects over any transport. It opens the transport, negotiates the
// era unless [WithProtocolVersion] pins it, opens the conversation and lists
// the tools to fill the schema cache, unless [CacheConfig].NoPreload is set. On error it
// returns the first failure and releases everything it opened.
//
// If the era probe makes a program exit, Connect starts it once more without
// the probe. On Linux, a program that exits without reading the probe is started
// once. A slow program has 60 s to write something, and is then started once more
// with up to 5 minutes; see [Restart]. If a URL does not answer the probe within 2 s,
// Connect sends initialize beside it.
func Connect(ctx context.Context, t transport.Transport, opts ...Option) (*Client, error) {
	if t == nil {
		return nil, badOption(errors.New("Connect needs a transport"))
	}
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, badOption(err)
	}
	if t, err = authorized(t, cfg.authorizer); err != nil {
		return nil, badOption(err)
	}
	scope, err := cfg.scopeOf(t)
	if err != nil {
		return nil, badOption(err)
	}
	c := newClient(cfg, t)
	c.scope = scope
	if stop := watchLogin(c, t); stop != nil {
		c.closing.Get().unwatch = stop
	}
	if err := c.open(ctx, t); err != nil {
		// Later errors matter less than err.
		if l := c.core.Links.Load(); l != nil {
			l.Abort()
		}
		_ = c.Close()
		return nil, c.core.Secrets().HideError(err)
	}
	return c, nil
}

// authorized returns t, or a copy of it with the Authorizer of the options if they set one.
func authorized(t transport.Transport, by transport.Authorizer) (transport.Transport, error) {
	if by == nil {
		return t, nil
	}
	switch t := t.(type) {
	case *transport.HTTP:
		own := *t
		own.Authorizer = by
		return &own, nil
	case *transport.SSE:
		own := *t
		own.Authorizer = by
		return &own, nil
	}
	return nil, errors.New("WithAuthorizer is for servers that are reached over HTTP")
}

// CheckOptions returns the error, E203, that [Connect] would return for these
// options, or nil. It connects to nothing: use it to check a configuration
// before starting anything.
func CheckOptions(opts ...Option) error {
	if _, err := newConfig(opts); err != nil {
		return badOption(err)
	}
	return nil
}

func newClient(cfg *config, t transport.Transport) *Client {
	c := &Client{cfg: cfg, at: t.String()}
	k, r := &c.core, &c.calls
	k.Server, k.Emit, k.Failed = cmp.Or(cfg.name, c.at), c.emit, c.callbackFailed
	k.Protect(t)
	cfg.guardHooks(k.Failed) // before the log and the trace are wrapped
	k.Log, cfg.trace = k.Redacted(cfg.logger), k.RedactedTrace(cfg.trace)
	k.Budget.SetLimit(max(cfg.limits.MemoryBytes, 0)) // less than 0 is no bound
	k.Life.Begin()                                    // a client outlives the context it was connected with
	r.Core, r.Client, r.Set = k, (*callSupport)(c), cfg.callSettings()
	r.Keeper.Sessions = func() *keeper.Keeper { return newSessionKeeper(c) }
	r.Guard.Init(cfg.guardSettings(), cfg.meter != nil, (*callSupport)(c))
	return c
}

// open opens the transport and the conversation, and lists the tools.
func (c *Client) open(ctx context.Context, t transport.Transport) error {
	if err := newNegotiation(c, false).open(ctx, t); err != nil {
		return err
	}
	c.transition(StateReady, nil, 0)
	c.watchOver(t)
	c.attend()
	if c.cfg.noPreload || !c.HasCapability("tools") {
		return nil
	}
	tools := c.catalog().Ask(ctx, 0)
	return tools.Preload(ctx)
}
