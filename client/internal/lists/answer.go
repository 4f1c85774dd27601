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

// Request is a request whose result may be kept.
type Request struct {
	Method string
	// Caller is who asks. Send sets it to who was answered.
	Caller *transport.Caller
	// Param is what the result depends on besides the method: the URI of a resource,
	// [PageParam] of a list. It is empty for nothing.
	Param string
	// Refresh asks the server and keeps what it answers.
	Refresh bool
	// OwnTimes says that the request has times of its own: callers that wait for its
	// result do not fail with it.
	OwnTimes bool
	// Shared says that nobody changes the result, so that it is kept without a copy.
	Shared bool
	// Into is what Decode decodes the result into. It shares the memory of the result.
	Into   any
	Decode func(result json.RawMessage) error
	// Send asks the server. own reports that the server asked questions first: what it
	// answered then is for this caller alone.
	Send func(ctx context.Context) (result json.RawMessage, own bool, err error)
}

// Keeps reports whether results of a method are kept: the list of tools, and others
// if servers say how long, or if an old result may replace a new one. What
// server/discover answers belongs to the connection.
func (c *Cache) Keeps(method string) bool {
	switch method {
	case mcp.MethodToolsList:
		return true
	case mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourceTemplatesList, mcp.MethodResourcesRead:
		return c.Links.Agreed().Era == mcp.EraStateless || c.Kept.ServesStale()
	}
	return false
}

// Answer decodes the result of a request, from the cache while the server lets us, and
// returns its size. One request is in flight for all callers that want the same.
func (c *Cache) Answer(ctx context.Context, r *Request) (size int, fresh toolcache.Freshness, err error) {
	era := c.Links.Agreed().Era
	key := cache.ResponseKey{Key: c.Key(r.Caller), Method: r.Method, Param: r.Param}
	decoded := false
	raw, fresh, err := c.Kept.Response(ctx, key, r.Refresh, func(ctx context.Context) (cache.Response, error) {
		raw, own, err := r.Send(ctx)
		if err != nil {
			return cache.Response{}, c.sendError(ctx, r, key.Key, own, err)
		}
		// Decoded here, because how long it may be kept is in it; what cannot be
		// decoded is not kept.
		decoded = true
		if err := r.Decode(raw); err != nil {
			return cache.Response{}, err
		}
		// Who logged in meanwhile is another caller than the one that is kept for.
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

// sendError tells the cache what it means for other callers that a request failed.
func (c *Cache) sendError(ctx context.Context, r *Request, key cache.Key, own bool, err error) error {
	kind := mcperrors.KindOf(err)
	switch {
	case kind == mcperrors.KindAuth:
		return Mark(err) // for every caller: what is kept is for nobody
	case ctx.Err() != nil, r.OwnTimes, kind == mcperrors.KindClosed, own:
		return OnlyCaller(err)
	case kind == mcperrors.KindInvalidArguments && r.Param != "" && r.Method != mcp.MethodResourcesRead:
		// A cursor of a list that has changed: the next walk starts over.
		c.Kept.Forget(key, r.Method)
		return err
	}
	return Mark(err)
}

// callerError makes one caller's error of the cache's.
func (c *Cache) callerError(err error, method string) error {
	if own := CopyOf(err); own != nil {
		return own
	}
	return c.Local(err, method)
}

// CopyOf returns a copy of the error of a request that several callers share, nil if
// err is none.
func CopyOf(err error) *mcperrors.Error {
	var shared *mcperrors.Error
	if !errors.As(err, &shared) {
		return nil
	}
	own := *shared
	return &own
}

// OnlyCaller marks an error that concerns only the caller whose request failed.
func OnlyCaller(err error) error { return fmt.Errorf("%w: %w", cache.ErrFetcherGone, err) }

// Mark tells the cache what an error means for what it keeps.
func Mark(err error) error {
	switch mcperrors.KindOf(err) {
	case mcperrors.KindClosed:
		return OnlyCaller(err) // others may share this fetch, who are not closed
	case mcperrors.KindAuth:
		return fmt.Errorf("%w: %w", cache.ErrRefused, err)
	case mcperrors.KindUnsupported:
		// Not the 501 of a gateway, which may be gone in a moment.
		if code := mcperrors.CodeOf(err); code == mcperrors.CodeToolNotFound || code == mcperrors.CodeMissingCapability {
			return fmt.Errorf("%w: %w", cache.ErrAbsent, err)
		}
	default:
	}
	return err
}

// PageParam returns what a page of a list depends on: its cursor, which may be empty.
func PageParam(cursor *string) string {
	if cursor == nil {
		return ""
	}
	return "cursor " + *cursor
}

// timeToLive returns how long a result may be kept, nil for not at all. A page of
// tools is as fresh as the schema cache, which has a time of its own if the server
// sets none. Times that servers of the session era set do not count.
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
