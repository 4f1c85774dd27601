package proxy_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// Arguments that do not match reach the server only without WithArgumentCheck. With it the model
// learns which they are, and that nothing ran.
func TestArgumentCheck(t *testing.T) {
	t.Parallel()
	eachEra(t, func(t *testing.T, host mcp.Era, server mcp.Version) {
		for _, checks := range []bool{false, true} {
			s := clienttest.NewServer(t)
			s.Tool("add", `{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`, answers("added"))
			var opts []proxy.Option
			if checks {
				opts = append(opts, proxy.WithArgumentCheck())
			}
			h := newRawHost(t, s, server, opts...)
			h.begin(host)
			for id, arguments := range []string{`,"arguments":{"a":"one"}`, `,"arguments":{}`, ``, `,"arguments":["a"]`} {
				before := s.Count(mcp.MethodToolsCall)
				answer := h.asked(host, id+2, mcp.MethodToolsCall, `"name":"add"`+arguments)
				if !checks {
					require.Contains(t, answer, "added")
					continue
				}
				require.Equal(t, before, s.Count(mcp.MethodToolsCall), "not sent")
				require.Contains(t, answer, `"isError":true`)
				require.Contains(t, answer, "The tool did not run: the arguments do not match add: ")
				require.Contains(t, answer, `"kind":"invalid-arguments","delivery":"not-sent","retryable":false`)
			}
			require.Contains(t, h.asked(host, 10, mcp.MethodToolsCall, `"name":"add","arguments":{"a":1}`), "added")
			require.Contains(t, h.asked(host, 11, mcp.MethodToolsCall, `"name":"other","arguments":{"a":1}`), `"error":{"code":-32602`, "by the server")
			require.Equal(t, "other", func() string {
				all := s.Requests()
				return nameIn(t, all[len(all)-1].Params)
			}())
			require.NoError(t, h.close())
		}
	})
}

func nameIn(t *testing.T, params []byte) string {
	t.Helper()
	var p struct{ Name string }
	require.NoError(t, json.Unmarshal(params, &p))
	return p.Name
}
