package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// WithIdempotencyKeys puts into the _meta of every tool call a key that stays
// the same over its attempts, a UUID v7, and which attempt it is, from 1, and
// how many milliseconds the caller still waits. Where the server asks for input
// before it answers, each round has a key and attempts of its own: it is answered
// differently from the one before.
//
//	"<prefix>/idempotencyKey", "<prefix>/attempt", "<prefix>/deadlineMs"
//
// prefix is a domain of yours, such as "com.example"; the protocol keeps some to
// itself. A server that runs calls of one key once says so by the capability
// experimental["<prefix>/idempotency"]: then its tools are called again after
// failures whatever they do. Of any other server the keys change nothing. The
// key is never an HTTP header, which would make the HTTP layer send such a
// request twice by itself.
func WithIdempotencyKeys(prefix string) Option {
	return optionFunc(func(c *config) { c.keyPrefix, c.keysSet = prefix, true })
}

// WithIdempotencyKey sets the key of one call, for an application that keeps it:
// the same call made again with it, by another process too, is the same to the
// server. Rounds after the first have "#2", "#3" and so on behind it; who answers
// by hand [WithInput] gives each round another. It needs [WithIdempotencyKeys].
func WithIdempotencyKey(key string) CallOption {
	return callOptionFunc(func(o *callOptions) { o.key = &key })
}

func (c *config) checkKeys() error {
	if !c.keysSet {
		return nil
	}
	key := c.keyPrefix + "/idempotencyKey"
	if err := mcp.CheckMetaKey(key); err != nil || c.keyPrefix == "" || strings.Contains(c.keyPrefix, "/") {
		return fmt.Errorf("WithIdempotencyKeys: %q is no prefix; use a domain such as com.example: %w", c.keyPrefix, err)
	}
	if mcp.ReservedMetaKey(key) {
		return fmt.Errorf("WithIdempotencyKeys: the prefix %q belongs to the protocol", c.keyPrefix)
	}
	return nil
}

// keyed reports whether the server runs this call once however often it comes.
func (c *Client) keyed(cl *call) bool {
	return cl.key != "" && cl.link.Agreed.Capabilities.Has("experimental."+c.cfg.keyPrefix+"/idempotency")
}

// stamp sets what an attempt of a tool call says of itself in _meta.
func (c *Client) stamp(ctx context.Context, cl *call) error {
	switch {
	case cl.method != mcp.MethodToolsCall:
		return nil
	case c.cfg.keyPrefix == "":
		if cl.opts.key != nil {
			return c.local(badOption(errors.New("WithIdempotencyKey needs WithIdempotencyKeys, which names its place in _meta")), cl.method)
		}
		return nil
	}
	if cl.key == "" {
		if cl.opts.key != nil {
			cl.key = *cl.opts.key
			if round := 1 + cl.asked.Rounds(); round > 1 {
				cl.key += "#" + strconv.Itoa(round)
			}
		} else {
			id, err := uuid.NewV7()
			if err != nil {
				return c.about(cl.subject(), mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent, "no idempotency key could be made", err))
			}
			cl.key = id.String()
		}
	}
	name := func(dst []byte, s string) []byte {
		return append(jsonrpc.AppendString(dst, c.cfg.keyPrefix+"/"+s), ':')
	}
	out := jsonrpc.AppendString(name(nil, "idempotencyKey"), cl.key)
	out = strconv.AppendInt(name(append(out, ','), "attempt"), int64(cl.attempts-cl.earlier+1), 10)
	if left := c.span(cl).Remaining(ctx); left < math.MaxInt64 {
		out = strconv.AppendInt(name(append(out, ','), "deadlineMs"), int64(max(0, left/time.Millisecond)), 10)
	}
	cl.stamp = out
	return nil
}
