package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/mainstay-mcp/mainstay/mcp"
)

// opening is what the server said in answer to initialize.
type opening struct {
	revision     mcp.Version
	result       map[string]json.RawMessage
	capabilities json.RawMessage
}

// initialize sends initialize with the given version and keeps a good answer.
func (s *session) initialize(ctx context.Context, version mcp.Version) (answer, error) {
	a, err := s.request(ctx, mcp.MethodInitialize, s.initializeParams(version))
	if err == nil {
		s.begun(a)
	}
	return a, err
}

// begun keeps the answer to initialize when it is a good one.
func (s *session) begun(a answer) {
	o := &opening{}
	result, ok := object(a.result)
	if !ok {
		return // judged by the lifecycle scenarios
	}
	o.result = result
	_ = json.Unmarshal(o.result["protocolVersion"], &o.revision) // judged by the lifecycle scenarios
	o.capabilities = o.result["capabilities"]
	s.opened = o
	if h, ok := s.wire.(*httpWire); ok {
		h.negotiated(string(o.revision))
	}
}

func (s *session) initializeParams(version mcp.Version) any {
	return map[string]any{"protocolVersion": version, "capabilities": s.declared(), "clientInfo": clientInfo}
}

// clientInfo is who the suite says it is.
var clientInfo = map[string]any{"name": "mainstay-conformance", "version": "1.0.0"}

func (s *session) declared() map[string]any {
	if s.declares == nil {
		return map[string]any{}
	}
	return s.declares
}

// handshake opens the session in full; where there are none it learns with
// server/discover what initialize tells elsewhere.
func (s *session) handshake(ctx context.Context, version mcp.Version) error {
	if s.stateless != "" {
		return s.discover(ctx)
	}
	a, err := s.initialize(ctx, version)
	switch {
	case err != nil:
		return fmt.Errorf("initialize: %w", err)
	case a.err != nil:
		return fmt.Errorf("initialize: %s", a.describe())
	case s.opened == nil:
		return errors.New("initialize: the result is not an object")
	}
	if err := s.initialized(ctx); err != nil {
		return fmt.Errorf("initialized: %w", err)
	}
	return nil
}

// speak makes the session one of a stateless revision.
func (s *session) speak(revision mcp.Version) {
	s.stateless = revision
	if h, ok := s.wire.(*httpWire); ok {
		h.negotiated(string(revision))
		h.routed()
	}
}

// discover asks the server what it is (DISC-01).
func (s *session) discover(ctx context.Context) error {
	a, err := s.request(ctx, mcp.MethodDiscover, nil)
	if err != nil {
		return fmt.Errorf("server/discover: %w", err)
	}
	result, ok := object(a.result)
	if !ok {
		return fmt.Errorf("server/discover: %s", a.describe())
	}
	s.opened = &opening{revision: s.stateless, result: result, capabilities: result["capabilities"]}
	return nil
}

// withMeta adds to params what every request of the stateless era carries
// (META-04, META-05). Keys that are in _meta already stay as they are, so that a
// scenario may lie; a nil value removes one.
func (s *session) withMeta(params any) any {
	out := map[string]any{}
	switch p := params.(type) {
	case nil:
	case map[string]any:
		maps.Copy(out, p)
	default:
		if json.Unmarshal(encode(p), &out) != nil {
			return params // no object: that is what the scenario is about
		}
	}
	meta := map[string]any{
		mcp.MetaProtocolVersion:    s.stateless,
		mcp.MetaClientInfo:         clientInfo,
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

// identity is what a server calls itself.
type identity struct{ Name, Version string }

// serverInfo returns who the server says it is, in either era's place.
func (o *opening) serverInfo() identity {
	raw := o.result["serverInfo"]
	if meta, ok := object(o.result["_meta"]); ok && raw == nil {
		raw = meta[mcp.MetaServerInfo]
	}
	var id identity
	_ = json.Unmarshal(raw, &id) // judged by the scenarios
	return id
}
