package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/explain"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/listing"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func newListenCmd(a *app) *cobra.Command {
	l := &listenRun{app: a}
	cmd := &cobra.Command{
		Use:   "listen [SERVER] [URI…]",
		Short: "Print what a server reports: changes and log messages",
		Long: `Print what a server reports, a line each: changes of its lists and log messages,
or with URIs only changes of those resources. --call starts what only one
session sees. It ends with Ctrl-C, after --count messages, or when --max-time is
over. With -o ndjson each line is the whole notification.`,
		Example: `  mcpctl listen :3000/mcp
  mcpctl listen :3000/mcp file:///config.json --count 1
  mcpctl listen :3000/mcp --log-level debug -o ndjson`,
		RunE: func(cmd *cobra.Command, args []string) error { return l.run(cmd, args) },
	}
	flags.Texts(cmd.Flags(), &l.calls, "call", "first call this `tool`, which needs no arguments, in the same session (repeatable)")
	cmd.Flags().IntVar(&l.count, "count", 0, "end after `N` messages; 0 means never")
	cmd.Flags().BoolVarP(&l.yes, "yes", "y", false, "call a tool that is marked destructive without a question")
	l.talk.register(cmd.Flags())
	return cmd
}

// endless is the time of a run without --max-time.
const endless = 365 * 24 * time.Hour

// listenRun is one run of the command.
type listenRun struct {
	app   *app
	talk  talkFlags
	calls []string
	count int
	yes   bool
}

func (l *listenRun) run(cmd *cobra.Command, args []string) error {
	a := l.app
	t, uris, err := uriLine(a.dial, cmd, args)
	if err != nil {
		return err
	}
	if l.count < 0 {
		return unsent("--count must not be negative")
	}
	if a.console.Format == console.JSON {
		return unsent("listen prints a line of JSON for each message: use -o ndjson")
	}
	if err := l.talk.begin(a); err != nil {
		return err
	}
	bounded := cmd.Flags().Changed("max-time")
	if !bounded {
		a.flags.MaxTime = endless
	}
	var heard atomic.Int64
	var on atomic.Bool // not while the server starts
	enough, gone := make(chan struct{}), make(chan struct{})
	unread := sync.OnceFunc(func() { close(gone) })
	a.dial.Heard = func(m *doc.Value) {
		if !on.Load() || !l.wants(m.Get("method").Str(), len(uris) > 0) {
			return
		}
		if n := heard.Add(1); l.count == 0 || n <= int64(l.count) {
			if l.print(m) != nil {
				unread() // Lost reports it
			}
			if n == int64(l.count) {
				close(enough)
			}
		}
	}
	return a.dial.With(cmd.Context(), t, func(ctx context.Context, c *connect.Connection) error {
		on.Store(true)
		subscribed, err := l.subscribe(ctx, c, uris)
		if err != nil {
			return err
		}
		for _, name := range l.calls {
			tool, err := listing.Tool(ctx, a.dial, c, name)
			if err != nil {
				return &explain.NotCalled{Err: err}
			}
			if err := a.consent(ctx, tool, l.yes); err != nil {
				return err
			}
			sent := connect.Sent{Method: mcp.MethodToolsCall, Tool: name, Acts: true}
			if _, err := a.dial.Request(ctx, c, sent, console.Encode(map[string]string{"name": name})); err != nil {
				return withTool(err, name)
			}
		}
		select {
		case <-enough:
			return nil
		case <-gone:
			return nil
		case <-c.Done():
			return c.Alive(ctx) // has the reason
		case <-subscribed.Done():
			return subscribed.Err()
		case <-ctx.Done():
			if bounded && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				return nil
			}
			return ctx.Err()
		}
	})
}

// subscribe asks for everything that the server reports.
func (l *listenRun) subscribe(ctx context.Context, c *connect.Connection, uris []string) (subscription, error) {
	filter := mcp.SubscriptionFilter{ResourceSubscriptions: uris}
	if len(uris) == 0 {
		filter = mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}
	}
	s, err := c.Subscribe(ctx, filter, func(context.Context, client.Change) {})
	switch {
	case len(uris) == 0 && mcperrors.KindOf(err) == mcperrors.KindUnsupported:
		if l.talk.logLevel == "" {
			l.app.console.Warn("%s reports no changes: only its log messages are printed", c.ServerName())
		}
		return nothing{}, nil
	case err != nil:
		return nil, err
	case len(s.Accepted().ResourceSubscriptions) < len(uris):
		return nil, undeclared(c, "subscriptions to resources")
	}
	return s, nil
}

// subscription ends when nothing more is reported.
type subscription interface {
	Done() <-chan struct{}
	Err() error
}

// nothing is the subscription to a server that reports no changes.
type nothing struct{}

// Done implements [subscription].
func (nothing) Done() <-chan struct{} { return nil }

// Err implements [subscription].
func (nothing) Err() error { return nil }

// wants reports whether a notification is printed.
func (l *listenRun) wants(method string, ofResources bool) bool {
	return !ofResources || method == mcp.MethodResourcesUpdated || method == mcp.MethodMessage && l.talk.logLevel != ""
}

// print prints a notification.
func (l *listenRun) print(m *doc.Value) error {
	c := l.app.console
	if c.Format != console.Human {
		return c.PrintRaw(m.AppendJSON(nil))
	}
	params := m.Get("params")
	method := m.Get("method").Str()
	text := method
	switch method {
	case mcp.MethodResourcesUpdated:
		text = "resource changed: " + params.Get("uri").Str()
	case mcp.MethodToolsListChanged, mcp.MethodPromptsListChanged, mcp.MethodResourcesListChanged:
		text = strings.Split(method, "/")[1] + " changed"
	case mcp.MethodMessage:
		text = fmt.Sprintf("%s %s: %s", params.Get("level").Str(), params.Get("logger").Str(), plain(params.Get("data")))
	default:
		if params != nil {
			text += " " + params.String()
		}
	}
	return c.Print(visible.Line(text) + "\n")
}

// plain is a value of a log message: text without its quotes.
func plain(v *doc.Value) string {
	if v.Kind() == doc.String {
		return v.Str()
	}
	return v.String()
}
