package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// renewHeaders lists the tools again after a server refused a call for its
// headers, and reports whether the call has other headers now (HDR-10). With the
// same ones it would be refused again.
func (c *Client) renewHeaders(ctx context.Context, cl *call) bool {
	refused, sent := cl.schema, cl.mirrored
	// Whoever was refused with it may have brought another list already.
	if c.headerSchema(ctx, cl) == refused {
		c.cache().Invalidate(c.cacheKey(ctx))
		if err := c.cache().Refresh(ctx, c.cacheKey(ctx), c.fetcher()); err != nil {
			return false // what the server said of the call says more
		}
	}
	return c.mirrorArguments(ctx, cl) == nil && !slices.Equal(sent, cl.mirrored)
}

// renewVersion takes the newest revision of the era that both sides speak,
// after a server refused a request for its own (DISC-07). It reports whether the
// call is sent again with it. A server that lists the revision it refuses
// contradicts itself, which proves nothing: only what may run twice is sent with
// that revision again.
func (c *Client) renewVersion(cl *call, err *mcperrors.Error) (again bool, _ error) {
	var data mcp.UnsupportedVersionData
	if mcp.Unmarshal(slices.Clone(outcome.RPCOf(err).Data), &data) != nil {
		return false, nil //nolint:nilerr // the server's error says more
	}
	version, ok := mcp.Newest(data.Supported, mcp.EraStateless)
	proved := version != cl.link.Agreed.Version && mcperrors.SafeToRetry(err)
	if ok && cl.repairs&run.Revised == 0 && (proved || c.repeatableRead(cl)) {
		cl.repairs |= run.Revised
		err := c.speak(version)
		return err == nil, err
	}
	ours := slices.DeleteFunc(mcp.Versions(), func(v mcp.Version) bool { return v.Era() != mcp.EraStateless })
	return false, because(err, &VersionError{Requested: cl.link.Agreed.Version, Supported: ours, Listed: data.Supported})
}

// repeatableRead reports whether a call may run twice whatever the application
// says: no call of a tool may.
func (c *Client) repeatableRead(cl *call) bool {
	return cl.method != mcp.MethodToolsCall && c.repeatable(cl, resilience.Proof) != resilience.Unsafe
}

// speak makes version the one that every later request is of. A server may name
// the revision it has just refused; the call is made once more then.
func (c *Client) speak(version mcp.Version) error {
	for {
		with := c.live.Load()
		a := *with.Agreed
		if a.Version == version || a.Era == mcp.EraSession {
			return nil
		}
		meta, err := c.requestMeta(version)
		if err != nil {
			return badOption(err)
		}
		a.Version, a.Meta = version, meta
		a.Key = c.keyOf(&a)
		with.Conn.UseVersion(string(version))
		if c.live.Amend(with, &a) {
			return nil
		}
	}
}

// MissingCapabilityError says that a server refused a request because this
// client does not offer what the request needs. It is the cause of an
// error with code E209. Register the handlers that offer it, and connect again.
type MissingCapabilityError struct {
	// Required is what the request needs.
	Required mcp.ClientCapabilities
	// Names are the same, as paths: "sampling", "elicitation.url"; the first 20
	// where there are more.
	Names []string
	more  int
}

// maxNames is how many names of a server's an error repeats.
const maxNames = 20

// Error lists what is missing.
func (e *MissingCapabilityError) Error() string {
	text := "the server needs a client with " + strings.Join(e.Names, ", ")
	if e.more > 0 {
		text += fmt.Sprintf(" and %d more", e.more)
	}
	return text
}

// missing makes the error of a request for which this client offers too little.
// Capabilities are stated on every request, all of them, so that there are never
// more to offer (DISC-10).
func missing(err *mcperrors.Error) error {
	rpc := outcome.RPCOf(err)
	var data mcp.MissingCapabilityData
	if mcp.Unmarshal(slices.Clone(rpc.Data), &data) != nil {
		return nil //nolint:nilerr // the server's error says more
	}
	names, more := capabilityNames(rpc.Data)
	return because(err, &MissingCapabilityError{Required: data.RequiredCapabilities, Names: names, more: more})
}

// capabilityNames lists the capabilities in the data of -32021 by their paths and
// counts those that are too many.
func capabilityNames(data []byte) (names []string, more int) {
	outcome.EachCapability(data, func(path string) bool {
		if len(names) == maxNames {
			more++
		} else {
			names = append(names, jsonrpc.Printable(path, 100))
		}
		return true
	})
	return names, more
}

// because adds to the error of a call why it could not be mended.
func because(err, cause error) error {
	var e *mcperrors.Error
	if !errors.As(err, &e) {
		return err
	}
	with := *e
	with.Cause = cause
	with.Message += ": " + cause.Error()
	return &with
}
