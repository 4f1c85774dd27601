package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// childGrace is how long a program has to stop, once after its stdin is closed
// and once after it is told to (decisions 26).
const childGrace = 2 * time.Second

// connection is a client and what there is to tell about it.
type connection struct {
	*client.Client
	server target
	// took is how long the handshake took, the program's start included.
	took  time.Duration
	close func()
}

// may reports whether the server may be asked for what a capability stands for:
// it declared it, or nobody knows what it declares (DISC-15).
func (c *connection) may(capability string) bool {
	return c.InitializeResult() == nil || c.HasCapability(capability)
}

// connect opens a connection. The caller closes it.
func (a *app) connect(ctx context.Context, t target, extra ...client.Option) (*connection, error) {
	stderr, closeStderr, err := a.serverStderr()
	if err != nil {
		return nil, err
	}
	limit := a.flags.idle
	c := &connection{server: t}
	opts := []client.Option{
		client.WithRequiredCapabilities(), client.WithPreload(false), client.WithValidation(client.ValidateOff),
		client.WithClientInfo(mcp.Implementation{Name: "mcpctl", Version: client.Version}),
		client.WithTrace(a.trace()),
	}
	opts = append(opts, client.WithEraStore(a.eraStore()))
	if version := a.pinned(); version != "" {
		if err := a.checkRevision(mcp.Version(version)); err != nil {
			closeStderr()
			return nil, err
		}
		opts = append(opts, client.WithProtocolVersion(version))
	}
	var idle *http.Transport
	if t.argv != nil {
		command, err := a.command()
		if err != nil {
			closeStderr()
			return nil, err
		}
		command.Stderr, command.Limits = stderr, a.limits()
		limit = a.flags.startTimeout
		opts = append(opts, client.WithCommand(command), client.WithRestart(client.Restart{StartTimeout: limit}))
	} else {
		header, err := a.header()
		if err != nil {
			closeStderr()
			return nil, err
		}
		idle = a.roundTripper()
		opts = append(opts, client.WithHTTP(transport.HTTP{Header: header, RoundTripper: idle, CloseTimeout: childGrace, Limits: a.limits()}))
	}
	// The handshake has the time a start may take; calls get theirs one by one.
	opts = append(opts, client.WithResilience(client.Resilience{IdleTimeout: limit, MaxTime: a.left()}))
	opts = append(opts, extra...)

	began := time.Now()
	if t.argv != nil {
		a.step("starting %s", t.argv[0])
		c.Client, err = client.DialCommand(ctx, t.argv, opts...)
	} else {
		a.step("connecting to %s", withoutSecrets(t.url))
		c.Client, err = client.Dial(ctx, t.url, opts...)
	}
	c.close = func() {
		if c.Client != nil {
			_ = c.Client.Close() // what matters has been answered
		}
		if idle != nil {
			idle.CloseIdleConnections()
		}
		closeStderr()
	}
	if err != nil {
		c.Client = nil
		c.close()
		return nil, &failed{err: err, server: t, connecting: true}
	}
	c.took = time.Since(began)
	for _, line := range eraSteps(c.Negotiated()) {
		a.step("%s", line)
	}
	info := c.ServerInfo()
	a.step("connected to %s %s, revision %s, in %s", info.Name, info.Version, c.ProtocolVersion(), age(c.took))
	return c, nil
}

// with runs f on a connection and closes it.
func (a *app) with(ctx context.Context, t target, f func(ctx context.Context, c *connection) error, extra ...client.Option) error {
	a.end = time.Now().Add(a.flags.maxTime)
	ctx, cancel := context.WithDeadline(ctx, a.end.Add(lateGrace))
	defer cancel()
	c, err := a.connect(ctx, t, extra...)
	if err != nil {
		return err
	}
	defer c.close()
	if err := f(ctx, c); err != nil {
		return &failed{err: err, server: t}
	}
	return nil
}

// request sends the request that the command is for, and notes what became of
// it.
func (a *app) request(ctx context.Context, c *connection, r sentRequest, params any, opts ...client.CallOption) (json.RawMessage, error) {
	raw, err := c.Call(ctx, r.method, params, append(opts, a.times())...)
	r.delivery = mcperrors.Answered
	if err != nil {
		r.delivery = errormap.From(err, mcperrors.Unknown).Delivery
	}
	a.sent = r
	return raw, err
}

// lateGrace is how much later than --max-time a run is cut off. Each request
// ends by the time itself: one that timed out has evidence, one that was cut
// off has none.
const lateGrace = 250 * time.Millisecond

// left is what is left of --max-time.
func (a *app) left() time.Duration { return max(time.Millisecond, time.Until(a.end)) }

func (a *app) limits() transport.Limits {
	return transport.Limits{MessageBytes: int(a.flags.maxMessage)}
}

// times bounds one request.
func (a *app) times() client.CallOption { return client.WithTimeouts(a.flags.idle, a.left()) }

// checkRevision refuses what the client would refuse, in words of this program.
func (a *app) checkRevision(v mcp.Version) error {
	given := "--protocol-version " + a.flags.revision
	if a.flags.revision == "" {
		given = "--era " + a.flags.era
	}
	if !v.Known() {
		return usage("%s: no such revision is known; known are %v", given, mcp.Versions())
	}
	return nil
}

// pinned is the one revision to speak, "" to find it out.
func (a *app) pinned() string {
	switch {
	case a.flags.revision != "":
		return a.flags.revision
	case a.flags.era == "modern":
		return string(mcp.Latest)
	case a.flags.era == "legacy":
		return string(mcp.LatestSession)
	case a.flags.era == "auto":
		return ""
	}
	return a.flags.era
}

// roundTripper is net/http's with our time for reaching an address.
func (a *app) roundTripper() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: a.flags.connectTimeout}).DialContext,
		TLSHandshakeTimeout:   a.flags.connectTimeout,
		ForceAttemptHTTP2:     true,
		ExpectContinueTimeout: time.Second,
	}
}

// withoutSecrets is a URL for people: no password, and no query, where tokens
// stand.
func withoutSecrets(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "the URL"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
