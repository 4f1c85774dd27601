package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/notify"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// CacheMode says what becomes of results that a client may keep: the list of
// tools, which is as fresh as the schema cache that [Client.GetToolSchema] reads,
// and in the stateless era, where servers say how long, the lists of prompts,
// resources and templates, and resources.
type CacheMode uint8

const (
	// CacheUse answers from the cache while the server lets it.
	CacheUse CacheMode = iota
	// CacheRefresh asks the server and keeps what it says.
	CacheRefresh
	// CacheBypass asks the server and leaves the cache alone.
	CacheBypass
)

// WithCache sets the [CacheMode] of one call; the default is [CacheUse]
// .
func WithCache(mode CacheMode) CallOption {
	return callOptionFunc(func(o *callOptions) { o.cache = mode })
}

// cachedCall is send for requests whose result the server may let us keep: it
// answers from the cache while it may, one request is under way for all who
// want the same, and what the server lets us keep is kept (CACHE-01 to
// CACHE-10). param is what the result depends on besides the method, "" for
// nothing: the URI of resources/read, [pageParam] of a list. The result is
// decoded into res, which shares its memory; it is the caller's to change unless
// the call's options say that it is not (shared). size is that of the result.
// Methods that are never kept are sent as by send.
func (c *Client) cachedCall(ctx context.Context, cl *call, param string, res any) (size int, err error) {
	agreed := c.live.Agreed()
	if !c.keeps(cl.method, agreed.Era) || cl.opts.cache == CacheBypass || cl.meta != nil || cl.opts.meta != nil || cl.opts.input != nil || cl.opts.manualInput {
		// What the caller says in _meta may change the result, and a state is
		// for one call only (MRTR-06).
		raw, err := c.send(ctx, cl)
		if err != nil {
			return 0, err
		}
		return len(raw), c.decode(cl, raw, res)
	}
	key := toolcache.ResponseKey{Key: c.cacheKey(ctx), Method: cl.method, Param: param}
	asked := false
	raw, freshness, err := c.cache().Response(ctx, key, cl.opts.cache == CacheRefresh, func(ctx context.Context) (toolcache.Response, error) {
		raw, err := c.send(ctx, cl)
		switch {
		case err == nil:
			// Decoded here, because how long it may be kept is in it; what cannot
			// be decoded is not kept.
			asked = true
			if err := c.decode(cl, raw, res); err != nil {
				return toolcache.Response{}, err
			}
			// What answered a question of the server's is this caller's alone
			// (CACHE-09).
			return toolcache.Response{Result: raw, TTL: c.timeToLive(agreed.Era, res), Own: cl.round != nil, Shared: cl.opts.shared}, nil
		case mcperrors.KindOf(err) == mcperrors.KindAuth:
			err = marked(err) // whoever's call it was: what is kept is for nobody (CACHE-11)
		case ctx.Err() != nil, cl.opts.timesSet, mcperrors.KindOf(err) == mcperrors.KindClosed, cl.asked.Rounds() > 0:
			err = fmt.Errorf("%w: %w", toolcache.ErrFetcherGone, err)
		case mcperrors.KindOf(err) == mcperrors.KindInvalidArguments && param != "" && cl.method != mcp.MethodResourcesRead:
			// A cursor of a list that has changed: the next walk begins anew.
			c.cache().Forget(key.Key, key.Method)
		default:
			err = marked(err)
		}
		return toolcache.Response{}, err
	})
	cl.opts.addFreshness(freshness)
	if err != nil {
		var already *mcperrors.Error
		if errors.As(err, &already) {
			own := *already // others may have been given the same
			return 0, &own
		}
		return 0, c.about(cl.subject(), errormap.From(err, mcperrors.NotSent))
	}
	if !asked {
		err = c.decode(cl, raw, res)
	}
	return len(raw), err
}

// WithFreshness reports how fresh an answer is. It stores the [toolcache.Freshness]
// of a list call, ReadResource or [Client.GetToolSchema] in into. Only a cache that
// may serve stale answers sets Stale. For a list of several pages, and for several
// calls with the same into, the stalest value is kept.
func WithFreshness(into *toolcache.Freshness) CallOption {
	return callOptionFunc(func(o *callOptions) { o.freshness = into })
}

// addFreshness keeps the worse of what is known and st.
func (o *callOptions) addFreshness(st toolcache.Freshness) {
	if o.freshness == nil {
		return
	}
	o.freshness.Stale = o.freshness.Stale || st.Stale
	o.freshness.Age = max(o.freshness.Age, st.Age)
	if st.Cause != nil {
		o.freshness.Cause = st.Cause
	}
}

// marked tells the cache what an error means for what it keeps.
func marked(err error) error {
	switch mcperrors.KindOf(err) {
	case mcperrors.KindClosed:
		// Others may share this fetch, who are not closed.
		return fmt.Errorf("%w: %w", toolcache.ErrFetcherGone, err)
	case mcperrors.KindAuth:
		return fmt.Errorf("%w: %w", toolcache.ErrRefused, err)
	case mcperrors.KindUnsupported:
		// Not the 501 of a gateway, which may be gone in a moment.
		if code := mcperrors.CodeOf(err); code == mcperrors.CodeToolNotFound || code == mcperrors.CodeMissingCapability {
			return fmt.Errorf("%w: %w", toolcache.ErrAbsent, err)
		}
	default:
	}
	return err
}

// unreachable reports the errors for which an old list may stand in: nobody knows
// what the server would have said. An answer of the server's is no such error; a
// status alone may be a gateway's.
func unreachable(err error) bool {
	var e *mcperrors.Error
	if errors.As(err, &e) && e.RPC == nil && e.HTTP != nil {
		return e.HTTP.Status == http.StatusTooManyRequests || e.HTTP.Status >= http.StatusInternalServerError
	}
	switch mcperrors.KindOf(err) {
	case mcperrors.KindTransport, mcperrors.KindTimeout, mcperrors.KindCircuitOpen, mcperrors.KindSessionLost, mcperrors.KindOverloaded:
		return true
	default:
		return false
	}
}

// decode reads the result of a call, whose message was found valid when it came.
func (c *Client) decode(cl *call, raw json.RawMessage, res any) error {
	if err := mcp.UnmarshalValid(raw, res); err != nil {
		return c.undecodable(cl.subject(), err)
	}
	return nil
}

// keeps reports the methods whose results are kept: the list of tools, and others
// where servers say how long, or where an old result may stand in for a new one.
// What server/discover says is held while connected.
func (c *Client) keeps(method string, era mcp.Era) bool {
	switch method {
	case mcp.MethodToolsList:
		return true
	case mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodResourcesRead:
		return era == mcp.EraStateless || c.cache().ServesStale()
	}
	return false
}

// timeToLive is how long a result may be kept, nil for not at all. A page of tools
// is as fresh as the schema cache, which has a time of its own where the server
// names none; what servers of the session era name does not count (CACHE-03).
func (c *Client) timeToLive(era mcp.Era, res any) *time.Duration {
	var ttl *time.Duration
	if era == mcp.EraStateless {
		ttl = ttlOf(res)
	}
	if _, tools := res.(*mcp.ListToolsResult); tools && ttl == nil {
		own := c.cache().TTL()
		ttl = &own
	}
	return ttl
}

// pageParam is what a page of a list depends on: its cursor, which may be
// empty (UTIL-13).
func pageParam(cursor *string) string {
	if cursor == nil {
		return ""
	}
	return "cursor " + *cursor
}

// ttlOf is how long a result may be kept, nil when it does not say.
func ttlOf(res any) *time.Duration {
	var ms *int64
	switch res := res.(type) {
	case *mcp.ListToolsResult:
		ms = res.TTLMs
	case *mcp.ListPromptsResult:
		ms = res.TTLMs
	case *mcp.ListResourcesResult:
		ms = res.TTLMs
	case *mcp.ListResourceTemplatesResult:
		ms = res.TTLMs
	case *mcp.ReadResourceResult:
		ms = res.TTLMs
	}
	if ms == nil {
		return nil
	}
	return milliseconds(*ms)
}

func milliseconds(ms int64) *time.Duration {
	d := time.Duration(min(max(ms, 0), math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	return &d
}

// freshness is how long a list of several pages is fresh: as long as the page
// that goes first (CACHE-10).
type freshness struct {
	said  bool
	until time.Time
}

// note notes a page that has just come; nil is one that says nothing.
func (f *freshness) note(ttlMs *int64) {
	if ttlMs == nil {
		return
	}
	if until := time.Now().Add(*milliseconds(*ttlMs)); !f.said || until.Before(f.until) {
		f.said, f.until = true, until
	}
}

// left is how long the list is still fresh, nil when no page said.
func (f *freshness) left() *time.Duration {
	if !f.said {
		return nil
	}
	left := max(0, time.Until(f.until))
	return &left
}

// outdate drops from the cache what a notification says has changed (CACHE-08).
func (c *Client) outdate(n jsonrpc.Notification) {
	if n.Method != mcp.MethodResourcesUpdated && !notify.ListChanged(n.Method) {
		return
	}
	for _, key := range c.cacheKeys() {
		c.outdateOf(key, n)
	}
}

// outdateOf is outdate for one caller.
func (c *Client) outdateOf(key toolcache.Key, n jsonrpc.Notification) {
	switch n.Method {
	case mcp.MethodToolsListChanged:
		c.cache().Changed(key)
		c.cache().Outdate(key, mcp.MethodToolsList)
	case mcp.MethodPromptsListChanged:
		c.cache().Outdate(key, mcp.MethodPromptsList)
	case mcp.MethodResourcesListChanged:
		c.cache().Outdate(key, mcp.MethodResourcesList)
		c.cache().Outdate(key, mcp.MethodResourceTemplatesList)
	case mcp.MethodResourcesUpdated:
		var p mcp.ResourceUpdatedParams
		if mcp.Unmarshal([]byte(n.Params), &p) == nil {
			c.cache().ForgetOne(toolcache.ResponseKey{Key: key, Method: mcp.MethodResourcesRead, Param: p.URI})
		}
	}
}

// CacheStatus returns how the list of tools stands in the schema cache; ok is
// false when none was ever fetched. One that was dropped since, as when the server
// was lost and found again, is there and not fresh. It does no I/O.
func (c *Client) CacheStatus() (st toolcache.Status, ok bool) {
	return c.cache().Status(c.live.Agreed().Key)
}

// forgetAll drops everything that is kept of the server: after a way to it was
// lost and found again, and when the credentials change (AUTH-26).
func (c *Client) forgetAll() {
	for _, key := range c.cacheKeys() {
		c.cache().Clear(key)
	}
}

// keyOf makes the key of what was agreed: results may differ by revision and by
// what this client can do (CACHE-04), and by who is asking (CACHE-05).
func (c *Client) keyOf(a *link.Agreement) toolcache.Key {
	declared := c.cfg.offer.Capabilities(a.Version)
	// Capabilities that cannot be encoded were never sent.
	encoded, _ := mcp.Marshal(&declared)
	digest := sha256.Sum256(encoded)
	key := toolcache.Key{Server: c.identity, Variant: string(a.Version) + " " + hex.EncodeToString(digest[:8])}
	if c.whose != nil {
		key.Partition = c.whose.partition
	}
	return key
}

// partitionOf says who asks: what the options call it, else what the transport
// knows of it. Only a cache that others see needs to know (CACHE-05).
func (c *config) partitionOf(t transport.Transport) (string, error) {
	durable := c.cache != nil && c.cache.Durable() || c.cacheSet != nil && c.cacheSet.Durable != nil
	switch scoped, ok := t.(transport.CredentialScoped); {
	case c.partition != nil:
		return *c.partition, nil
	case !ok || c.cache == nil && !durable:
		return "", nil
	default:
		scope, known := scoped.Scope()
		if !known && durable {
			return "", errors.New("a durable tool cache and a RoundTripper need WithCachePartition: the round tripper may add credentials, and what is kept for one caller is not for another")
		}
		return scope, nil
	}
}

// identity names the server behind a transport.
func identity(t transport.Transport) string {
	if t, ok := t.(transport.Identified); ok {
		return t.Identity()
	}
	return t.String()
}
