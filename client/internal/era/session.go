package era

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// OpenSession opens a session on the live link, in the three steps of revisions 2024-11-05 to
// 2025-11-25: initialize, a check of the answer, notifications/initialized. Nothing else is sent
// before the last step, and nothing after a failed step.
func (n *Session) OpenSession(ctx context.Context, offered mcp.Version) error {
	return n.openSession(ctx, offered, func(v mcp.Version) (json.RawMessage, error) { return n.sendInitialize(ctx, v, jsonrpc.Wait{}) })
}

// openSession is OpenSession with a given function for initialize.
func (n *Session) openSession(ctx context.Context, offered mcp.Version, initialize func(mcp.Version) (json.RawMessage, error)) error {
	n.answered = ""
	raw, err := initialize(offered)
	if other, ok := offerAgain(err, offered); ok {
		offered = other
		raw, err = initialize(offered)
	}
	if err != nil {
		return err
	}
	agreed, err := n.checkInitialize(raw, offered)
	if err != nil {
		return err
	}
	conn := n.Links.Newest().Conn
	conn.UseVersion(string(agreed.Version))
	n.Links.Agree(agreed) // before Notify: the server may send a request at once
	if err := conn.Notify(ctx, initializedNotification); err != nil {
		return n.failure(mcp.MethodInitialized, err)
	}
	return nil
}

// initializedNotification ends the handshake. It has empty params, as the requirements of this project define.
var initializedNotification = jsonrpc.Notification{Method: mcp.MethodInitialized, Params: json.RawMessage(`{}`)}

// initialized is the outcome of initialize.
type initialized struct {
	raw  json.RawMessage
	err  error
	took time.Duration
}

func (n *Session) initialize(ctx context.Context, offered mcp.Version, wait jsonrpc.Wait) *initialized {
	began := time.Now()
	raw, err := n.sendInitialize(ctx, offered, wait)
	return &initialized{raw: raw, err: err, took: time.Since(began)}
}

func (n *Session) sendInitialize(ctx context.Context, offered mcp.Version, wait jsonrpc.Wait) (json.RawMessage, error) {
	params, err := n.Self.params(offered)
	if err != nil {
		return nil, invalid(err)
	}
	return n.Client.Initialize(ctx, params, wait)
}

// offerAgain returns the revision to offer next if the server rejected the offered one and listed
// others.
func offerAgain(err error, offered mcp.Version) (mcp.Version, bool) {
	rpc := outcome.RPCOf(err)
	if rpc == nil {
		return "", false
	}
	others := slices.DeleteFunc(supportedIn(rpc), func(v string) bool { return v == string(offered) })
	return mcp.Newest(others, mcp.EraSession)
}

// checkInitialize checks the answer to initialize.
func (n *Session) checkInitialize(raw json.RawMessage, offered mcp.Version) (*link.Agreement, error) {
	var res mcp.InitializeResult
	if err := mcp.Unmarshal(raw, &res); err != nil {
		return nil, n.About(outcome.Subject{Method: mcp.MethodInitialize}, mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
			"the answer to initialize does not follow the protocol: "+err.Error(), err))
	}
	if res.ProtocolVersion.Era() != mcp.EraSession {
		n.answered = res.ProtocolVersion
		mismatch := n.Client.Mismatch(Mismatch{Requested: offered, Offered: res.ProtocolVersion, Supported: sessionVersions()})
		text := mismatch.Error()
		if n.Version != "" && res.ProtocolVersion.Known() {
			text = n.unmet(mcp.MethodInitialize, []string{string(res.ProtocolVersion)})
		}
		return nil, n.About(outcome.Subject{Method: mcp.MethodInitialize}, mcperrors.New(mcperrors.CodeIncompatible, mcperrors.KindVersion, mcperrors.Answered,
			text, mismatch))
	}
	if res.ProtocolVersion != offered {
		n.Log.Warn("[MCP] Protocol version mismatch", "server", n.Server,
			"requested", string(offered), "negotiated", string(res.ProtocolVersion))
	}
	if err := n.checkRequired(res.Capabilities, mcp.MethodInitialize); err != nil {
		return nil, err
	}
	return &link.Agreement{
		Version: res.ProtocolVersion, Era: mcp.EraSession, Capabilities: res.Capabilities, Declared: true,
		Instructions: res.Instructions, Raw: raw,
	}, nil
}

// checkRequired returns an error if the server lacks a capability that the application requires.
func (n *Session) checkRequired(caps mcp.ServerCapabilities, method string) error {
	for _, name := range n.Required {
		if !caps.Has(name) {
			return n.About(outcome.Subject{Method: method}, mcperrors.New(mcperrors.CodeMissingCapability, mcperrors.KindUnsupported, mcperrors.Answered,
				fmt.Sprintf("MCP server does not support %s capability", name), nil))
		}
	}
	return nil
}

func sessionVersions() []mcp.Version {
	return slices.DeleteFunc(mcp.Versions(), func(v mcp.Version) bool { return v.Era() != mcp.EraSession })
}

// Mismatch describes a server and a client without a common revision.
type Mismatch struct {
	// Requested is the revision that the client asked for, Offered the server's answer to
	// initialize, Supported what the client accepts.
	Requested, Offered mcp.Version
	Supported          []mcp.Version
	// Listed are the revisions of a server that rejects a revision instead of offering one;
	// Offered is "" then.
	Listed []string
}

// mismatch returns the error for a server without a common revision. r is its answer to a method
// that asked for a revision.
func (n *Finder) mismatch(method string, asked mcp.Version, ours []mcp.Version, r *reply) error {
	e := n.Client.Mismatch(Mismatch{Requested: asked, Supported: ours, Listed: r.listed})
	text := e.Error()
	if n.Version != "" {
		text = n.unmet(method, r.listed)
	}
	out := mcperrors.New(mcperrors.CodeIncompatible, mcperrors.KindVersion, mcperrors.Answered, text, e)
	if r.err != nil {
		out.RPC, out.OriginalMCPCode, out.HTTP = r.err.RPC, r.err.OriginalMCPCode, r.err.HTTP
	}
	return n.About(outcome.Subject{Method: method}, out)
}

// session opens a session. If the server seems stateless after all, it is probed once more. If it
// rejects initialize as HTTP+SSE servers do, the fallback is used.
func (n *Finder) session(ctx context.Context, offered mcp.Version) error {
	n.Probing.Store(false)
	err := n.openSession(ctx, offered, func(v mcp.Version) (json.RawMessage, error) {
		n.offered = v
		first := n.first
		if n.first = nil; first == nil {
			first = n.initialize(ctx, v, n.untilStarted(jsonrpc.Wait{}))
		}
		n.note(mcp.MethodInitialize, v, initializeText(first.raw, first.err), first.took)
		return first.raw, first.err
	})
	if err == nil {
		return nil
	}
	if version, ok := n.suspicion(err); ok {
		n.reprobed = true
		wait := n.probeWait(ctx)
		if n.silent { // it may have lost the first probe, but had enough time
			wait = jsonrpc.Wait{Max: n.probeBound(ctx, DefaultProbeTimeout)}
		}
		r, probeErr := n.ask(ctx, version, wait)
		if probeErr != nil {
			return err
		}
		row, next := judge(r, n.traits(), n.Policy)
		n.settle(r, next)
		if next == actStateless {
			n.result.Evidence = row.id
			return n.adopt(r.stateless, r.raw)
		}
		return err // the error of initialize is more useful
	}
	if n.refusedAsOld(err) && !n.result.Remembered { // a remembered era is doubted first
		return n.older(ctx, offered, err)
	}
	return err
}

// suspicion reports whether the failure of initialize suggests a server of the stateless era, and
// returns the revision to probe with. That is -32022, an answer of that era, or any error that
// names the era or comes from a server whose era no answer has shown.
func (n *Finder) suspicion(err error) (mcp.Version, bool) {
	if n.Version != "" || n.reprobed || n.result.Fallback {
		return "", false
	}
	if n.answered.Era() == mcp.EraStateless {
		return n.answered, true
	}
	rpc := outcome.RPCOf(err)
	if rpc == nil {
		return "", false
	}
	named := append(supportedIn(rpc), revisionsIn(rpc)...)
	if v, ok := mcp.Newest(named, mcp.EraStateless); ok {
		return v, true
	}
	return mcp.Latest, n.doubtful || rpc.Code == mcp.CodeUnsupportedProtocolVersion
}

// refusedAsOld reports whether initialize was rejected as HTTP+SSE servers do (backwards
// compatibility, on the transports page of the specification).
func (n *Finder) refusedAsOld(err error) bool {
	var e *mcperrors.Error
	if n.result.Fallback || !errors.As(err, &e) || e.HTTP == nil {
		return false
	}
	if rpc := outcome.RPCOf(err); rpc != nil && statelessOnly(rpc.Code) {
		return false
	}
	switch e.HTTP.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	}
	return n.Policy.AnyRefusal && statusMeans(e.HTTP.Status) == meansRefused
}
