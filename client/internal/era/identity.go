package era

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Identity describes a client: once per session in the session era, with every request in the
// stateless era.
type Identity struct {
	Info mcp.Implementation
	// Nameless omits Info from requests of the stateless era.
	Nameless bool
	// Capabilities returns the capabilities that the client declares in a revision.
	Capabilities func(mcp.Version) mcp.ClientCapabilities
}

// params encodes the params of initialize.
func (i *Identity) params(offered mcp.Version) (json.RawMessage, error) {
	return mcp.Marshal(&mcp.InitializeParams{
		ProtocolVersion: offered, ClientInfo: i.Info, Capabilities: i.Capabilities(offered),
	})
}

// Meta encodes the description of the client in every request of a stateless revision: members of
// _meta, without braces. level is the log level as JSON, nil for no log messages.
func (i *Identity) Meta(version mcp.Version, level json.RawMessage) ([]byte, error) {
	caps := i.Capabilities(version)
	encoded, err := mcp.Marshal(&caps)
	if err != nil {
		return nil, err
	}
	var name json.RawMessage
	if !i.Nameless {
		if name, err = mcp.Marshal(&i.Info); err != nil {
			return nil, err
		}
	}
	var out []byte
	for _, m := range []struct {
		key   string
		value json.RawMessage
	}{
		{mcp.MetaProtocolVersion, jsonrpc.AppendString(nil, string(version))},
		{mcp.MetaClientCapabilities, encoded},
		{mcp.MetaClientInfo, name},
		{mcp.MetaLogLevel, level},
	} {
		if m.value == nil {
			continue
		}
		if len(out) > 0 {
			out = append(out, ',')
		}
		out = append(jsonrpc.AppendString(out, m.key), ':')
		out = append(out, m.value...)
	}
	return out, nil
}

// Speak sets the revision of later requests over the live link. A server may name the revision
// that it has just refused; the request is then sent once more. level is as in Meta.
func (i *Identity) Speak(links *link.Holder, version mcp.Version, level json.RawMessage) error {
	for {
		with := links.Load()
		a := *with.Agreed
		if a.Version == version || a.Era == mcp.EraSession {
			return nil
		}
		meta, err := i.Meta(version, level)
		if err != nil {
			return invalid(err)
		}
		a.Version, a.Meta = version, meta
		with.Conn.UseVersion(string(version))
		if links.Amend(with, &a) {
			return nil
		}
	}
}
