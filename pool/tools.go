package pool

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Tool is a tool of a server in a [Pool].
type Tool struct {
	// Name is the name that [Pool.CallTool] takes: give it to the model. See
	// [Naming].
	Name string
	// Server is the name of the server in the pool.
	Server string
	// Tool is the tool as its server lists it, with the server's name for it. What
	// it points to is shared and must not be changed.
	Tool mcp.Tool
}

// ToolList is the result of [Pool.Tools].
type ToolList struct {
	// Tools are the tools of the connected servers, in the order of the servers and
	// of each server's list.
	Tools []Tool
	// Failures holds, by server, why a server did not list its tools. A server that
	// is connected all the same has the tools of its last list in Tools.
	Failures map[string]error
}

const (
	// listTime bounds how long Tools waits for the servers, listLag how long it waits
	// for the others once one has answered.
	listTime = 10 * time.Second
	listLag  = 2 * time.Second
	// relistGap is the least time between two lists because of unknown names.
	relistGap = time.Second
)

// errSlowList is the failure of a server that Tools stops waiting for.
var errSlowList = fmt.Errorf("the server did not list its tools in time: %w", context.DeadlineExceeded)

// tools are the tools of the servers, as last listed.
type tools struct {
	mu     sync.Mutex
	names  *toolNames
	known  map[string][]mcp.Tool // by server, as last listed
	asking chan struct{}         // a lock: an unknown name starts one list at a time
	asked  time.Time             // guarded by asking
}

func newTools(n Naming) *tools {
	return &tools{names: newToolNames(n), known: map[string][]mcp.Tool{}, asking: make(chan struct{}, 1)}
}

// Tools lists the tools of all servers at the same time, from their caches where
// those are fresh. A server that is not connected, or does not answer within 10 s or
// 2 s after the first of them, is in Failures; its answer is in the next list. The
// error is for a pool that is closed and a ctx that ends.
func (p *Pool) Tools(ctx context.Context) (*ToolList, error) {
	if p.life.Err() != nil {
		return nil, closed()
	}
	type answer struct {
		tools []mcp.Tool
		err   error
		away  bool
	}
	answers := make([]answer, len(p.members))
	soon, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lag := time.AfterFunc(listTime, func() { cancel(errSlowList) })
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
			tools, err := c.AllTools(soon)
			switch {
			case err == nil:
				first.Do(func() { lag.Reset(listLag) })
			case context.Cause(soon) == errSlowList: //nolint:errorlint // identity: not a deadline of the caller's
				err = m.listTimeout()
			}
			answers[i] = answer{tools: tools, err: m.conceal(err)}
		})
	}
	work.Wait()
	if ctx.Err() != nil {
		return nil, errormap.From(context.Cause(ctx), mcperrors.NotSent)
	}
	out := &ToolList{Failures: map[string]error{}}
	t := p.tools
	t.mu.Lock()
	defer t.mu.Unlock()
	var refs []ToolRef
	var listed []*mcp.Tool // nil for a tool of a server that is not connected, which keeps its names
	for i, m := range p.members {
		server := m.server.Name
		if answers[i].err != nil {
			out.Failures[server] = answers[i].err
		} else {
			t.known[server] = answers[i].tools
		}
		seen := map[string]bool{}
		for k := range t.known[server] {
			tool := &t.known[server][k]
			if seen[tool.Name] { // the first counts
				continue
			}
			seen[tool.Name] = true
			refs = append(refs, ToolRef{server, tool.Name})
			if answers[i].away {
				tool = nil
			}
			listed = append(listed, tool)
		}
	}
	for i, name := range t.names.assign(refs) {
		if listed[i] != nil {
			out.Tools = append(out.Tools, Tool{Name: name, Server: refs[i].Server, Tool: *listed[i]})
		}
	}
	return out, nil
}

// listTimeout is the error of a server that Tools stops waiting for.
func (m *member) listTimeout() error {
	e := errormap.From(errSlowList, mcperrors.NotSent)
	e.Server, e.Method = m.server.Name, mcp.MethodToolsList
	return e
}

// resolve returns the server and the tool that a name belongs to.
func (p *Pool) resolve(ctx context.Context, name string) (*member, string, error) {
	if p.life.Err() != nil {
		return nil, "", closed()
	}
	t := p.tools
	find := func() (*member, string) {
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
	// The tools may not have been listed yet, or a server may have joined.
	select {
	case t.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, "", errormap.From(context.Cause(ctx), mcperrors.NotSent)
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
		if h.State != Connected {
			away = append(away, h.Name)
		}
	}
	if len(away) > 0 {
		text += "; not connected: " + strings.Join(away, ", ")
	}
	e := mcperrors.New(mcperrors.CodeToolNotFound, mcperrors.KindNotFound, mcperrors.NotSent, text, nil)
	e.Method, e.Tool, e.Retryable = mcp.MethodToolsCall, name, len(away) > 0
	return e
}

// CallTool calls the tool that [Pool.Tools] calls name, as [client.Client.CallTool]
// does. It waits for a program that its client is restarting
// ([client.Restart].CallWait). For a server that is not connected it fails at once
// with nothing sent: Retryable reports whether the pool connects again, RetryAfter
// when. An unknown name is E204.
func (p *Pool) CallTool(ctx context.Context, name string, args any, opts ...client.CallOption) (*mcp.CallToolResult, error) {
	m, tool, err := p.resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	c, err := m.ready()
	if err != nil {
		return nil, err
	}
	res, err := c.CallTool(ctx, tool, args, opts...)
	return res, m.failed(err)
}

// GetToolSchema returns the tool that [Pool.Tools] calls name, as its server lists
// it; see [client.Client.GetToolSchema].
func (p *Pool) GetToolSchema(ctx context.Context, name string, opts ...client.CallOption) (*mcp.Tool, error) {
	m, tool, err := p.resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	c, err := m.ready()
	if err != nil {
		return nil, err
	}
	res, err := c.GetToolSchema(ctx, tool, opts...)
	return res, m.failed(err)
}

// ToolError is [client.Client.ToolError] for the tool that [Pool.Tools] calls name.
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
	return errormap.FromTool(res.Text(), res.StructuredContent, errormap.Options{Method: mcp.MethodToolsCall, Tool: name})
}
