package suitetest

import (
	"bytes"
	"encoding/json"
	"strings"
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

// What is shown of a scenario with many calls is the call that it complains of, also if it is not
// the last one.
func TestManyCalls_ShowTheOne(t *testing.T) {
	t.Parallel()
	for _, check := range []string{"X-WIRE-08", "X-WIRE-09", "X-WIRE-09/code", "X-WIRE-10/length"} {
		res := argumentDefects()[check].judge(t, check, "shown")
		tool, _, found := strings.Cut(res.Actual, " with ")
		require.True(t, found, res.Actual)
		require.NotEmpty(t, res.Evidence)
		require.Contains(t, string(res.Evidence[0].Data), `"name":"`+tool+`"`, check)
	}
}
