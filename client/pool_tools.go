package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// PoolTool is a tool of a server in a [Pool].
type PoolTool struct {
	// Name is what the pool calls it and [Pool.CallTool] takes: give it to the
	// model. See [ToolNaming].
	Name string
	// Server is the server's name in the pool.
	Server string
	// Tool is the tool as its server lists it, with its name there. What it points
	// to is shared and must not be changed.
	Tool mcp.Tool
}

// PoolToolList is what [Pool.Tools] returns.
type PoolToolList struct {
	// Tools are those of the servers that are connected: in the order of the
	// servers, and of each server's list.
	Tools []PoolTool
	// Failures says, by name, which servers could not be asked and why. Those that
	// are connected all the same are in Tools with what they had last.
	Failures map[string]error
}

const (
	// poolListTime bounds asking the servers for their tools, poolLag how long they
	// are waited for once one of them has answered.
	poolListTime = 10 * time.Second
	poolLag      = 2 * time.Second
	// relistGap is how far apart lists are that unknown names ask for (decisions
	// 28).
	relistGap = time.Second
)

// errSlowList is why a server that is not waited for any more has no list.
var errSlowList = fmt.Errorf("the server did not list its tools in time: %w", context.DeadlineExceeded)

// poolTools is what is known of the servers' tools.
type poolTools struct {
	mu     sync.Mutex
	names  *toolNames
	known  map[string][]mcp.Tool // by server, as last listed
	asking chan struct{}         // held by who lists because of an unknown name
	asked  time.Time             // under asking
}

func newPoolTools(n ToolNaming) *poolTools {
	return &poolTools{names: newToolNames(n), known: map[string][]mcp.Tool{}, asking: make(chan struct{}, 1)}
}

// Tools lists the tools of all servers, at a time, from their caches where those
// are fresh. A server that does not answer within 10 s, or 2 s after the first of
// them, or is not connected, is in the list's Failures; what it says later is in the
// next list. The error is for a pool that is closed and a ctx that ends.
func (p *Pool) Tools(ctx context.Context) (*PoolToolList, error) {
	if p.life.Err() != nil {
		return nil, poolClosed()
	}
	type answer struct {
		tools []mcp.Tool
		err   error
		away  bool
	}
	answers := make([]answer, len(p.members))
	soon, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lag := time.AfterFunc(poolListTime, func() { cancel(errSlowList) })
	defer lag.Stop()
	var first sync.Once
	var work sync.WaitGroup
	for i, m := range p.members {
		c, err := m.ready()
		if err != nil {
			answers[i] = answer{err: err, away: true}
			continue
		}
		work.Go(func() {
			tools, err := c.listed(soon)
			switch {
			case err == nil:
				first.Do(func() { lag.Reset(poolLag) })
			case context.Cause(soon) == errSlowList: //nolint:errorlint // identity: not a deadline of the caller's
				err = c.local(errSlowList, mcp.MethodToolsList)
			}
			answers[i] = answer{tools: tools, err: m.conceal(err)}
		})
	}
	work.Wait()
	if ctx.Err() != nil {
		return nil, mcperrors.From(context.Cause(ctx), mcperrors.NotSent)
	}
	out := &PoolToolList{Failures: map[string]error{}}
	t := p.tools
	t.mu.Lock()
	defer t.mu.Unlock()
	var refs []ToolRef
	var there []*mcp.Tool // nil for a tool of a server that is away, whose names stay its own
	for i, m := range p.members {
		server := m.spec.Name
		if answers[i].err != nil {
			out.Failures[server] = answers[i].err
		} else {
			t.known[server] = answers[i].tools
		}
		seen := map[string]bool{}
		for k := range t.known[server] {
			tool := &t.known[server][k]
			if seen[tool.Name] { // the first counts (TOOL-02)
				continue
			}
			seen[tool.Name] = true
			refs = append(refs, ToolRef{server, tool.Name})
			if answers[i].away {
				tool = nil
			}
			there = append(there, tool)
		}
	}
	for i, name := range t.names.assign(refs) {
		if there[i] != nil {
			out.Tools = append(out.Tools, PoolTool{Name: name, Server: refs[i].Server, Tool: *there[i]})
		}
	}
	return out, nil
}

// listed returns the tools from the schema cache, which asks the server when they
// are not fresh.
func (c *Client) listed(ctx context.Context) ([]mcp.Tool, error) {
	if agreed := c.live.Agreed(); agreed.Declared && !agreed.Capabilities.Has("tools") {
		return nil, nil
	}
	tools, err := c.cache().List(ctx, c.cacheKey(ctx), c.fetcher())
	if err != nil {
		return nil, c.cacheError(err, "")
	}
	return tools, nil
}

// resolve finds whose tool a name is.
func (p *Pool) resolve(ctx context.Context, name string) (*poolMember, string, error) {
	if p.life.Err() != nil {
		return nil, "", poolClosed()
	}
	t := p.tools
	find := func() (*poolMember, string) {
		t.mu.Lock()
		defer t.mu.Unlock()
		ref, ok := t.names.given[name]
		if !ok {
			return nil, ""
		}
		return p.byName[ref.Server], ref.Tool
	}
	if m, tool := find(); m != nil {
		return m, tool, nil
	}
	// Perhaps nobody has asked for the tools yet, or a server has joined.
	select {
	case t.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, "", mcperrors.From(context.Cause(ctx), mcperrors.NotSent)
	}
	defer func() { <-t.asking }()
	m, tool := find()
	if m == nil && (t.asked.IsZero() || time.Since(t.asked) >= relistGap) {
		if _, err := p.Tools(ctx); err != nil {
			return nil, "", err
		}
		t.asked = time.Now()
		m, tool = find()
	}
	if m == nil {
		return nil, "", p.unknown(name)
	}
	return m, tool, nil
}

func (p *Pool) unknown(name string) error {
	text := fmt.Sprintf("no server of the pool has a tool %q", name)
	var away []string
	for _, h := range p.Health() {
		if h.State != ServerConnected {
			away = append(away, h.Name)
		}
	}
	if len(away) > 0 {
		text += "; not connected: " + strings.Join(away, ", ")
	}
	e := mcperrors.New(mcperrors.E204, mcperrors.KindNotFound, mcperrors.NotSent, text, nil)
	e.Method, e.Tool, e.Retryable = mcp.MethodToolsCall, name, len(away) > 0
	return e
}

// CallTool calls the tool that [Pool.Tools] calls name, at its server; see
// [Client.CallTool], also for a program that its client is starting again, which is
// waited for ([Restart].CallWait). A server that is not connected fails the call at
// once, with nothing sent; the error says whether the pool connects again by itself
// (Retryable) and when (RetryAfter). An unknown name is E204.
func (p *Pool) CallTool(ctx context.Context, name string, args any, opts ...CallOption) (*mcp.CallToolResult, error) {
	m, tool, err := p.resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	c, err := m.ready()
	if err != nil {
		return nil, err
	}
	res, err := c.CallTool(ctx, tool, args, opts...)
	return res, m.told(err)
}

// GetToolSchema returns the tool that [Pool.Tools] calls name, as its server lists
// it; see [Client.GetToolSchema].
func (p *Pool) GetToolSchema(ctx context.Context, name string, opts ...CallOption) (*mcp.Tool, error) {
	m, tool, err := p.resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	c, err := m.ready()
	if err != nil {
		return nil, err
	}
	res, err := c.GetToolSchema(ctx, tool, opts...)
	return res, m.told(err)
}

// ToolError is [Client.ToolError] for the tool that [Pool.Tools] calls name.
func (p *Pool) ToolError(name string, res *mcp.CallToolResult) error {
	if res == nil || !res.IsError {
		return nil
	}
	p.tools.mu.Lock()
	ref, ok := p.tools.names.given[name]
	p.tools.mu.Unlock()
	if ok && p.byName[ref.Server] != nil {
		m := p.byName[ref.Server]
		if c := m.client.Load(); c != nil {
			return m.conceal(c.ToolError(ref.Tool, res))
		}
	}
	return mcperrors.MapToolError(res.Text(), res.StructuredContent, mcperrors.MapOptions{Method: mcp.MethodToolsCall, Tool: name})
}

// told returns the error that a call of the pool fails with. A client that was closed
// because its server is lost, or is about to be, says so in the pool's words.
func (m *poolMember) told(err error) error {
	var e *mcperrors.Error
	if errors.As(err, &e) && e.Delivery == mcperrors.NotSent && (e.Kind == mcperrors.KindClosed || endedForGood(e)) {
		return m.away()
	}
	return m.conceal(err)
}
