package toolcache

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// maxResponses and maxResponseBytes bound the results that are kept over
	// all keys; those not used for longest go first (CACHE-14).
	maxResponses     = 1024
	maxResponseBytes = 32 << 20
	// maxResponse bounds one result: a larger one would drive out the rest.
	maxResponse = maxResponseBytes / 8
)

// ResponseKey says what a result is the answer to (CACHE-04).
type ResponseKey struct {
	Key    Key
	Method string
	// Param is the parameter that the result depends on, a cursor or a URI. ""
	// is the first page of a list.
	Param string
}

// Response is a result as it came.
type Response struct {
	Result []byte
	// TTL is how long the server lets it be used; nil, when the server does
	// not say, is not at all (CACHE-02).
	TTL *time.Duration
	// Own says that the result is the asker's alone: it is not kept, and not
	// handed to others who asked the same meanwhile (CACHE-09).
	Own bool
	// Shared says that the asker does not change the result, so that what is
	// kept need not be a copy of it.
	Shared bool
}

// Ask asks the server. An error that is the asker's alone matches
// [ErrFetcherGone].
type Ask func(ctx context.Context) (Response, error)

// responses keeps the results of all keys. Its containers are made when needed.
type responses struct {
	mu     sync.Mutex
	kept   *lru.Cache[ResponseKey, *response]
	bytes  int // of the results that are kept
	asking map[ResponseKey]*asking
}

// response is a result that is kept. Its bytes are never changed.
type response struct {
	result []byte
	// until is the first instant at which it is not used any more. The first
	// page of a list goes with the page that goes first (CACHE-10).
	until time.Time
	// pages are the other pages that are kept, for the first page of a list.
	pages []string
}

// asking is a request under way. What came of it is set before done is closed;
// outdated is guarded by the mutex of responses.
type asking struct {
	done     chan struct{}
	resp     Response
	err      error
	outdated bool // something changed since it was asked
}

// lock locks r, which is ready then.
func (r *responses) lock() {
	r.mu.Lock()
	if r.kept == nil {
		r.asking = make(map[ResponseKey]*asking)
		// The error is for sizes below one only. Evictions happen under r.mu.
		r.kept, _ = lru.NewWithEvict(maxResponses, func(_ ResponseKey, e *response) { r.bytes -= len(e.result) })
	}
}

// Response returns the result that is kept for key while the server lets it be
// used, else asks. One request is under way for a key, and whoever wants the
// same waits for it within its own context; errors are not kept. refresh asks
// whatever is kept. The bytes are the caller's, unless its Ask says that they
// are [Response.Shared].
//
// Ask runs on the caller's goroutine with the caller's context. When it fails
// for the caller alone, another who waits asks for itself.
func (c *Cache) Response(ctx context.Context, key ResponseKey, refresh bool, ask Ask) ([]byte, error) {
	for {
		result, a, mine := c.responses.join(key, refresh)
		switch {
		case result != nil:
			return bytes.Clone(result), nil
		case mine:
			return c.ask(ctx, key, a, ask)
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			return nil, ended(ctx)
		}
		switch {
		case a.err == nil && !a.resp.Own:
			return bytes.Clone(a.resp.Result), nil
		case a.err == nil:
			resp, err := ask(ctx)
			return resp.Result, err
		case !errors.Is(a.err, ErrFetcherGone):
			return nil, a.err
		}
	}
}

// Forget drops what is kept for a method, all pages of a list or all resources,
// and what is on its way for it (CACHE-08).
func (c *Cache) Forget(key Key, method string) {
	c.responses.forget(func(k ResponseKey) bool { return k.Key == key && k.Method == method })
}

// ForgetOne drops one result; see [Cache.Forget].
func (c *Cache) ForgetOne(key ResponseKey) {
	r := &c.responses
	r.lock()
	defer r.mu.Unlock()
	r.drop(key)
}

// Clear drops every result of key, and makes its list of tools stale: what a
// server said before it was lost may not be true of the one that is found.
func (c *Cache) Clear(key Key) {
	c.Invalidate(key)
	c.responses.forget(func(k ResponseKey) bool { return k.Key == key })
}

// join returns what is kept, else the request under way, else begins one, which
// is mine.
func (r *responses) join(key ResponseKey, refresh bool) (result []byte, a *asking, mine bool) {
	r.lock()
	defer r.mu.Unlock()
	if e, ok := r.kept.Get(key); ok && !refresh {
		if time.Now().Before(e.until) {
			return e.result, nil, false
		}
	}
	a = r.asking[key]
	if a != nil && !refresh {
		return nil, a, false
	}
	if a != nil {
		a.outdated = true // what is asked now is newer
	}
	a = &asking{done: make(chan struct{}), err: ErrFetcherGone}
	r.asking[key] = a
	return nil, a, true
}

// ask asks, keeps the result and lets the others go.
func (c *Cache) ask(ctx context.Context, key ResponseKey, a *asking, ask Ask) ([]byte, error) {
	var mine []byte
	defer func() {
		r := &c.responses
		r.lock()
		if r.asking[key] == a {
			delete(r.asking, key)
		}
		if a.err == nil && !a.outdated && !a.resp.Own {
			r.keep(key, a.resp.Result, c.set.responseTTL(a.resp.TTL))
		}
		r.mu.Unlock()
		close(a.done)
	}()
	resp, err := ask(ctx)
	mine = resp.Result
	if err == nil && !resp.Own && !resp.Shared {
		resp.Result = bytes.Clone(resp.Result) // mine is for the caller to change
	}
	a.resp, a.err = resp, err
	return mine, err
}

// keep keeps a result for ttl. Requires r.mu.
func (r *responses) keep(key ResponseKey, result []byte, ttl time.Duration) {
	r.remove(key)
	if ttl <= 0 || len(result) > maxResponse {
		return
	}
	until := time.Now().Add(ttl)
	r.bytes += len(result)
	r.kept.Add(key, &response{result: result, until: until})
	for r.bytes > maxResponseBytes {
		r.kept.RemoveOldest()
	}
	if first, ok := r.kept.Peek(ResponseKey{Key: key.Key, Method: key.Method}); ok && key.Param != "" {
		if !slices.Contains(first.pages, key.Param) {
			first.pages = append(first.pages, key.Param)
		}
		if until.Before(first.until) {
			first.until = until
		}
	}
}

// remove takes a result out. With the first page of a list go the others: a
// list begins anew (CACHE-10). Requires r.mu.
func (r *responses) remove(key ResponseKey) {
	e, ok := r.kept.Peek(key)
	if !ok {
		return
	}
	for _, page := range e.pages {
		r.kept.Remove(ResponseKey{Key: key.Key, Method: key.Method, Param: page})
	}
	r.kept.Remove(key)
}

// drop takes a result out and outdates what is on its way. Requires r.mu.
func (r *responses) drop(key ResponseKey) {
	r.remove(key)
	if a := r.asking[key]; a != nil {
		a.outdated = true
		delete(r.asking, key)
	}
}

func (r *responses) forget(match func(ResponseKey) bool) {
	r.lock()
	defer r.mu.Unlock()
	for _, key := range r.kept.Keys() {
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
