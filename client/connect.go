package client

import (
	"context"
	"errors"

	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// Dial connects to a server over streamable HTTP. ctx bounds connecting only.
func Dial(ctx context.Context, url string, opts ...Option) (*Client, error) {
	t := &transport.HTTP{}
	given := dialConfig(opts)
	if given.command != nil {
		return nil, badOption(errors.New("WithCommand belongs to DialCommand"))
	}
	if given.http != nil {
		*t = *given.http
	}
	t.URL = url
	return connect(ctx, t, opts)
}

// DialCommand starts a program and connects to it over its stdin and stdout.
// The program lives until [Client.Close], whatever becomes of ctx, which
// bounds connecting only. Like everything given to the library it gets a safe
// subset of the environment; see [WithCommand].
//
// A program that ends by itself is started again: calls in flight fail with what
// is known of them, later ones wait for the next program; see [WithRestart] and
// [StateChanged]. It runs in a process group of its own, which the
// terminal's interrupt does not reach: a host that is interrupted must Close,
// for example once the context of [os/signal.NotifyContext] ends, or the program
// may outlive it.
func DialCommand(ctx context.Context, argv []string, opts ...Option) (*Client, error) {
	t := &transport.Command{}
	given := dialConfig(opts)
	if given.http != nil {
		return nil, badOption(errors.New("WithHTTP belongs to Dial"))
	}
	if given.command != nil {
		*t = *given.command
	}
	t.Argv = argv
	return connect(ctx, t, opts)
}

// Connect connects over any transport: it opens it, finds out which era the
// server speaks unless [WithProtocolVersion] says so, opens the conversation of
// that era and then lists the tools to fill the schema cache, unless
// [WithPreload] says not to. It fails with what failed first, and leaves nothing
// behind then. A server that is ended or silenced by being asked is connected to
// a second time.
func Connect(ctx context.Context, t transport.Transport, opts ...Option) (*Client, error) {
	if t == nil {
		return nil, badOption(errors.New("Connect needs a transport"))
	}
	if given := dialConfig(opts); given.http != nil || given.command != nil {
		return nil, badOption(errors.New("WithHTTP and WithCommand belong to Dial and DialCommand; set up the transport itself for Connect"))
	}
	return connect(ctx, t, opts)
}

func dialConfig(opts []Option) *config {
	c := blankConfig()
	for _, o := range opts {
		if o != nil {
			o.apply(c)
		}
	}
	return c
}

func badOption(err error) error {
	return mcperrors.New(mcperrors.E203, mcperrors.KindInvalidArguments, mcperrors.NotSent, err.Error(), err)
}

func connect(ctx context.Context, t transport.Transport, opts []Option) (*Client, error) {
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, badOption(err)
	}
	partition, err := cfg.partitionOf(t)
	if err != nil {
		return nil, badOption(err)
	}
	c := newClient(cfg, t)
	c.partition = partition
	if err := c.open(ctx, t); err != nil {
		// What else goes wrong matters less than err.
		if l := c.live.Load(); l != nil {
			abort(l.conn)
		}
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// open opens the transport and the conversation.
func (c *Client) open(ctx context.Context, t transport.Transport) error {
	if err := c.negotiate(ctx, t); err != nil {
		return err
	}
	c.enter(StateReady, nil, 0)
	c.watchOver(t)
	c.attend()
	if c.cfg.preload && c.HasCapability("tools") {
		if err := c.cache().Refresh(ctx, c.cacheKey(), c.fetch); err != nil {
			return c.cacheError(err, "")
		}
	}
	return nil
}
