package proxy

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// request is a request of a host, with what belongs to the connection taken out of its
// params.
type request struct {
	jsonrpc.Request // Params without the members below
	// version, info and capabilities are what each request of the stateless era has about
	// its host, empty in the session era. Then version is what initialize agreed on.
	version            mcp.Version
	info, capabilities json.RawMessage
	level              mcp.LoggingLevel // of the stateless era
	token              jsonrpc.ID       // of progress, zero for none
	name               string           // of the tool or the prompt
	uri                string           // of the resource
}

// readRequest takes the params of a request apart.
func readRequest(req jsonrpc.Request) (*request, *jsonrpc.Error) {
	r := &request{Request: req}
	if req.Params == nil {
		return r, nil
	}
	var fault error
	out := []byte{'{'}
	err := jsonrpc.Members(req.Params, func(name, value []byte) bool {
		switch string(name) {
		case "_meta":
			if value, fault = r.readMeta(value); value == nil {
				return fault == nil
			}
		case "name":
			_ = jsonrpc.Unmarshal(value, &r.name) // the server judges what is no text
		case "uri":
			_ = jsonrpc.Unmarshal(value, &r.uri)
		}
		out = appendMember(out, name, value)
		return true
	})
	if fault == nil {
		fault = err
	}
	if fault != nil {
		return nil, jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: "+fault.Error(), nil)
	}
	r.Params = append(out, '}')
	return r, nil
}

// readMeta takes the members of _meta that are for this connection, and returns the others,
// nil if there are none. Keys that the protocol reserves are for one connection: the client
// behind sets its own.
func (r *request) readMeta(meta []byte) ([]byte, error) {
	if meta[0] != '{' {
		return nil, errors.New("_meta must be an object")
	}
	out := []byte{'{'}
	var fault error
	err := jsonrpc.Members(meta, func(name, value []byte) bool {
		switch key := string(name); key {
		case mcp.MetaProgressToken:
			_ = r.token.UnmarshalJSON(value) // what cannot be a token gets no progress
		case mcp.MetaProtocolVersion:
			if fault = jsonrpc.Unmarshal(value, &r.version); fault != nil {
				fault = fmt.Errorf("_meta: %s must be a string", key)
			}
		case mcp.MetaClientInfo:
			r.info = value
		case mcp.MetaClientCapabilities:
			r.capabilities = value
		case mcp.MetaLogLevel:
			_ = jsonrpc.Unmarshal(value, &r.level)
		default:
			if !mcp.ReservedMetaKey(key) {
				out = appendMember(out, name, value)
			}
		}
		return fault == nil
	})
	if fault == nil && err != nil {
		fault = fmt.Errorf("_meta: %w", err)
	}
	if fault != nil || len(out) == 1 {
		return nil, fault
	}
	return append(out, '}'), nil
}

// check returns what is wrong with a request of the stateless era.
func (r *request) check() *jsonrpc.Error {
	switch {
	case r.version.Era() != mcp.EraStateless:
		return jsonrpc.NewError(mcp.CodeUnsupportedProtocolVersion, "Unsupported protocol version",
			mcp.UnsupportedVersionData{Supported: []string{string(mcp.Latest)}, Requested: string(r.version)})
	case r.level != "" && !r.level.Known():
		return jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: "+mcp.MetaLogLevel+" in _meta is no log level", nil)
	case r.capabilities == nil:
		return jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: _meta has no "+mcp.MetaClientCapabilities, nil)
	}
	return nil
}

// appendMember appends a member to an object that is open.
func appendMember(object, name, value []byte) []byte {
	if len(object) > 1 {
		object = append(object, ',')
	}
	object = append(jsonrpc.AppendString(object, string(name)), ':')
	return append(object, value...)
}
