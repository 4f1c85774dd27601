package run

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// KeyAccepted reports whether the server runs this call at most once however often it is sent:
// the call has a key, and the server supports keys of prefix.
func (c *Call) KeyAccepted(prefix string) bool {
	return c.Key != "" && c.Link.Agreed.Capabilities.Has("experimental."+prefix+"/idempotency")
}

// SetStamp sets the attempt's own part of _meta: its idempotency key, its number and the caller's
// remaining time, [math.MaxInt64] without a limit. The key is the caller's or a UUID v7, and
// stays the same for a round.
func (c *Call) SetStamp(prefix string, left time.Duration) *mcperrors.Error {
	if err := c.setKey(); err != nil {
		return outcome.InvalidArguments(err)
	}
	name := func(dst []byte, s string) []byte {
		return append(jsonrpc.AppendString(dst, prefix+"/"+s), ':')
	}
	out := jsonrpc.AppendString(name(nil, "idempotencyKey"), c.Key)
	out = strconv.AppendInt(name(append(out, ','), "attempt"), int64(c.Attempts-c.Earlier+1), 10)
	if left < math.MaxInt64 {
		out = strconv.AppendInt(name(append(out, ','), "deadlineMs"), int64(max(0, left/time.Millisecond)), 10)
	}
	c.Stamp = out
	return nil
}

// setKey sets the key of a round, once.
func (c *Call) setKey() error {
	switch {
	case c.Key != "":
	case c.IdempotencyKey != nil:
		c.Key = *c.IdempotencyKey
		if round := 1 + c.Asked.Rounds(); round > 1 {
			c.Key += "#" + strconv.Itoa(round)
		}
	default:
		id, err := uuid.NewV7()
		if err != nil {
			return fmt.Errorf("no idempotency key could be made: %w", err)
		}
		c.Key = id.String()
	}
	return nil
}
