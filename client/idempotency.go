package client

import (
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithIdempotency adds three members to the _meta of every tool call:
//
//	"<prefix>/idempotencyKey"  a UUID v7, the same for all attempts of a call
//	"<prefix>/attempt"         the number of the attempt, from 1
//	"<prefix>/deadlineMs"      how many milliseconds the caller still waits
//
// If the server asks for input, each round has its own key and attempts,
// because its answers differ from those of the round before. prefix is a
// domain of yours, such as "com.example"; the protocol reserves some.
//
// A server that runs the calls of one key only once declares the capability
// experimental["<prefix>/idempotency"]. The client then retries its tools
// after any transient failure. For other servers the keys change nothing. The
// key is never an HTTP header, because HTTP libraries then resend such
// requests automatically.
func WithIdempotency(prefix string) Option {
	return optionFunc(func(c *config) { c.keyPrefix, c.keysSet = prefix, true })
}

// WithIdempotencyKey sets the key of one call, for applications that store it.
// A later call with the same key counts as the same call for the server, even
// from another process. The rounds after the first append "#2", "#3" and so
// on; for manual rounds ([InputRequired.Answer]) set a new key each. It needs
// [WithIdempotency].
func WithIdempotencyKey(key string) CallOption {
	return callOptionFunc(func(o *callOptions) { o.IdempotencyKey = &key })
}

func (c *config) checkKeys() error {
	if !c.keysSet {
		return nil
	}
	key := c.keyPrefix + "/idempotencyKey"
	if err := mcp.CheckMetaKey(key); err != nil || c.keyPrefix == "" || strings.Contains(c.keyPrefix, "/") {
		return fmt.Errorf("WithIdempotency: %q is not a valid prefix; use a domain such as com.example: %w", c.keyPrefix, err)
	}
	if mcp.ReservedMetaKey(key) {
		return fmt.Errorf("WithIdempotency: the prefix %q is reserved by the protocol", c.keyPrefix)
	}
	return nil
}
