package client

import (
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// adopt opens a conversation of the stateless era: there is nothing to open but
// knowing the server. raw is its answer to server/discover (DISC-01), nil when
// it has none: then nothing is known of it and nothing asked of it.
func (c *Client) adopt(version mcp.Version, raw json.RawMessage) error {
	meta, err := c.requestMeta(version)
	if err != nil {
		return badOption(err)
	}
	a := &link.Agreement{Version: version, Era: mcp.EraStateless, Meta: meta}
	if raw != nil {
		var res mcp.DiscoverResult
		if err := mcp.Unmarshal(raw, &res); err != nil {
			return c.undecodable(subject{method: mcp.MethodDiscover, attempts: 1}, err)
		}
		if err := c.checkRequired(res.Capabilities, mcp.MethodDiscover); err != nil {
			return err
		}
		a.Capabilities, a.Declared = res.Capabilities, true
		a.Instructions, a.Raw = res.Instructions, raw
	}
	c.live.Newest().Conn.UseVersion(string(version))
	c.agree(a)
	return nil
}

// requestMeta encodes what every request says of this client (META-04,
// META-05): once, since it is the same every time.
func (c *Client) requestMeta(version mcp.Version) ([]byte, error) {
	caps := c.cfg.offer.Capabilities(version)
	encoded, err := mcp.Marshal(&caps)
	if err != nil {
		return nil, err
	}
	var info json.RawMessage
	if !c.cfg.nameless {
		if info, err = mcp.Marshal(&c.cfg.info); err != nil {
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
		{mcp.MetaClientInfo, info},
		{mcp.MetaLogLevel, c.stampedLevel()},
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
