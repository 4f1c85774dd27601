package lists

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// Request is a request whose result may be cached.
type Request struct {
	Method string
	// Caller is the caller of the request. Send sets it to the caller that was answered.
	Caller *transport.Caller
	// Param is what the result depends on besides the method: the URI of a resource, [PageParam]
	// of a list, "" for nothing.
	Param string
	// Refresh asks the server, and caches the answer.
	Refresh bool
	// OwnTimes is set if the request has its own timeouts: other callers that wait for its result
	// do not fail with it.
	OwnTimes bool
	// Shared is set if nobody changes the result, so that it is cached without a copy.
	Shared bool
	// Decode decodes the result into Into. Into shares the memory of the result.
	Into   any
	Decode func(result json.RawMessage) error
	// Send sends the request. own reports that the server asked for input first, so its answer is
	// for this caller only.
	Send func(ctx context.Context) (result json.RawMessage, own bool, err error)
}

// Keeps reports whether results of a method are cached: the list of tools, and others if the
// server sends a TTL, or if a stale result may replace an error. The result of server/discover
// belongs to the connection.
func (c *Cache) Keeps(method string) bool {
	switch method {
	case mcp.MethodToolsList:
		return true
	case mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodResourcesRead:
		return c.Links.Agreed().Era == mcp.EraStateless || c.Kept.ServesStale()
	}
	return false
}

// Answer decodes the result of a request, from the cache while it is fresh, and returns its size.
// Callers with the same request share one in flight.
func (c *Cache) Answer(ctx context.Context, r *Request) (size int, fresh toolcache.Freshness, err error) {
	era := c.Links.Agreed().Era
	key := cache.ResponseKey{Key: c.Key(r.Caller), Method: r.Method, Param: r.Param}
	decoded := false
	raw, fresh, err := c.Kept.Response(ctx, key, r.Refresh, func(ctx context.Context) (cache.Response, error) {
		raw, own, err := r.Send(ctx)
		if err != nil {
			return cache.Response{}, c.sendError(ctx, r, key.Key, own, err)
		}
		// The result is decoded here because the TTL is one of its members. A result that cannot be decoded is
		// not cached.
		decoded = true
		if err := r.Decode(raw); err != nil {
			return cache.Response{}, err
		}
		// A login during the request changes the caller that the result belongs to.
		own = own || c.Key(r.Caller).Partition != key.Key.Partition
		return cache.Response{Result: raw, TTL: c.timeToLive(era, r.Into), Own: own, Shared: r.Shared}, nil
	})
	if err != nil {
		return 0, fresh, c.callerError(err, r.Method)
	}
	if !decoded {
		err = r.Decode(raw)
	}
	return len(raw), fresh, err
}

// sendError marks the error of a request with its effect on other callers.
func (c *Cache) sendError(ctx context.Context, r *Request, key cache.Key, own bool, err error) error {
	kind := mcperrors.KindOf(err)
	switch {
	case kind == mcperrors.KindAuth:
		return Mark(err) // for every caller: the cached result is not returned
	case ctx.Err() != nil, r.OwnTimes, kind == mcperrors.KindClosed, own:
		return OnlyCaller(err)
	case kind == mcperrors.KindInvalidArguments && r.Param != "" && r.Method != mcp.MethodResourcesRead:
		// The list has changed, so the cursor is unknown: the next walk starts over.
		c.Kept.Forget(key, r.Method)
		return err
	}
	return Mark(err)
}

// callerError returns the error for one caller from an error of the cache.
func (c *Cache) callerError(err error, method string) error {
	if own := CopyOf(err); own != nil {
		return own
	}
	return c.Local(err, method)
}

// CopyOf returns a copy of the error of a request that several callers share, nil if err has
// none.
func CopyOf(err error) *mcperrors.Error {
	var shared *mcperrors.Error
	if !errors.As(err, &shared) {
		return nil
	}
	own := *shared
	return &own
}

// OnlyCaller marks an error that affects only the caller whose request failed.
func OnlyCaller(err error) error { return fmt.Errorf("%w: %w", cache.ErrFetcherGone, err) }

// Mark marks an error with its effect on the cached values.
func Mark(err error) error {
	switch mcperrors.KindOf(err) {
	case mcperrors.KindClosed:
		return OnlyCaller(err) // other clients may share this fetch
	case mcperrors.KindAuth:
		return fmt.Errorf("%w: %w", cache.ErrRefused, err)
	case mcperrors.KindUnsupported:
		// A 501 of a gateway may be temporary, and is not marked.
		if code := mcperrors.CodeOf(err); code == mcperrors.CodeToolNotFound || code == mcperrors.CodeMissingCapability {
			return fmt.Errorf("%w: %w", cache.ErrAbsent, err)
		}
	default:
	}
	return err
}

// PageParam returns the Param of a page of a list: its cursor, which may be empty.
func PageParam(cursor *string) string {
	if cursor == nil {
		return ""
	}
	return "cursor " + *cursor
}

// timeToLive returns how long a result may be cached, nil for not at all. A page of tools is as
// fresh as the schema cache, which has its own TTL if the server sets none. TTLs that servers of
// the session era set are ignored.
func (c *Cache) timeToLive(era mcp.Era, result any) *time.Duration {
	var ttl *time.Duration
	if era == mcp.EraStateless {
		ttl = ttlOf(result)
	}
	if _, tools := result.(*mcp.ListToolsResult); tools && ttl == nil {
		own := c.Kept.TTL()
		ttl = &own
	}
	return ttl
}
