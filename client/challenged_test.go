package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
)

// noting is an Authorizer that notes the calls whose requests were refused.
type noting struct {
	counted
	mu    sync.Mutex
	calls []*transport.ChallengedCall
}

func (n *noting) Challenged(ctx context.Context, c transport.Challenge) (*transport.Credentials, error) {
	n.mu.Lock()
	n.calls = append(n.calls, c.Call)
	n.mu.Unlock()
	return n.counted.Challenged(ctx, c)
}

// roundStep has the server ask the client to go on with the call.
func roundStep(w http.ResponseWriter, r *http.Request) bool {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","requestState":"s"}}`, m.ID)
	return true
}

// An Authorizer knows all challenges of one call, and whether the call has succeeded.
func TestChallengesOfOneCall(t *testing.T) {
	t.Parallel()
	forbidden, busy := statusStep(http.StatusForbidden), statusStep(http.StatusServiceUnavailable)
	type steps = []func(http.ResponseWriter, *http.Request) bool
	for name, tt := range map[string]struct {
		opts       []client.Option
		steps      steps
		challenges int
		fails      bool
		stateless  bool // only in that era
	}{
		"twice":                  {steps: steps{forbidden, forbidden}, challenges: 2},
		"again after a retry":    {opts: []client.Option{retries(client.Retry{Policy: client.RetryAlways})}, steps: steps{forbidden, busy, forbidden}, challenges: 2},
		"again in another round": {steps: steps{forbidden, roundStep, forbidden, forbidden}, challenges: 3, stateless: true},
		"again by a middleware": {opts: []client.Option{client.WithMiddleware(func(next client.Next) client.Next {
			return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
				if raw, err := next(ctx, inv); err == nil || inv.Method != "tools/call" {
					return raw, err
				}
				return next(context.WithValue(ctx, userKey{}, ""), inv)
			}
		})}, steps: steps{forbidden, statusStep(http.StatusBadRequest), forbidden}, challenges: 2},
		"in two requests at the same time": {
			opts: []client.Option{client.WithResilience(client.Resilience{
				Hedge: client.Hedge{Share: 1, After: time.Second}, Retry: client.Retry{Policy: client.RetryAlways},
			})},
			steps: steps{func(w http.ResponseWriter, r *http.Request) bool {
				select {
				case <-time.After(2 * time.Second):
				case <-r.Context().Done():
				}
				return forbidden(w, r)
			}, forbidden, func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true }}, challenges: 2,
			stateless: true,
		},
		"a call that fails":               {steps: steps{forbidden, statusStep(http.StatusBadRequest)}, challenges: 1, fails: true},
		"a call that fails in a round":    {steps: steps{forbidden, roundStep, statusStep(http.StatusBadRequest)}, challenges: 1, fails: true, stateless: true},
		"a call whose answer is an error": {steps: steps{forbidden, errorStep}, challenges: 1, fails: true},
		"a call that the server refuses":  {steps: steps{forbidden, forbidden, forbidden, forbidden, forbidden, forbidden}, challenges: 5, fails: true},
	} {
		for era, version := range map[string]string{"session": "2025-11-25", "stateless": "2026-07-28"} {
			if tt.stateless && era != "stateless" {
				continue
			}
			t.Run(name+" "+era, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p, by := newKeyedPeer(t, version), &noting{counted: counted{token: "first"}}
					c, err := client.Connect(t.Context(), &transport.HTTP{
						URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), Authorizer: by,
					}, append([]client.Option{client.WithProtocolVersion(version)}, tt.opts...)...)
					require.NoError(t, err)
					t.Cleanup(func() {
						require.NoError(t, c.Close())
						p.mem.Close()
					})
					p.script("tools/call", tt.steps...)
					_, err = c.CallTool(t.Context(), "echo", hello)
					require.Equal(t, tt.fails, err != nil, err)
					require.Len(t, by.calls, tt.challenges)
					for _, call := range by.calls {
						require.Same(t, by.calls[0], call)
						require.Equal(t, !tt.fails, call.Succeeded())
					}
					p.script("tools/call", forbidden)
					_, err = c.CallTool(t.Context(), "echo", hello)
					require.NoError(t, err)
					require.NotSame(t, by.calls[0], by.calls[len(by.calls)-1], "another call")
				})
			})
		}
	}
}

// errorStep answers with an error of JSON-RPC.
func errorStep(w http.ResponseWriter, r *http.Request) bool {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.NewDecoder(r.Body).Decode(&m)
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no"}}`, m.ID)
	return true
}
