package client

import (
	"cmp"
	"context"
	"errors"

	"github.com/mainstay-mcp/mainstay/client/internal/ask"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// mended notes what was corrected for a call already: each is done once
// (DISC-07, HDR-10, HTTP-16).
type mended uint8

const (
	mendedVisits  mended = 1 << iota // the user went where -32042 sends them (ELIC-08)
	mendedHeaders                    // the tools were listed anew (HDR-10)
	mendedSession                    // a new session was opened (HTTP-16)
	mendedVersion                    // another revision was taken (DISC-07)
)

// mend does what the protocol asks for after an attempt that failed: nil when
// the call is to be made again, else the error of the call. What it makes again
// was refused undone, or may run twice.
func (c *Client) mend(ctx context.Context, cl *call, err error) error {
	var rpc *jsonrpc.Error
	if !errors.As(err, &rpc) {
		if mcperrors.KindOf(err) == mcperrors.KindCircuitOpen {
			return cmp.Or(c.gone(cl), err)
		}
		return c.mendLink(ctx, cl, err)
	}
	switch {
	case rpc.Code == mcp.CodeHeaderMismatch && mcperrors.SafeToRetry(err) && c.renewHeaders(ctx, cl):
		return nil
	case rpc.Code == mcp.CodeUnsupportedProtocolVersion:
		return c.renewVersion(cl, err, rpc)
	case rpc.Code == mcp.CodeMissingRequiredClientCapability:
		return missing(err, rpc)
	case rpc.Code == mcp.CodeURLElicitationRequired && c.visited(ctx, cl, rpc):
		return nil
	}
	return err
}

// visited has the user visit what a server requires before it takes a call, once
// a call. It reports whether the call may be made again (ELIC-08).
func (c *Client) visited(ctx context.Context, cl *call, rpc *jsonrpc.Error) bool {
	if cl.mended&mendedVisits != 0 || c.cfg.offer.URL == nil {
		return false
	}
	cl.mended |= mendedVisits
	return c.dispatcher().Visit(ctx, ask.Occasion{Agreed: cl.link.Agreed, Method: cl.method, Tool: cl.tool}, rpc)
}
