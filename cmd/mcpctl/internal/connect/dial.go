// Package connect reaches the server of a command line with the client: the
// program's environment, the headers, the times, and what is shown of the traffic.
package connect

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/answer"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/secret"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// ChildGrace is how long a program has to stop, once after its stdin is closed
// and once after it gets TERM.
const ChildGrace = 2 * time.Second

// Dialer opens the connections of a run.
type Dialer struct {
	Flags   *flags.Global
	Console *console.Console
	Secrets *secret.Keeper
	// Sent is the last request of the command.
	Sent Sent
	// DryRun keeps what [Dialer.Rehearse] rehearses from the server.
	DryRun bool
	// Ask are the options of logins that commands begin, nil for none. Advise changes the errors
	// of stored tokens, nil for no change.
	Ask    []auth.Option
	Advise func(error) error
	// Forward returns the function that adds headers of the hosts of a proxy, from the context of
	// [Dialer.Behind]'s open. It is nil, or returns nil, for none.
	Forward func(context.Context) func(context.Context) (http.Header, error)
	// Replies answer what servers ask for. Without them everything is declared and nothing is
	// answered, so that lists are complete.
	Replies *answer.Answers
	// LogLevel is what the server is asked to log, "" for what it likes. Retries is how often a
	// request is repeated if that is safe.
	LogLevel mcp.LoggingLevel
	Retries  int
	// Watch returns what also sees the traffic of a connection, beside what it is given. It is nil for
	// nothing.
	Watch func(transport.Trace) transport.Trace
	// WatchHTTP does the same for HTTP.
	WatchHTTP func(http.RoundTripper) http.RoundTripper
	// Events is set by commands whose NDJSON is a stream of events: progress, logs, and the result
	// or a failure at the end. That of the others has items only.
	Events bool
	// Heard gets every notification in the order of arrival, in place of what shows them; nil for
	// none. It must not block.
	Heard func(m *doc.Value)
	// Listed gets each list that a server gave in full, by the name that ls takes, and its pages,
	// unchanged; nil for none.
	Listed func(ctx context.Context, t target.Target, list string, items []*doc.Value, pages []json.RawMessage)
	// end is when --max-time has passed.
	end time.Time
	// show tells what a run waits for, from With on.
	show *console.Status
}

// Sent is the delivery of a request.
type Sent struct {
	Method, Tool string
	Delivery     mcperrors.Delivery
	// Acts is set when the request may have changed something.
	Acts bool
}

// Nothing is the request of a run that has sent none.
var Nothing = Sent{Delivery: mcperrors.NotSent}

// Server returns the server that a command line means, and the other operands.
func (d *Dialer) Server(l target.Line) (target.Target, []string, error) {
	named, err := d.named()
	if err != nil {
		return target.Target{}, nil, err
	}
	named.Flag, named.Config = d.Flags.Server, d.Flags.Config
	named.Env, _ = d.Console.Env("MCPCTL_SERVER")
	t, rest, err := l.Server(named)
	d.keepSecrets(t)
	return t, rest, err
}

// Shown names a server to people, without its secrets.
func (d *Dialer) Shown(t target.Target) string {
	switch {
	case t.Typed != "" && t.Entry != nil:
		return t.Typed
	case t.Argv != nil:
		return strings.Join(d.Secrets.Command(t.Argv), " ")
	}
	return target.Shown(t.URL)
}

// keepSecrets hides the secrets of a file of servers.
func (d *Dialer) keepSecrets(t target.Target) {
	if t.Entry != nil {
		for _, value := range t.Entry.Passwords {
			d.Secrets.Keep("password", value)
		}
		for _, value := range t.Entry.Secrets {
			d.Secrets.Keep("", value)
			if _, credentials, found := strings.Cut(value, " "); found {
				d.Secrets.Keep("", credentials) // a server may repeat them without the scheme
			}
		}
	}
}

// connect opens a connection. The caller closes it.
func (d *Dialer) connect(ctx context.Context, t target.Target, extra ...client.Option) (*Connection, error) {
	stderr, closeStderr, err := d.ServerStderr()
	if err != nil {
		return nil, err
	}
	c := &Connection{Target: t}
	var held *stage
	if d.DryRun {
		held = &c.stage
	}
	r, err := d.route(ctx, t, stderr, held)
	if err != nil {
		closeStderr()
		return nil, err
	}
	// The handshake has the time a start may take; calls get theirs one by one.
	limits := client.Resilience{Off: true, IdleTimeout: d.Flags.Idle, MaxTime: d.left(), Restart: client.Restart{StartTimeout: r.start}}
	if t.Argv != nil {
		limits.IdleTimeout = d.Flags.StartTimeout
	}
	if d.Retries > 0 {
		limits.Retry = client.Retry{Policy: client.RetryHints, Attempts: 1 + d.Retries, Budget: -1}
	}
	opts := append(r.opts,
		client.WithRequiredCapabilities(), client.WithCache(client.CacheConfig{NoPreload: true}), client.WithValidation(client.Validation{Arguments: client.ValidateOff}),
		client.WithClientInfo(mcp.Implementation{Name: "mcpctl", Version: client.Version}),
		client.WithTrace(d.trace(c)), client.WithResilience(limits),
	)
	if t.Entry != nil {
		opts = append(opts, client.WithName(t.Entry.Name))
	}
	opts = append(opts, extra...)

	began := time.Now()
	waits, begin := "connecting to "+target.Shown(t.URL), d.show.Begin
	if t.Argv != nil {
		waits, begin = "starting "+strings.Join(d.Secrets.Command(t.Argv), " "), d.show.BeginStart
	}
	d.Console.Step("%s", waits)
	if d.Ask == nil { // else a person reads what the login prints
		begin(waits)
	}
	c.Client, err = client.Connect(ctx, r.over, opts...)
	d.show.End()
	c.close = func() {
		if c.Client != nil {
			_ = c.Client.Close() // what matters has been answered
		}
		r.release()
		closeStderr()
	}
	if err != nil {
		c.Client = nil
		c.close()
		return nil, &Failed{Err: err, Target: t, Connecting: true}
	}
	c.Took = time.Since(began)
	for _, line := range eraSteps(c.Negotiated()) {
		d.Console.Step("%s", line)
	}
	info := c.ServerInfo()
	d.Console.Step("connected to %s %s, revision %s, in %s", info.Name, info.Version, c.ProtocolVersion(), console.Rounded(c.Took))
	return c, nil
}

// With runs f on a connection and closes it.
func (d *Dialer) With(ctx context.Context, t target.Target, f func(ctx context.Context, c *Connection) error, extra ...client.Option) error {
	d.end = time.Now().Add(d.Flags.MaxTime)
	d.show = d.Console.NewStatus()
	if d.Replies == nil {
		extra = append(answer.Everything(), extra...)
	} else {
		d.Replies.Interrupts(d.show)
		extra = append(d.Replies.Options(), extra...)
	}
	ctx, cancel := context.WithDeadline(ctx, d.end.Add(lateGrace))
	defer cancel()
	c, err := d.connect(ctx, t, extra...)
	if err != nil {
		return err
	}
	defer c.close()
	if d.Replies.Shares() {
		c.shareRoots(ctx)
	}
	if err = d.askForLogs(ctx, c); err == nil {
		err = f(ctx, c)
	}
	for _, name := range d.Replies.Unused() {
		d.Console.Warn("the server asked for no %s: the answer was not used", name)
	}
	var own *failure.Failure
	if missing := d.Replies.Missing(d.Sent.Delivery); missing != nil && (err == nil || errors.As(err, &own) && own.Kind == failure.KindNegative) {
		if d.Sent.Tool != "" {
			missing.Note = failure.NoteRan
		}
		return missing
	}
	if err != nil {
		return &Failed{Err: err, Target: t, Version: c.ProtocolVersion()}
	}
	return nil
}

// askForLogs sets the level of --log-level.
func (d *Dialer) askForLogs(ctx context.Context, c *Connection) error {
	if d.LogLevel == "" {
		return nil
	}
	if !c.May("logging") {
		d.Console.Warn("%s declares no logging: --log-level has no effect", c.ServerName())
		return nil
	}
	d.show.ShowLogs()
	return c.SetLogLevel(ctx, d.LogLevel, d.Times())
}

// Hides reports whether a list that a server gave to this run lacks what find looks for only
// because of what the run declared. It connects once more, and declares everything.
func (d *Dialer) Hides(ctx context.Context, t target.Target, find func(ctx context.Context, c *Connection) error) bool {
	if d.Replies == nil {
		return false
	}
	c, err := d.connect(ctx, t, answer.Everything()...)
	if err != nil {
		return false
	}
	defer c.close()
	return find(ctx, c) == nil
}

// Request sends a request of the command, and records its delivery.
func (d *Dialer) Request(ctx context.Context, c *Connection, r Sent, params any, opts ...client.CallOption) (raw json.RawMessage, err error) {
	waits := "waiting for " + r.Method
	if r.Tool != "" {
		waits = "calling " + r.Tool
	}
	if time.Until(d.end) <= 0 { // nothing more is sent
		over, cancel := context.WithDeadline(ctx, d.end)
		defer cancel()
		ctx = over
	}
	if !r.Acts { // calls of tools ask for progress anyway
		opts = append(opts, client.WithProgress(func(mcp.ProgressParams) {})) // heard shows it
	}
	err = d.Record(r, waits, func() error {
		raw, err = c.Call(ctx, r.Method, params, append(opts, d.Times())...)
		return err
	})
	return raw, err
}

// Record runs what sends a request of the command, shows meanwhile what it waits for, and records
// the delivery.
func (d *Dialer) Record(r Sent, waits string, send func() error) error {
	r.Delivery = mcperrors.Unknown
	d.Sent = r // calls of a batch are explained while others are sent
	d.show.Begin(waits)
	err := send()
	d.show.End()
	r.Delivery = mcperrors.Answered
	if err != nil {
		r.Delivery = errormap.From(err, mcperrors.Unknown).Delivery
	}
	d.Sent = r
	return err
}

// lateGrace is how much later than --max-time a run is cut off. Requests end by
// that time themselves, because a timeout has evidence and a cut has none.
const lateGrace = 250 * time.Millisecond

// left is the rest of --max-time.
func (d *Dialer) left() time.Duration { return max(time.Millisecond, time.Until(d.end)) }

// Over reports whether --max-time has passed. Requests then fail at once.
func (d *Dialer) Over() bool { return !time.Now().Before(d.end) }

func (d *Dialer) limits() transport.Limits {
	return transport.Limits{MessageBytes: int(d.Flags.MaxMessage)}
}

// Times bounds one request.
func (d *Dialer) Times() client.CallOption { return client.WithTimeouts(d.Flags.Idle, d.left()) }

// RoundTripper is that of net/http, with the timeout of --connect-timeout.
func (d *Dialer) RoundTripper() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: d.Flags.ConnectTimeout}).DialContext,
		TLSClientConfig:       d.Flags.TLS(),
		TLSHandshakeTimeout:   d.Flags.ConnectTimeout,
		ForceAttemptHTTP2:     true,
		ExpectContinueTimeout: time.Second,
	}
}
