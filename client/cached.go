package client

import (
	"context"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client/internal/lists"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// CacheMode sets how a call uses cached results. The client caches the list of
// tools, which [Client.GetToolSchema] shares. In the stateless era, where servers
// set a time to live, it also caches resources and the lists of prompts, resources
// and templates.
type CacheMode uint8

const (
	// CacheUse answers from the cache as long as the server permits it.
	CacheUse CacheMode = iota
	// CacheRefresh asks the server and stores the result.
	CacheRefresh
	// CacheBypass asks the server and does not touch the cache.
	CacheBypass
)

// WithCacheMode sets the CacheMode of one call. The default is [CacheUse].
func WithCacheMode(mode CacheMode) CallOption {
	return callOptionFunc(func(o *callOptions) { o.cache = mode })
}

// cachedCall returns the result of a request from the cache, or sends the request and
// stores its result. param is what the result depends on besides the method; see
// [lists.Request]. The result is decoded into res and has size bytes.
func (c *Client) cachedCall(ctx context.Context, cl *call, param string, res any) (size int, err error) {
	decode := func(raw json.RawMessage) error {
		// The transport has validated the message.
		if err := mcp.UnmarshalValid(raw, res); err != nil {
			return c.core.Undecodable(cl.Subject(), err)
		}
		return nil
	}
	if cl.Meta != nil || cl.Manual || cl.opts.private() || !c.lists().Keeps(cl.Method) || cl.Ask(ctx, c.catalog()) != nil {
		raw, err := c.send(ctx, cl)
		if err != nil {
			return 0, err
		}
		return len(raw), decode(raw)
	}
	asked := &lists.Request{
		Method: cl.Method, Caller: cl.Caller, Param: param, Refresh: cl.opts.cache == CacheRefresh, OwnTimes: cl.Wait != jsonrpc.Wait{}, Shared: cl.opts.shared,
		Into: res, Decode: decode,
	}
	asked.Send = func(ctx context.Context) (raw json.RawMessage, own bool, err error) {
		raw, err = c.send(ctx, cl)
		if cl.Caller != nil {
			asked.Caller = cl.Caller
		}
		if err != nil {
			return nil, cl.Asked.Rounds() > 0, err
		}
		return raw, cl.Round != nil, nil
	}
	size, freshness, err := c.lists().Answer(ctx, asked)
	cl.opts.addFreshness(freshness)
	return size, err
}

// private reports whether a result must not be cached: members of _meta may change it, and
// a state is good for one call only.
func (o *ownOptions) private() bool {
	return o.cache == CacheBypass || o.meta != nil || o.input != nil
}

// WithFreshness reports how fresh an answer is. It stores the [toolcache.Freshness]
// of a list call, ReadResource or [Client.GetToolSchema] in into. Only a cache that
// may serve stale answers sets Stale. For a list of several pages, and for several
// calls with the same into, the stalest value is kept.
func WithFreshness(into *toolcache.Freshness) CallOption {
	return callOptionFunc(func(o *callOptions) { o.freshness = into })
}

// addFreshness stores st unless a staler value is stored.
func (o *ownOptions) addFreshness(st toolcache.Freshness) {
	if o.freshness == nil {
		return
	}
	o.freshness.Stale = o.freshness.Stale || st.Stale
	o.freshness.Age = max(o.freshness.Age, st.Age)
	if st.Cause != nil {
		o.freshness.Cause = st.Cause
	}
}

// CacheStatus describes the list of tools in the schema cache; ok is false if
// none was ever fetched. A list that was invalidated, for example after a lost
// session, is reported as not fresh. CacheStatus does no I/O.
func (c *Client) CacheStatus() (st toolcache.Status, ok bool) { return c.lists().Status() }
