package client_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// asksStateless plays a server of the stateless era that sends a request in the middle of
// a call, and answers the call only after the response.
func asksStateless(conn net.Conn, request string, got chan<- string) {
	defer func() { _ = conn.Close() }()
	var call json.RawMessage
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			return
		}
		switch m.Method {
		case "server/discover":
			fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, discoverAll)
		case "tools/call":
			call = m.ID
			fmt.Fprintln(conn, request)
		case "":
			got <- lines.Text()
			fmt.Fprintf(conn, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", call, doneResult)
		}
	}
}

// A server of the stateless era must not ask, but go-sdk's sends ping. Its answer is the
// condition of the call's. What else a server asks is dropped, and the call's error names
// it: without the answer the server may say nothing any more.
func TestServerAsksInTheStatelessEra(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ request, answer, dropped string }{
		"ping":     {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, ""},
		"sampling": {`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}`, "", "sampling/createMessage"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tr, theirs := transport.InMemory()
				got, dropped := make(chan string, 1), make(chan string, 10)
				go asksStateless(theirs, tt.request, got)
				c, err := client.Connect(t.Context(), tr, statelessEra, client.WithCache(client.CacheConfig{NoPreload: true}),
					client.OnEvent(func(_ context.Context, e client.Event) {
						if e, ok := e.(client.RequestDropped); ok {
							dropped <- e.Method
						}
					}))
				require.NoError(t, err)
				defer func() { _ = c.Close() }()
				began := time.Now()
				_, err = c.CallTool(t.Context(), "echo", nil)
				if tt.dropped == "" {
					require.NoError(t, err)
					require.Zero(t, time.Since(began))
					require.JSONEq(t, tt.answer, <-got)
					require.Empty(t, dropped)
					return
				}
				require.Equal(t, mcperrors.CodeTimeout, mcperrors.CodeOf(err), err)
				require.ErrorContains(t, err, "the server asked "+tt.dropped+", which this era does not allow, and got no answer")
				require.Equal(t, 1, strings.Count(err.Error(), tt.dropped))
				require.Equal(t, tt.dropped, <-dropped)
			})
		})
	}
}
