package suitetest

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/observe"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// RPC-12: a request with an id is answered, by servers that announce no error
// profiles, too. Any code will do from those, silence will not.
func TestWrongParams_OfStrangers(t *testing.T) {
	t.Parallel()
	stranger := func(answer func(m fakeMessage) any) rewritten {
		r := answering(`"params":["a"]`, answer)
		r.revision = mcp.LatestSession
		r.after = func(m fakeMessage, out reply) []any {
			if result, ok := out["result"].(reply); ok && m.method == mcp.MethodInitialize {
				delete(result["capabilities"].(reply), "experimental") //nolint:forcetypeassert // the reference server's
			}
			return []any{out}
		}
		return r
	}
	const check = "RPC-12/array"
	require.Equal(t, conformance.Warn, stranger(ignores).judge(t, check).Status)
	require.Equal(t, conformance.Warn, stranger(accepts).judge(t, check).Status)
	require.Equal(t, conformance.Pass, stranger(fails).judge(t, check).Status)
}

// RPC-22: a server may serve what is nested too deep for the suite's own reader.
func TestDeepRequest_Served(t *testing.T) {
	t.Parallel()
	if testmain.Race {
		t.Skip("race: much of the same, and nothing at once")
	}
	r := rewritten{options: onlyFixtures, also: []string{"RPC-22/deep"}, line: func(line []byte) ([]any, bool) {
		_, after, deep := bytes.Cut(line, []byte(`"id":`))
		if deep = deep && bytes.Contains(line, []byte(`{"a":{"a":`)); !deep {
			return nil, false
		}
		id, _, _ := bytes.Cut(after, []byte(","))
		return []any{success(json.RawMessage(id), reply{})}, true
	}}
	require.Equal(t, conformance.Pass, r.judge(t, observe.SeenKnown).Status)
}
