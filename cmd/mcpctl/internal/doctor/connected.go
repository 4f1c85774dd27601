package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/example"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/explain"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/listing"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// coldStart reports whether the program is one that may download another one.
func (d *diagnosis) coldStart() bool {
	name := strings.TrimSuffix(filepath.Base(d.target.Argv[0]), filepath.Ext(d.target.Argv[0]))
	return slices.Contains([]string{"npx", "uvx", "bunx", "pnpx", "docker", "podman", "dnx", "pipx"}, name)
}

// long is from when on a start is worth a remark.
const long = 3 * time.Second

// started adds what a program printed before its first answer, or before it failed.
func (d *diagnosis) started(works bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.target.Argv == nil {
		if d.post != "" {
			d.add(Good("http", d.post))
		}
		return
	}
	if took := d.first.Sub(d.began); !d.first.IsZero() {
		step := Good("starts", fmt.Sprintf("%s to the first output, %s", console.Rounded(took), d.where))
		if took > long {
			step.Why = "hosts wait up to a minute, people do not"
			if d.coldStart() {
				step.Why = d.target.Argv[0] + " may have downloaded the program; the next start is faster"
			}
		}
		d.add(step)
	}
	switch n := d.noises; {
	case n > 0:
		d.add(Step{
			Step: "stdout", Status: Warning,
			Seen: fmt.Sprintf("%s on standard output that %s no message: %q", console.Count(n, "line", "lines"), map[bool]string{true: "is", false: "are"}[n == 1], visible.Cut(d.x.Secrets.Safe(d.noise[0]), 100)),
			Why:  "some clients end the session here", Next: []string{"print it to standard error"},
		})
	default:
		d.add(Good("stdout", "nothing but messages"))
	}
	if name := explain.MissingVariable(d.stderr); name != "" && works {
		d.add(Step{
			Step: "variables", Status: Warning, Seen: "the program says that " + name + " is missing", Why: "it may work in part only",
			Next: []string{"-e " + name + "=…"},
		})
	}
}

func (d *diagnosis) handshake(c *connect.Connection) {
	found := c.Negotiated()
	step := Good("era", fmt.Sprintf("%s, revision %s: %s", c.ProtocolVersion().Era(), c.ProtocolVersion(), d.x.Secrets.Safe(connect.EraFound(found))))
	if found.Restarted {
		step.Status = Warning
		step.Why = "a server that knows no server/discover answers it with an error: clients that ask first start it twice"
		step.Next = []string{"answer unknown methods with error -32601"}
	}
	d.add(step)
	name := c.ServerName()
	if name == "" {
		name = "a server without a name"
	}
	d.add(Good("handshake", fmt.Sprintf("%s, in %s", name, console.Rounded(c.Took))))
}

// lists reads each list that the server declares.
func (d *diagnosis) lists(ctx context.Context, c *connect.Connection) {
	const most = 1000
	none := true
	for _, l := range listing.Lists {
		if !c.May(l.Capability) {
			continue
		}
		none = false
		pages, items, nameless := 0, 0, 0
		began := time.Now()
		_, err := listing.Walk(ctx, d.x.Dialer, c, l, func(raw json.RawMessage) error {
			page, err := doc.Parse(raw)
			if err != nil {
				return err
			}
			for _, item := range page.Get(l.Member).Items() {
				if items++; item.Get(l.ID).Str() == "" {
					nameless++
				}
			}
			if pages++; pages == most {
				return c.Broken("the pages of %s never end: there are more than %d", l.Method, most-1)
			}
			return nil
		})
		took := time.Since(began)
		var e *mcperrors.Error
		switch {
		case ctx.Err() != nil, err != nil && d.x.Over():
			return
		case errors.As(err, &e) && e.RPC != nil && e.RPC.Code == -32601 && l.Method == mcp.MethodResourceTemplatesList:
			// Servers with resources need no templates.
		case err != nil:
			f := d.x.Failure(ctx, err)
			d.add(Step{Step: l.Name, Status: Problem, Seen: f.Message, Why: "hosts have no " + l.Name + " of this server", Next: nextOf(f, d.again("rpc", l.Method))})
		case nameless > 0:
			d.add(Step{
				Step: l.Name, Status: Problem, Seen: fmt.Sprintf("%d, of which %d without a %s", items, nameless, l.ID), Why: "some clients refuse the whole list", Next: []string{d.again("lint")},
			})
		default:
			d.add(Good(l.Name, fmt.Sprintf("%d in %s, %s", items, console.Count(pages, "page", "pages"), console.Rounded(took))))
		}
	}
	if none {
		d.add(Step{Step: "lists", Status: Warning, Seen: "the server declares no tools, resources or prompts", Why: "hosts have no use for it", Next: []string{"declare what the server has in its capabilities"}})
	}
}

// again is another command for the same server.
func (d *diagnosis) again(command string, words ...string) string {
	line := append([]string{"mcpctl", command}, d.target.Words()...)
	if d.target.Argv != nil && d.target.Entry == nil {
		return example.Quote(append(append(append(line, words...), "--"), d.x.Secrets.Command(d.target.Argv)...))
	}
	return example.Quote(append(line, words...))
}

// latency measures round trips.
func (d *diagnosis) latency(ctx context.Context, c *connect.Connection) {
	const times, slow = 5, time.Second
	method := c.PingMethod()
	var trips []time.Duration
	for range times {
		began := time.Now()
		if _, err := d.x.Request(ctx, c, connect.Sent{Method: method}, nil); err != nil {
			if ctx.Err() == nil && !d.x.Over() {
				d.add(Step{Step: "latency", Status: Problem, Seen: method + ": " + d.x.Failure(ctx, err).Message, Why: "clients use it to see whether a server is alive", Next: []string{d.again("ping", "-v")}})
			}
			return
		}
		trips = append(trips, time.Since(began))
	}
	slices.Sort(trips)
	step := Good("latency", fmt.Sprintf("%s, %d times: min %s, median %s, max %s", method, times, console.Precise(trips[0]), console.Precise(trips[times/2]), console.Precise(trips[times-1])))
	if trips[times/2] > slow {
		step.Status, step.Why, step.Next = Warning, "each call of a tool takes at least that long", []string{d.again("ping", "-n", "20")}
	}
	d.add(step)
}

// stream opens the stream of news that the server declares, and closes it.
func (d *diagnosis) stream(ctx context.Context, c *connect.Connection) {
	declares := c.Capabilities()
	filter := mcp.SubscriptionFilter{
		ToolsListChanged:     declares.Tools != nil && declares.Tools.ListChanged,
		PromptsListChanged:   declares.Prompts != nil && declares.Prompts.ListChanged,
		ResourcesListChanged: declares.Resources != nil && declares.Resources.ListChanged,
	}
	if !filter.ToolsListChanged && !filter.PromptsListChanged && !filter.ResourcesListChanged {
		return
	}
	began := time.Now()
	news, err := c.Subscribe(ctx, filter, func(context.Context, client.Change) {})
	if err != nil {
		if ctx.Err() == nil && !d.x.Over() {
			d.add(Step{
				Step: "stream", Status: Problem, Seen: "it declares news, and opens no stream for them: " + d.x.Failure(ctx, err).Message,
				Why: "hosts do not hear of changed lists", Next: []string{d.again("listen")},
			})
		}
		return
	}
	took := time.Since(began)
	_ = news.Close() // it returns nil
	d.mu.Lock()
	get, streams := d.get, d.streams
	d.mu.Unlock()
	switch {
	case c.ProtocolVersion().Era() == mcp.EraStateless, streams:
		d.add(Good("stream", "opened and closed, in "+console.Rounded(took).String()))
	case get != "":
		d.add(Step{
			Step: "stream", Status: Warning, Seen: "it declares news, and has no stream for them: GET has " + get,
			Why: "hosts hear of changed lists only while a call runs", Next: []string{"answer GET with an event stream, or declare no listChanged"},
		})
	}
}

// stays checks that a program still runs.
func (d *diagnosis) stays(c *connect.Connection) {
	select {
	case <-c.Done():
		d.add(Step{Step: "stays", Status: Problem, Seen: "the program ended while it was used", Why: "hosts lose it", Next: []string{d.again("ls", "-vv")}})
	default:
		d.add(Good("stays", "the program still runs"))
	}
}

// stopped adds how a program ended, and which processes it left.
func (d *diagnosis) stopped(began time.Time) {
	d.mu.Lock()
	took, left := d.exited.Sub(began), d.left
	if d.exited.Before(began) { // it has ended earlier, or a kill is delayed
		took, left = time.Since(began), Left(d.children)
	}
	d.mu.Unlock()
	step := Good("stops", "on the end of its standard input, "+console.Rounded(took).String())
	switch {
	case took >= 2*connect.ChildGrace:
		step = Step{Step: "stops", Status: Warning, Seen: "only when it is killed", Why: "hosts wait for it, or leave it running", Next: []string{"end at the end of standard input, and on SIGTERM"}}
	case took >= connect.ChildGrace:
		step = Step{Step: "stops", Status: Warning, Seen: "only on SIGTERM, not on the end of its standard input", Why: "hosts wait for it, or leave it running", Next: []string{"end at the end of standard input"}}
	}
	d.add(step)
	if len(left) > 0 {
		var names []string
		for _, p := range left {
			names = append(names, fmt.Sprintf("%s (%d)", p.Name, p.ID))
		}
		d.add(Step{Step: "children", Status: Warning, Seen: "left running when it ended: " + strings.Join(names, ", "), Why: "hosts may not end them: each session leaves some more", Next: []string{"end the processes that the server started"}})
	} else if CountsChildren {
		d.add(Good("children", "none are left"))
	}
}
