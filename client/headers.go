package client

import (
	"context"
	"net/http"
)

// WithHeaderFunc sets a function that returns headers for each HTTP request of
// [Dial]'s client, for example the credentials of the user in ctx. It keeps
// the connection pool of [transport.HTTP], which also documents when f is
// called. If f fails, the call fails without being sent. For [Connect], set
// the transport's HeaderFunc.
//
// Callers with different headers have separate cache partitions. If headers
// change while the caller stays the same, as with renewed tokens, set one
// partition with [CacheConfig].Partition. Otherwise lists are fetched again for
// each new token.
func WithHeaderFunc(f func(ctx context.Context) (http.Header, error)) Option {
	return optionFunc(func(c *config) { c.headers = f })
}
