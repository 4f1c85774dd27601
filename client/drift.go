package client

import (
	"context"
	"fmt"
	"strings"

	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func (c *config) checkPins() error {
	for name, pin := range c.caching.Pins {
		if !strings.HasPrefix(pin, mcp.FingerprintPrefix) {
			return fmt.Errorf("the pin of tool %q is not a fingerprint: want %sHEX", name, mcp.FingerprintPrefix)
		}
	}
	return nil
}

// PinError reports that a tool differs from its pin. It is the cause of an
// error of kind unsupported.
type PinError struct {
	Tool string
	// Pinned and Current are fingerprints.
	Pinned, Current string
}

func (e *PinError) Error() string {
	return fmt.Sprintf("the definition of tool %s differs from its pin: review it, and pin %s to allow it",
		jsonrpc.Printable(e.Tool, 100), e.Current)
}

// checkPin returns an error if the tool differs from its pin and BlockDrift is set.
func (c *Client) checkPin(ctx context.Context, cl *call) error {
	if c.cfg.caching.Pins == nil {
		return nil
	}
	tools := cl.Tools(ctx, c.catalog())
	mismatch, err := tools.CheckPin(ctx, cl.Tool)
	if mismatch == nil {
		return err
	}
	cause := (*PinError)(mismatch)
	return c.core.About(outcome.Subject{Method: mcp.MethodToolsCall, Tool: cl.Tool}, mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.NotSent, cause.Error(), cause))
}
