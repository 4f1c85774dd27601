package era

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Identity describes a client: once in the session era, with every request
// in the stateless one.
type Identity struct {
	Info mcp.Implementation
	// Nameless leaves Info out of the requests of the stateless era.
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

// Meta encodes what every request of a stateless revision tells about the client
// : members of _meta, without braces. level is the log level as a JSON text, nil
// for no log messages.
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

// Speak makes version the one that every later request over the live link is of. A server
// may name the revision it has just refused; the request is sent once more then. level is
// as in Meta.
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
