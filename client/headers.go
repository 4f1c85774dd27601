package client

import (
	"context"
	"net/http"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// WithHeaderFunc has f return headers for each HTTP request of [Dial]'s client,
// such as the credentials of the user that ctx belongs to. It keeps the connection
// pool of [transport.HTTP]; see [transport.HTTP] for when f is called. A call whose
// headers cannot be had fails unsent. For [Connect], set the transport's HeaderFunc.
//
// Callers with different headers do not see what the server let the other keep:
// each has a cache partition of its own. Where the headers change and the caller
// stays the same, as with tokens that are renewed, name one partition with
// [WithCachePartition], or lists are fetched again with each new token.
func WithHeaderFunc(f func(ctx context.Context) (http.Header, error)) Option {
	return optionFunc(func(c *config) { c.headers = f })
}

// whose is who asks, for caches.
type whose struct {
	partition string
	callers   transport.CallerIn // who differ by context, else nil
}

// cacheKey says whose results a cache holds: those of whoever ctx is of, where
// callers differ by that.
func (c *Client) cacheKey(ctx context.Context) toolcache.Key {
	key := c.live.Agreed().Key
	if c.whose == nil || c.whose.callers == nil {
		return key
	}
	caller, differs, err := c.whose.callers.CallerIn(ctx)
	switch {
	case err != nil:
		key.Partition += "\x00nobody" // nothing is fetched for it: requests fail, too
	case differs:
		key.Partition += "\x00" + caller
	}
	return key
}

// cacheKeys are those of all callers.
func (c *Client) cacheKeys() []toolcache.Key {
	key := c.live.Agreed().Key
	if c.whose == nil || c.whose.callers == nil {
		return []toolcache.Key{key}
	}
	return c.cache().Keys(key)
}

// callersOf is the transport where its callers differ by context and no partition
// says otherwise, else nil.
func (c *config) callersOf(t transport.Transport) transport.CallerIn {
	callers, ok := t.(transport.CallerIn)
	if !ok || c.partition != nil {
		return nil
	}
	if _, differs, _ := callers.CallerIn(context.Background()); !differs { //nolint:forbidigo // whether, not who
		return nil
	}
	return callers
}
