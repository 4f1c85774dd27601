package client

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/object"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// openSession takes the three steps of revisions 2024-11-05 to 2025-11-25:
// initialize, check of the answer, notifications/initialized. Nothing else is
// sent before the last one, and nothing after a step that failed.
func (c *Client) openSession(ctx context.Context, offered mcp.Version) error {
	return c.openSessionBy(ctx, offered, func(v mcp.Version) (json.RawMessage, error) { return c.initialize(ctx, v, callOptions{}) })
}

// openSessionBy is openSession with an initialize of the caller's own.
func (c *Client) openSessionBy(ctx context.Context, offered mcp.Version, initialize func(mcp.Version) (json.RawMessage, error)) error {
	raw, err := initialize(offered)
	if other, ok := offerAgain(err, offered); ok {
		offered = other
		raw, err = initialize(offered)
	}
	if err != nil {
		return err
	}
	state, err := c.checkInitialize(raw, offered)
	if err != nil {
		return err
	}
	conn := c.live.Newest().Conn
	conn.UseVersion(string(state.Version))
	c.agree(state) // first: the server may ask something at once
	if err := conn.Notify(ctx, wholeHandshake); err != nil {
		return c.failed(subject{method: mcp.MethodInitialized}, err)
	}
	return nil
}

// wholeHandshake ends the handshake. It has params, empty, as the seed writes it (AC-002.3).
var wholeHandshake = jsonrpc.Notification{Method: mcp.MethodInitialized, Params: json.RawMessage(`{}`)}

// initialize is step one. It is never cancelled by a notification: connecting
// has failed when ctx ends, and the transport is closed (LC-10).
func (c *Client) initialize(ctx context.Context, offered mcp.Version, opts callOptions) (json.RawMessage, error) {
	params, err := mcp.Marshal(&mcp.InitializeParams{
		ProtocolVersion: offered, ClientInfo: c.cfg.info, Capabilities: c.cfg.offer.Capabilities(offered),
	})
	if err != nil {
		return nil, badOption(err)
	}
	out := c.do(ctx, &call{
		request: request{method: mcp.MethodInitialize, purpose: link.Handshake, opts: opts}, open: object.Open(params),
	})
	return out.Result, out.Error()
}

// initialized is what came of an initialize.
type initialized struct {
	raw  json.RawMessage
	err  error
	took time.Duration
}

func (c *Client) initializeTimed(ctx context.Context, offered mcp.Version, opts callOptions) *initialized {
	began := time.Now()
	raw, err := c.initialize(ctx, offered, opts)
	return &initialized{raw: raw, err: err, took: time.Since(began)}
}

// offerAgain returns the revision to try when the server refused the one that
// was offered and named those it supports (LC-06).
func offerAgain(err error, offered mcp.Version) (mcp.Version, bool) {
	rpc := rpcOf(err)
	if rpc == nil {
		return "", false
	}
	others := slices.DeleteFunc(supportedIn(rpc), func(v string) bool { return v == string(offered) })
	return mcp.Newest(others, mcp.EraSession)
}

// checkInitialize is step two.
func (c *Client) checkInitialize(raw json.RawMessage, offered mcp.Version) (*link.Agreement, error) {
	var res mcp.InitializeResult
	if err := mcp.Unmarshal(raw, &res); err != nil {
		return nil, c.local(mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
			"the answer to initialize is not what the protocol asks for: "+err.Error(), err), mcp.MethodInitialize)
	}
	if res.ProtocolVersion.Era() != mcp.EraSession {
		mismatch := &VersionError{Requested: offered, Offered: res.ProtocolVersion, Supported: sessionVersions()}
		return nil, c.local(mcperrors.New(mcperrors.CodeIncompatible, mcperrors.KindVersion, mcperrors.Answered,
			mismatch.Error(), mismatch), mcp.MethodInitialize)
	}
	if res.ProtocolVersion != offered {
		c.log.Warn("[MCP] Protocol version mismatch", "server", c.server,
			"requested", string(offered), "negotiated", string(res.ProtocolVersion))
	}
	if err := c.checkRequired(res.Capabilities, mcp.MethodInitialize); err != nil {
		return nil, err
	}
	return &link.Agreement{
		Version: res.ProtocolVersion, Era: mcp.EraSession, Capabilities: res.Capabilities, Declared: true,
		Instructions: res.Instructions, Raw: raw,
	}, nil
}

// checkRequired refuses a server without what the application needs (AC-003.1).
func (c *Client) checkRequired(caps mcp.ServerCapabilities, method string) error {
	for _, name := range c.cfg.required {
		if !caps.Has(name) {
			return c.local(mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.Answered,
				fmt.Sprintf("MCP server does not support %s capability", name), nil), method)
		}
	}
	return nil
}

// VersionError says that a server speaks no revision that this client speaks, or
// was told to speak. It is the cause of an error of kind version.
type VersionError struct {
	// Requested is what was asked for, Offered what the server answered to
	// initialize, Supported what this client could have taken.
	Requested, Offered mcp.Version
	Supported          []mcp.Version
	// Listed is what the server says it speaks, where it refuses a revision
	// instead of offering one; Offered is "" then.
	Listed []string
}

func (e *VersionError) Error() string {
	if e.Offered == "" {
		return fmt.Sprintf("no revision that both sides speak: the server speaks [%s], this client %v",
			jsonrpc.Printable(strings.Join(e.Listed, " "), 200), e.Supported)
	}
	return fmt.Sprintf("the server answered with revision %q, which this client does not speak; it speaks %v",
		jsonrpc.Printable(string(e.Offered), 40), e.Supported)
}

func sessionVersions() []mcp.Version {
	return slices.DeleteFunc(mcp.Versions(), func(v mcp.Version) bool { return v.Era() != mcp.EraSession })
}

// reserved refuses what belongs to the handshake: the session is opened once
// (AC-002.6). It refuses too what names no method: a header repeats the name as
// it is (HTTP-31).
func reserved(method string) error {
	if method == "" || strings.ContainsFunc(method, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			fmt.Sprintf("%q is not the name of a method: want visible ASCII", jsonrpc.Printable(method, 100)), nil)
	}
	switch method {
	case mcp.MethodInitialize, mcp.MethodInitialized:
		return mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent,
			"the session is open already; connect again for another one", nil)
	}
	return nil
}
