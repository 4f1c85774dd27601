package client

import (
	"bytes"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// related repeats in the answer to a question of the server's which task the
// question belongs to (META-09).
func related(params, result json.RawMessage) json.RawMessage {
	if result == nil || !bytes.Contains(params, []byte(mcp.MetaRelatedTask)) {
		return result
	}
	var task json.RawMessage
	err := jsonrpc.Members(params, func(name, value []byte) bool {
		if string(name) == "_meta" {
			task, _ = mcp.MetaValue(value, mcp.MetaRelatedTask)
		}
		return true
	})
	if err != nil || task == nil {
		return result
	}
	open, meta, err := openParams(bytes.Clone(result))
	if err != nil {
		return result // the handler's own _meta is not what it should be
	}
	open = append(member(open, []byte(`"_meta":`)), '{')
	open = member(open, meta)
	open = member(open, append(jsonrpc.AppendString(nil, mcp.MetaRelatedTask), ':'))
	return append(append(open, task...), '}', '}')
}
