package observe

import (
	"bytes"
	"encoding/json"

	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/internal/lazyregexp"
)

const (
	SeenMetaKeys = "META-01/keys"
	// mostMeta bounds the messages whose _meta is judged.
	mostMeta = 256 << 10
)

// metaKey matches the name of a member of _meta: an optional prefix of labels, and a name,
// which may be empty.
var metaKey = lazyregexp.New(`^(?:[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*/)?(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?$`)

// meta judges the _meta of one message, and those of the entries of its lists.
func (o *Observer) meta(in wire.Inbound) {
	if len(in.Data) > mostMeta || !bytes.Contains(in.Data, []byte(`"_meta"`)) {
		return
	}
	for _, name := range []string{"result", "params"} {
		members, _ := rawjson.Object(in.Members[name])
		o.metaOf(in, members)
		for _, value := range members {
			var entries []map[string]json.RawMessage
			if !rawjson.IsArray(value) || json.Unmarshal(value, &entries) != nil {
				continue // no list of objects
			}
			for _, e := range entries {
				o.metaOf(in, e)
			}
		}
	}
}

func (o *Observer) metaOf(in wire.Inbound, members map[string]json.RawMessage) {
	meta, _ := rawjson.Object(members["_meta"])
	for _, key := range rawjson.SortedKeys(meta) {
		o.See(SeenMetaKeys, metaKey.MatchString(key), in, "_meta has %q", rawjson.Clip(key, 80))
	}
}
