package client

import (
	"context"
	"errors"

	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
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
	if t.URL = url; given.headers != nil {
		t.HeaderFunc = given.headers
	}
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
// has no time to end by itself: it is killed soon after the host has ended.
func DialCommand(ctx context.Context, argv []string, opts ...Option) (*Client, error) {
	t := &transport.Command{}
	given := dialConfig(opts)
	if given.http != nil || given.headers != nil {
		return nil, badOption(errors.New("WithHTTP belongs to Dial, and so does WithHeaderFunc"))
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
// behind then. A program that exits when it is asked for its era is started a
// second time; one that is slow is given the time of a start (60 s, see
// [Restart]), and a URL that does not answer gets initialize after 2 s.
func Connect(ctx context.Context, t transport.Transport, opts ...Option) (*Client, error) {
	if t == nil {
		return nil, badOption(errors.New("Connect needs a transport"))
	}
	if given := dialConfig(opts); given.http != nil || given.command != nil || given.headers != nil {
		return nil, badOption(errors.New("WithHTTP, WithHeaderFunc and WithCommand belong to Dial and DialCommand; set up the transport itself for Connect"))
	}
	return connect(ctx, t, opts)
}

// CheckOptions returns the error that [Connect] would fail with because of its
// options, E203, and nil when there is none. It connects to nothing: a program can
// check its configuration before it starts anything.
func CheckOptions(opts ...Option) error {
	if given := dialConfig(opts); given.http != nil || given.command != nil || given.headers != nil {
		return badOption(errors.New("WithHTTP, WithHeaderFunc and WithCommand belong to Dial and DialCommand; set up the transport itself for Connect"))
	}
	if _, err := newConfig(opts); err != nil {
		return badOption(err)
	}
	return nil
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
	return mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent, err.Error(), err)
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
	if a := (whose{partition, cfg.callersOf(t)}); a != (whose{}) {
		c.whose = &a
	}
	if err := c.open(ctx, t); err != nil {
		// What else goes wrong matters less than err.
		if l := c.live.Load(); l != nil {
			l.Abort()
		}
		_ = c.Close()
		return nil, c.hide(err)
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
	return c.preload(ctx)
}

// preload fills the schema cache. A server that is connected to and cannot list
// its tools just now is connected to: whoever needs the list asks again and is
// told then.
func (c *Client) preload(ctx context.Context) error {
	if !c.cfg.preload || !c.HasCapability("tools") {
		return nil
	}
	err := c.cache().Refresh(ctx, c.cacheKey(ctx), c.fetcher())
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return c.cacheError(err, "") // nobody wants the client any more
	}
	c.listFailed(err)
	return nil
}

// listFailed tells of a list of tools that could not be had and that no caller is
// told of.
func (c *Client) listFailed(err error) {
	e := c.cacheError(err, "")
	c.log.Warn("[MCP] the tools of the server could not be listed", "server", c.server, "error", e)
	c.emit(ListFailed{Method: mcp.MethodToolsList, Reason: e})
}
