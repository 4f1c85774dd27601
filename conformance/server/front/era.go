package front

import (
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An Era is one of the two ways MCP has been spoken: in sessions that begin
// with `initialize`, and in requests that each stand alone.
type Era uint8

// The eras.
const (
	EraSession Era = iota
	EraStateless
)

// firstStateless is the first revision of the stateless era. Revisions are
// dates, so that they compare as text.
const firstStateless = "2026-07-28"

// revisionWithBatches is the only one in which a message may be an array.
const revisionWithBatches = "2025-03-26"

// EraOf returns the era of a revision.
func EraOf(version string) Era {
	if version >= firstStateless {
		return EraStateless
	}
	return EraSession
}

// version returns the revision that a message names in its `_meta`, which
// distinguishes the stateless era. A value that is no string is returned unchanged.
func (m *message) version() (version string, named bool) {
	var meta map[string]json.RawMessage
	if json.Unmarshal(m.open()["_meta"], &meta) != nil {
		return "", false
	}
	raw, named := meta[mcp.MetaKeyProtocolVersion]
	if !named {
		return "", false
	}
	if json.Unmarshal(raw, &version) != nil {
		version = string(raw)
	}
	return version, true
}

// unsupported answers a revision that is not served.
func unsupported(id json.RawMessage, requested string, supported []string) *fault {
	supported = slices.Clone(supported)
	slices.Sort(supported)
	slices.Reverse(supported) // the newest first, as the client will want it
	return &fault{id: id, err: rpcError(mcp.CodeUnsupportedProtocolVersion, "Unsupported protocol version",
		map[string]any{"supported": supported, "requested": clip(requested)})}
}

// mismatch answers a header that disagrees with the body.
func mismatch(id json.RawMessage, text string) *fault {
	return &fault{id: id, err: rpcError(mcp.CodeHeaderMismatch, "Header mismatch: "+text, nil)}
}

// canonical decodes the id of a request for go-sdk. A number that float64
// cannot hold is refused: go-sdk would answer under another one.
func canonical(id json.RawMessage) (jsonrpc.ID, bool) {
	var v any
	if id[0] != '"' && !exactFloat(id) || json.Unmarshal(id, &v) != nil {
		return jsonrpc.ID{}, false
	}
	made, err := jsonrpc.MakeID(v)
	return made, err == nil
}

// exactFloat reports whether the integer id survives go-sdk's float64.
func exactFloat(id json.RawMessage) bool {
	var n int64
	const most = 1 << 53
	return json.Unmarshal(id, &n) == nil && n >= -most && n <= most
}

func inexactID(id json.RawMessage) *fault {
	return invalidRequest(id, "id", "an integer id beyond 2^53 cannot be served here")
}
