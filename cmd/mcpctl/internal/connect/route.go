package connect

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
)

// route is the way to a server: its transport, and what the client must know for it.
type route struct {
	over transport.Transport
	opts []client.Option
	// start is how long a program may take to its first answer, 0 for other servers.
	start time.Duration
	idle  *http.Transport // nil for a program
}

// release closes the connections that nobody uses.
func (r *route) release() {
	if r.idle != nil {
		r.idle.CloseIdleConnections()
	}
}

// route finds the way to a server by the flags. stderr gets what a program writes there. A
// stage keeps requests from the server; nil lets them pass.
func (d *Dialer) route(ctx context.Context, t target.Target, stderr io.Writer, held *stage) (*route, error) {
	if err := d.Flags.CheckRevision(); err != nil {
		return nil, err
	}
	if err := d.Trusted(ctx, t); err != nil {
		return nil, err
	}
	r := &route{opts: []client.Option{client.WithEraStore(d.eraStore())}}
	if version := d.Flags.Pinned(); version != "" {
		r.opts = append(r.opts, client.WithProtocolVersion(version))
	}
	if t.Argv != nil {
		command, err := d.Command(t)
		if err != nil {
			return nil, err
		}
		command.Argv, command.Stderr, command.Limits = t.Argv, stderr, d.limits()
		r.start, r.over = d.Flags.FirstAnswer(), &command
		if held != nil {
			r.over = programStage{r.over, held}
		}
		return r, nil
	}
	header, err := d.Header(t)
	if err != nil {
		return nil, err
	}
	by, err := d.Credentials(ctx, t)
	if err != nil {
		return nil, err
	}
	r.opts = append(r.opts, client.WithAuthorizer(by))
	r.idle = d.RoundTripper()
	rt := http.RoundTripper(r.idle)
	if d.WatchHTTP != nil {
		rt = d.WatchHTTP(rt)
	}
	if held != nil {
		rt = httpStage{rt, held}
	}
	if t.Entry != nil && t.Entry.SSE {
		r.over = &transport.SSE{URL: t.URL, Header: header, RoundTripper: rt, Limits: d.limits()}
	} else {
		r.over = &transport.HTTP{URL: t.URL, Header: header, RoundTripper: rt, CloseTimeout: ChildGrace, Limits: d.limits()}
	}
	return r, nil
}

// behindGrace is [ChildGrace] for the programs of a proxy. Hosts kill a server that takes more than
// two seconds to end, and programs end within three seconds after their host: the first half of
// them is for open requests.
const behindGrace = 600 * time.Millisecond

// Behind returns the server as a proxy needs it: with the client's own resilience, and for as
// long as its host uses it. Its stderr is that of mcpctl, which hosts keep as the log of the
// server. label, if it is not empty, marks each line of it. done ends what the servers of this
// target shared.
func (d *Dialer) Behind(ctx context.Context, t target.Target, label string) (open func(ctx context.Context, opts ...client.Option) (*client.Client, error), done func(), err error) {
	stderr, closeStderr, err := d.ServerStderr()
	if err != nil {
		return nil, nil, err
	}
	if where := d.Flags.ServerStderr; where == "auto" || where == "show" {
		stderr = d.Console.Err
		if label != "" {
			stderr = labelled{stderr, label}
		}
	}
	depth, err := d.depth()
	var r *route
	if err == nil {
		r, err = d.route(ctx, t, stderr, nil)
	}
	if err != nil {
		closeStderr()
		return nil, nil, err
	}
	if command, ok := r.over.(*transport.Command); ok {
		command.Env = append(command.Env, depthVariable+"="+strconv.Itoa(depth+1))
		command.StopGrace, command.KillGrace = behindGrace, behindGrace
	}
	// A host of the session era pins its own revision, which must not overrule the flags.
	var demanded []client.Option
	if version := d.Flags.Pinned(); version != "" && (d.Flags.Revision != "" || d.Flags.Era != "session") {
		demanded = append(demanded, client.WithProtocolVersion(version))
	}
	// A short pause: one host waits for the program, not a fleet that starts at the same time.
	open = func(ctx context.Context, opts ...client.Option) (*client.Client, error) {
		own := []client.Option{client.WithResilience(client.Resilience{Restart: client.Restart{StartTimeout: r.start, MinPause: 20 * time.Millisecond}})}
		return client.Connect(ctx, d.forwarding(ctx, r.over), slices.Concat(r.opts, own, opts, demanded)...)
	}
	return open, func() {
		r.release()
		closeStderr()
	}, nil
}

// forwarding returns a transport that adds the headers of [Dialer.Forward].
func (d *Dialer) forwarding(ctx context.Context, over transport.Transport) transport.Transport {
	if d.Forward == nil {
		return over
	}
	headers := d.Forward(ctx)
	switch t := over.(type) {
	case *transport.HTTP:
		own := *t
		own.HeaderFunc = headers
		return &own
	case *transport.SSE:
		own := *t
		own.HeaderFunc = headers
		return &own
	}
	return over // a program
}
