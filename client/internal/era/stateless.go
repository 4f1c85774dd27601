package era

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// stateless connects in the pinned stateless era. A server without server/discover is used with
// unknown capabilities.
func (n *Finder) stateless(ctx context.Context, version mcp.Version) error {
	r, err := n.ask(ctx, version, n.untilStarted(n.Wait))
	if err == nil && r.means == meansUnsupported && slices.Contains(r.listed, string(version)) { // it refused a revision that it lists
		n.settle(r, actResend)
		r, err = n.ask(ctx, version, n.Wait)
	}
	if err != nil {
		return err
	}
	switch {
	case r.means == meansDiscovered && slices.Contains(r.listed, string(version)):
		n.settle(r, actStateless)
		return n.adopt(version, r.raw)
	case r.means == meansNoMethod:
		n.settle(r, actStateless)
		return n.adopt(version, nil)
	case r.means == meansDiscovered, r.means == meansUnsupported:
		n.settle(r, actRefuse)
		return n.mismatch(mcp.MethodDiscover, version, []mcp.Version{version}, r)
	}
	_, next := judge(r, n.traits(), n.Policy)
	if r.err != nil {
		n.settle(r, actFail)
		err = r.err
	} else { // a result that is no DiscoverResult
		n.settle(r, actRefuse)
		err = n.undecodable(errNoVersions)
	}
	if next == actSession || next == actRestart { // what would follow without a pin
		return n.maybeOther(err)
	}
	return err
}

var errNoVersions = errors.New("it has no list supportedVersions")

// adopt completes the handshake of the stateless era. raw is the answer to server/discover. It is
// nil if the server has no such method: then its capabilities are unknown, and requests are not
// checked against them.
func (n *Finder) adopt(version mcp.Version, raw json.RawMessage) error {
	meta, err := n.Self.Meta(version, n.Host.Level())
	if err != nil {
		return invalid(err)
	}
	a := &link.Agreement{Version: version, Era: mcp.EraStateless, Meta: meta}
	if raw != nil {
		var res mcp.DiscoverResult
		if err := mcp.Unmarshal(raw, &res); err != nil {
			return n.undecodable(err)
		}
		if err := n.checkRequired(res.Capabilities, mcp.MethodDiscover); err != nil {
			return err
		}
		a.Capabilities, a.Declared = res.Capabilities, true
		a.Instructions, a.Raw = res.Instructions, raw
	} else {
		doubt := n.undiscovered()
		a.Doubt = &doubt
		n.Log.Warn("[MCP] the server has no server/discover, which every server of the stateless era has", "server", n.Server, "version", string(version))
	}
	n.Links.Newest().Conn.UseVersion(string(version))
	n.Links.Agree(a)
	return nil
}

// undecodable returns the error of an invalid answer to server/discover.
func (n *Finder) undecodable(err error) error {
	return n.About(outcome.Subject{Method: mcp.MethodDiscover, Attempts: 1}, mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
		"the result of "+mcp.MethodDiscover+" does not follow the protocol: "+jsonrpc.Printable(err.Error(), 300), err))
}

// invalid returns the error of options that cannot be encoded.
func invalid(err error) error {
	return mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent, err.Error(), err)
}
