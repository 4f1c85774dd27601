package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Opening has the server's answer to initialize.
type Opening struct {
	Revision     mcp.Version
	Result       map[string]json.RawMessage
	Capabilities json.RawMessage
}

// Initialize sends initialize with the given version and keeps a good answer.
func (s *Session) Initialize(ctx context.Context, version mcp.Version) (Answer, error) {
	a, err := s.Request(ctx, mcp.MethodInitialize, s.InitializeParams(version))
	if err == nil {
		s.Begun(a)
	}
	return a, err
}

// Begun keeps the answer to initialize if it is valid.
func (s *Session) Begun(a Answer) {
	o := &Opening{}
	result, ok := rawjson.Object(a.Result)
	if !ok {
		return // judged by the lifecycle scenarios
	}
	o.Result = result
	_ = json.Unmarshal(o.Result["protocolVersion"], &o.Revision) // judged by the lifecycle scenarios
	o.Capabilities = o.Result["capabilities"]
	s.Opened = o
	if h, ok := s.Conn.(*HTTPConn); ok {
		h.negotiated(string(o.Revision))
	}
}

// InitializeParams returns the params of initialize.
func (s *Session) InitializeParams(version mcp.Version) any {
	return map[string]any{"protocolVersion": version, "capabilities": s.declared(), "clientInfo": ClientInfo}
}

// ClientInfo is the clientInfo of the suite.
var ClientInfo = map[string]any{"name": "mainstay-conformance", "version": "1.0.0"}

func (s *Session) declared() map[string]any {
	if s.Declares == nil {
		return map[string]any{}
	}
	return s.Declares
}

// Handshake opens the session completely. In the stateless era it sends server/discover
// instead.
func (s *Session) Handshake(ctx context.Context, version mcp.Version) error {
	if s.Stateless != "" {
		return s.discover(ctx)
	}
	a, err := s.Initialize(ctx, version)
	switch {
	case err != nil:
		return fmt.Errorf("initialize: %w", err)
	case a.Err != nil:
		return fmt.Errorf("initialize: %s", a.Describe())
	case s.Opened == nil:
		return errors.New("initialize: the result is not an object")
	}
	if err := s.Initialized(ctx); err != nil {
		return fmt.Errorf("initialized: %w", err)
	}
	return nil
}

// Speak makes the session one of a stateless revision.
func (s *Session) Speak(revision mcp.Version) {
	s.Stateless = revision
	if h, ok := s.Conn.(*HTTPConn); ok {
		h.negotiated(string(revision))
		h.routed()
	}
}

// discover sends server/discover.
func (s *Session) discover(ctx context.Context) error {
	a, err := s.Request(ctx, mcp.MethodDiscover, nil)
	if err != nil {
		return fmt.Errorf("server/discover: %w", err)
	}
	result, ok := rawjson.Object(a.Result)
	if !ok {
		return fmt.Errorf("server/discover: %s", a.Describe())
	}
	s.Opened = &Opening{Revision: s.Stateless, Result: result, Capabilities: result["capabilities"]}
	return nil
}

// WithMeta adds to params the _meta of every request of the stateless era. It keeps
// existing keys, so that a scenario can send wrong ones; a nil value removes one.
func (s *Session) WithMeta(params any) any {
	out := map[string]any{}
	switch p := params.(type) {
	case nil:
	case map[string]any:
		maps.Copy(out, p)
	default:
		if json.Unmarshal(rawjson.Encode(p), &out) != nil {
			return params // no object: that is what the scenario is about
		}
	}
	meta := map[string]any{
		mcp.MetaProtocolVersion:    s.Stateless,
		mcp.MetaClientInfo:         ClientInfo,
		mcp.MetaClientCapabilities: s.declared(),
	}
	if given, ok := out["_meta"].(map[string]any); ok {
		maps.Copy(meta, given)
	} else if _, there := out["_meta"]; there {
		return out
	}
	maps.DeleteFunc(meta, func(_ string, v any) bool { return v == nil })
	out["_meta"] = meta
	return out
}

// Identity has the name and version of a server.
type Identity struct{ Name, Version string }

// ServerInfo returns the serverInfo, in the place of either era.
func (o *Opening) ServerInfo() Identity {
	raw := o.Result["serverInfo"]
	if meta, ok := rawjson.Object(o.Result["_meta"]); ok && raw == nil {
		raw = meta[mcp.MetaServerInfo]
	}
	var id Identity
	_ = json.Unmarshal(raw, &id) // judged by the scenarios
	return id
}
