package client_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// A call ends within its maximum time however many attempts it takes, each of
// them quick enough.
func TestWholeCallIsBounded(t *testing.T) {
	t.Parallel()
	const attempt = 55 * time.Second
	tests := map[string]struct {
		opts []client.CallOption
		want time.Duration
	}{
		"by default":      {nil, 10 * time.Minute},
		"by an option":    {[]client.CallOption{client.WithTimeouts(time.Minute, 2*time.Minute)}, 2 * time.Minute},
		"by the client's": {[]client.CallOption{client.WithTimeouts(0, 0)}, 10 * time.Minute},
		"by nothing":      {[]client.CallOption{client.WithTimeouts(time.Minute, -1)}, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c, s := statelessPipe(t)
				s.on("tools/call", func(jsonrpc.Request) any {
					time.Sleep(attempt)
					return json.RawMessage(`{"resultType":"input_required","requestState":"x"}`)
				})
				began := time.Now()
				_, err := c.CallTool(t.Context(), "echo", hello, tt.opts...)
				took := time.Since(began)
				if tt.want == 0 {
					require.Equal(t, mcperrors.KindInputRequired, mcperrors.KindOf(err), "%v", err)
					require.Greater(t, took, 20*attempt)
					return
				}
				require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(err), "%v", err)
				require.Equal(t, tt.want, took)
				time.Sleep(attempt) // the server ends its last answer
			})
		})
	}
}
