package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

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
	heartbeat          *heartbeat       // nil without token
	line               line             // for what happens during the request
	header             http.Header      // of a stateless request over HTTP, else nil
	name               string           // of the tool or the prompt
	uri                string           // of the resource
	failed             *Failure         // why the server did not answer, nil if it did

	host      *host
	ctx       context.Context         // ends with the request
	until     context.Context         // ends at the time-out of the host, nil for none
	interrupt context.CancelCauseFunc // ends it with a *link, nil if it cannot be answered with one
}

// requestKey is the key of a context for the *request that it belongs to. The handlers of the
// client get the values of the call for which the server asks, if the connection tells.
type requestKey struct{}

// readRequest takes the params of a request apart.
func readRequest(req jsonrpc.Request) (*request, *jsonrpc.Error) {
	r := &request{Request: req}
	if req.Params == nil {
		return r, nil
	}
	var fault error
	out := append(make([]byte, 0, len(req.Params)), '{')
	err := jsonrpc.Walk(req.Params, func(name, value []byte) bool {
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
// nil if there are none.
func (r *request) readMeta(meta []byte) ([]byte, error) {
	if meta[0] != '{' {
		return nil, errors.New("_meta must be an object")
	}
	out := []byte{'{'}
	var fault error
	err := jsonrpc.Walk(meta, func(name, value []byte) bool {
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
			out = appendMember(out, name, value)
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

// withLevel returns params whose _meta asks for log messages.
func withLevel(params json.RawMessage, level mcp.LoggingLevel) json.RawMessage {
	return remeta(params, func(meta []byte) []byte {
		return appendMember(meta, []byte(mcp.MetaLogLevel), quoted(string(level)))
	}, func(string) bool { return true })
}

// forClient returns params for a call during which the client may ask: it takes no keys of _meta
// that the protocol reserves.
func forClient(params json.RawMessage) json.RawMessage {
	if !bytes.Contains(params, []byte(`"_meta"`)) {
		return params
	}
	return remeta(params, func(meta []byte) []byte { return meta }, func(key string) bool { return !mcp.ReservedMetaKey(key) })
}

// mayAsk reports whether the server may ask a stateless host for something during a request that
// begins a call.
func (r *request) mayAsk() bool {
	if !r.attended() || bytes.Contains(r.Params, []byte(`"requestState"`)) {
		return false
	}
	var declared map[string]json.RawMessage
	_ = jsonrpc.Unmarshal(r.capabilities, &declared) // bad ones are refused elsewhere
	for _, capability := range asking {
		if _, yes := declared[capability]; yes {
			return true
		}
	}
	return false
}

// check returns what is wrong with a request of the stateless era.
func (r *request) check() *jsonrpc.Error {
	switch {
	case r.version.Era() != mcp.EraStateless:
		return unsupported(r.version)
	case r.level != "" && !r.level.Known():
		return jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: "+mcp.MetaLogLevel+" in _meta is no log level", nil)
	case len(r.capabilities) == 0 || r.capabilities[0] != '{':
		return jsonrpc.NewError(jsonrpc.CodeInvalidParams, "Invalid params: "+mcp.MetaClientCapabilities+" in _meta must be an object", nil)
	}
	return nil
}
