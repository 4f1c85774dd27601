package families

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// A panic outside of tools is answered like one in a tool (X-SEC-03).
func TestX_SEC_03_PanicInAResource(t *testing.T) {
	t.Parallel()
	broken := &family.Family{Name: "broken", Resources: []family.Resource{{
		Name: "broken", URITemplate: "test://broken/{id}",
		Read: func(context.Context, string) (string, error) { panic("a bug") },
	}}}
	s := serve(t, func(o *Options) { o.Extra = []*family.Family{broken} })
	s.handshake()
	_, a := s.post(`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"test://broken/1"}}`)
	require.NotNil(t, a.Error)
	require.Equal(t, int64(-32603), a.Error.Code)
	require.NotContains(t, a.Error.Message, "a bug")
	_, a = s.post(ping)
	require.Nil(t, a.Error)
}
