package cache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/toolcache"
)

const (
	// maxResponses and maxResponseBytes limit the cached results of all keys; the least recently
	// used are removed first.
	maxResponses     = 1024
	maxResponseBytes = 32 << 20
	// maxResponse limits one result: a larger one would evict all others.
	maxResponse = maxResponseBytes / 8
)

// ResponseKey identifies the request of a cached result.
type ResponseKey struct {
	Key    Key
	Method string
	// Param is the parameter that the result depends on: a cursor or a URI. It is
	// empty for the first page of a list.
	Param string
}

// Response is the unchanged result of a request.
type Response struct {
	Result []byte
	// TTL is the time to live that the server sets. nil means that the result is
	// not cached.
	TTL *time.Duration
	// Own means that the result is for this caller only: it is not cached, and not
	// returned to other callers.
	Own bool
	// Shared means that the caller of [Cache.Response] does not change the bytes,
	// so that the cache need not copy them.
	Shared bool
}

// Ask asks the server. Return an error that matches [ErrFetcherGone] if it
// concerns only this caller.
type Ask func(ctx context.Context) (Response, error)

// responses keeps the results of all keys. Its zero value is ready for use.
type responses struct {
	mu     sync.Mutex
	kept   recent[ResponseKey, *response]
	bytes  int                     // total size of kept
	asking map[ResponseKey]*asking // requests in flight; nil for none
	paces  recent[methodOf, *pace]
}

// response is a cached result, or the cached error err. Its bytes are never changed.
type response struct {
	*text
	err error
	// lease of the first page of a list ends with the page that expires first.
	lease lease
	// pages are the cursors of the other cached pages, for the first page of a list.
	pages []string
}

// asking is a request in flight. Its outcome is set before done is closed; the mutex of responses
// guards outdated.
type asking struct {
	done     chan struct{}
	resp     Response
	err      error
	pace     *pace // for the first page of a list, else nil
	begun    bool  // the request was sent, after its pause
	outdated bool  // the list has changed since the request was sent
}

// methodOf is a list for which the server may send change notifications.
type methodOf struct {
	key    Key
	method string
}

// pace is when the first page of a list was last requested because of a notification, and whether
// a notification came since.
type pace struct {
	asked   time.Time
	changed bool
}

// Response returns the cached result for key. If there is none, or it has
// expired, Response calls ask. refresh skips the cached result. One request is
// in flight for a key at a time: other callers wait for it within their own
// contexts. Errors are not cached, except [ErrAbsent]. The caller owns the
// bytes, unless ask sets [Response.Shared].
//
// Response calls ask on the caller's goroutine with the caller's context. If
// that fails for this caller only, another caller that waits calls its own ask.
//
// [toolcache.Settings.ServeStale] also applies to results; see the returned [toolcache.Freshness].
func (c *Cache) Response(ctx context.Context, key ResponseKey, refresh bool, ask Ask) ([]byte, toolcache.Freshness, error) {
	for {
		e, a, mine, wait := c.responses.join(key, refresh)
		switch {
		case e != nil && e.err != nil:
			return nil, toolcache.Freshness{}, e.err
		case e != nil:
			return bytes.Clone(e.bytes), toolcache.Freshness{Age: e.lease.age(time.Now())}, nil
		case mine:
			result, err := c.ask(ctx, key, a, wait, ask)
			if err != nil && ctx.Err() == nil {
				return c.instead(key, refresh, err)
			}
			return result, toolcache.Freshness{}, err
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			return nil, toolcache.Freshness{}, ended(ctx)
		}
		switch {
		case a.err == nil && !a.resp.Own:
			return bytes.Clone(a.resp.Result), toolcache.Freshness{}, nil
		case a.err == nil:
			resp, err := ask(ctx)
			return resp.Result, toolcache.Freshness{}, err
		case !errors.Is(a.err, ErrFetcherGone):
			return c.instead(key, refresh, a.err)
		}
	}
}

// instead returns a stale result for a failed request if that is allowed, else the error.
func (c *Cache) instead(key ResponseKey, refresh bool, err error) ([]byte, toolcache.Freshness, error) {
	e, ok := c.responses.last(key)
	now := time.Now()
	if !ok || e.err != nil || refresh || !c.set.ServeStale || errors.Is(err, ErrFetcherGone) ||
		!c.mayReplace(err) || e.lease.over(now) > maxStale {
		return nil, toolcache.Freshness{Cause: err}, err
	}
	return bytes.Clone(e.bytes), toolcache.Freshness{Stale: true, Age: e.lease.age(now), Cause: err}, nil
}

// last returns the cached result of key, even if it has expired.
func (r *responses) last(key ResponseKey) (response, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.kept.peek(key)
	if !ok {
		return response{}, false
	}
	return *e, true
}

// Forget drops the cached results of a method: all pages of a list, or all resources. It also
// drops the results of requests in flight.
func (c *Cache) Forget(key Key, method string) {
	c.responses.forget(func(k ResponseKey) bool { return k.Key == key && k.Method == method })
}

// Outdate is [Cache.Forget] for notifications of the server, which may be frequent. Requests for
// the first page are at least a second apart; callers wait for the next one.
func (c *Cache) Outdate(key Key, method string) {
	r := &c.responses
	r.mu.Lock()
	if p, ok := r.paces.get(methodOf{key, method}); ok {
		p.changed = true
	}
	r.mu.Unlock()
	c.Forget(key, method)
}

// ForgetOne drops one result, as [Cache.Forget] does.
func (c *Cache) ForgetOne(key ResponseKey) {
	r := &c.responses
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(key)
}

// Clear drops every result of key, and makes its list of tools stale. Use it after a connection
// was lost, because the next connection may lead to another server.
func (c *Cache) Clear(key Key) {
	c.Invalidate(key)
	c.responses.forget(func(k ResponseKey) bool { return k.Key == key })
}

// join returns the cached result, or the request in flight, or starts a request. Then mine is
// true, and the request is to be sent after wait.
func (r *responses) join(key ResponseKey, refresh bool) (e *response, a *asking, mine bool, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if e, ok := r.kept.get(key); ok && !refresh && e.lease.holds(now) {
		return e, nil, false, 0
	}
	a = r.asking[key]
	if a != nil && !refresh {
		return nil, a, false, 0
	}
	if a != nil {
		a.outdated = true // the new request is more recent
	}
	a = &asking{done: make(chan struct{}), err: ErrFetcherGone}
	if r.asking == nil {
		r.asking = map[ResponseKey]*asking{}
	}
	r.asking[key] = a
	if key.Param == "" && isList(key.Method) {
		a.pace = r.paceOf(methodOf{key.Key, key.Method})
		if a.pace.changed && !refresh {
			wait = minInterval - now.Sub(a.pace.asked)
		}
	}
	if wait <= 0 {
		a.begin(now)
	}
	return nil, a, true, wait
}

// paceOf returns the pace of a list. Requires r.mu.
func (r *responses) paceOf(list methodOf) *pace {
	p, ok := r.paces.get(list)
	if !ok {
		p = &pace{}
		r.paces.add(list, p)
		if oldest, _ := r.paces.oldest(); r.paces.len() > maxResponses {
			r.paces.take(oldest)
		}
	}
	return p
}

// answered removes a request that is no longer in flight. Requires r.mu.
func (r *responses) answered(key ResponseKey) {
	delete(r.asking, key)
	if len(r.asking) == 0 {
		r.asking = nil // a map does not shrink
	}
}

// isList reports whether a method returns a list, for which a server can send change
// notifications. Results of other methods have a key for each parameter.
func isList(method string) bool { return strings.HasSuffix(method, "/list") }

// ask sends the request, stores the result and wakes the waiters.
func (c *Cache) ask(ctx context.Context, key ResponseKey, a *asking, wait time.Duration, ask Ask) ([]byte, error) {
	var mine []byte
	defer func() {
		kept := &text{a.resp.Result}
		if a.err == nil && !a.resp.Own && isList(key.Method) {
			kept = texts.one(kept)
		}
		r := &c.responses
		r.mu.Lock()
		if r.asking[key] == a {
			r.answered(key)
		}
		switch {
		case errors.Is(a.err, ErrRefused): // even if the list has changed
			r.remove(ResponseKey{Key: key.Key, Method: key.Method})
			r.remove(key)
		case a.outdated:
		case a.err == nil && !a.resp.Own:
			r.keep(key, &response{text: kept, lease: newLease(time.Now(), c.set.spread(c.set.responseTTL(a.resp.TTL)))}, c.set.ServeStale)
		case errors.Is(a.err, ErrAbsent) && !errors.Is(a.err, ErrFetcherGone):
			r.keep(key, &response{text: &text{}, err: a.err, lease: newLease(time.Now(), absentTTL)}, false)
		}
		r.mu.Unlock()
		close(a.done)
	}()
	if wait > 0 {
		if err := c.responses.await(ctx, a, wait); err != nil {
			a.err = fmt.Errorf("%w: %w", ErrFetcherGone, err)
			return nil, err
		}
	}
	a.err = ErrFetcherGone // in case ask panics or calls runtime.Goexit
	resp, err := ask(ctx)
	mine = resp.Result
	if err == nil && !resp.Own && !resp.Shared {
		resp.Result = bytes.Clone(resp.Result) // the caller may change mine
	}
	a.resp, a.err = resp, err
	return mine, err
}

// await waits until the request may be sent.
func (r *responses) await(ctx context.Context, a *asking, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ended(ctx)
	}
	r.mu.Lock()
	a.begin(time.Now())
	r.mu.Unlock()
	return nil
}

// begin records that the request is sent now, which covers earlier notifications. Requires the
// mutex of responses.
func (a *asking) begin(now time.Time) {
	a.begun = true
	if a.pace != nil && a.pace.changed {
		a.pace.asked, a.pace.changed = now, false
	}
}

// keep caches a result for its lease, or longer if it may be returned instead of an error later.
// Requires r.mu.
func (r *responses) keep(key ResponseKey, e *response, longer bool) {
	r.remove(key)
	if (e.lease.ttl <= 0 && !longer) || len(e.bytes) > maxResponse {
		return
	}
	if _, ok := r.kept.peek(ResponseKey{Key: key.Key, Method: key.Method}); !ok && key.Param != "" && isList(key.Method) {
		return // it would be mixed with the pages of the next list
	}
	r.bytes += len(e.bytes)
	r.kept.add(key, e)
	for r.bytes > maxResponseBytes || r.kept.len() > maxResponses {
		oldest, _ := r.kept.oldest()
		r.remove(oldest)
	}
	if first, ok := r.kept.peek(ResponseKey{Key: key.Key, Method: key.Method}); ok && key.Param != "" {
		if !slices.Contains(first.pages, key.Param) {
			first.pages = append(first.pages, key.Param)
		}
		if left := e.lease.at.Sub(first.lease.at) + e.lease.ttl; left < first.lease.ttl {
			first.lease.ttl = left
		}
	}
}

// remove removes a result. With the first page of a list it removes the others, since the next
// request starts a new list. Requires r.mu.
func (r *responses) remove(key ResponseKey) {
	e, ok := r.kept.take(key)
	if !ok {
		return
	}
	r.bytes -= len(e.bytes)
	for _, page := range e.pages {
		r.remove(ResponseKey{Key: key.Key, Method: key.Method, Param: page})
	}
}

// drop removes a result and outdates the request in flight. Requires r.mu.
func (r *responses) drop(key ResponseKey) {
	r.remove(key)
	if a := r.asking[key]; a != nil && a.begun {
		a.outdated = true
		r.answered(key)
	}
}

func (r *responses) forget(match func(ResponseKey) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range r.kept.keys() {
		if match(key) {
			r.drop(key)
		}
	}
	for key := range r.asking {
		if match(key) {
			r.drop(key)
		}
	}
}
