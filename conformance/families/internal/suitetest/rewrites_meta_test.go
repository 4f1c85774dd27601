package suitetest

import (
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func metaKeyRewrites() map[string]rewritten {
	keys := changed(mcp.MethodToolsList, func(_ fakeMessage, result reply) {
		result["tools"].([]any)[0].(reply)["_meta"] = reply{"-example.com/trace id": 1}
	})
	keys.also = []string{"LC-14"}
	return map[string]rewritten{observe.SeenMetaKeys: keys}
}
