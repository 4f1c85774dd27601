package client_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// instant is a transport that answers at once, on the goroutine of the caller, so that
// a benchmark measures only the client.
type instant struct {
	received atomic.Uint64
	done     chan struct{}
}

func newInstant() *instant { return &instant{done: make(chan struct{})} }

func (i *instant) String() string { return "instant" }

func (i *instant) Connect(context.Context, transport.Handler) (transport.Conn, error) { return i, nil }

var (
	instantInit = json.RawMessage(initResult)
	instantList = json.RawMessage(oneTool)
	instantEcho = json.RawMessage(`{"content":[]}`)
)

func (i *instant) Call(_ context.Context, req transport.Request) (transport.Answer, error) {
	i.received.Add(1)
	result := instantEcho
	switch req.Method {
	case "initialize":
		result = instantInit
	case "tools/list":
		result = instantList
	}
	return transport.Answer{Response: jsonrpc.Response{ID: req.ID, Result: result}}, nil
}

func (i *instant) Notify(context.Context, jsonrpc.Notification) error { return nil }
func (i *instant) Respond(context.Context, jsonrpc.Response) error    { return nil }
func (i *instant) Touch(jsonrpc.ID)                                   {}
func (i *instant) UseVersion(string)                                  {}
func (i *instant) Traits() transport.Traits                           { return transport.Traits{} }
func (i *instant) Done() <-chan struct{}                              { return i.done }
func (i *instant) Close() error                                       { return nil }
func (i *instant) Received() uint64                                   { return i.received.Load() }
func (i *instant) Late() uint64                                       { return 0 }

// limited is everything on, the limits that are off by default too.
func limited() client.Resilience {
	r := client.Resilience{Bulkhead: client.Bulkhead{Limit: 64, Adaptive: true}}
	r.Rate = client.Rate{PerSecond: 1e9, Burst: 1 << 20}
	return r
}

var chains = []struct {
	name string
	opts []client.Option
}{
	{"bare", []client.Option{client.WithResilience(client.Resilience{Off: true})}},
	{"whole", nil},
	{"limited", []client.Option{client.WithResilience(limited())}},
}

func chainClient(t testing.TB, opts []client.Option) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), newInstant(), append(pinned(opts), client.WithValidation(client.Validation{Arguments: client.ValidateOff}))...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// BenchmarkChain measures the chain on the good path, without the transport: whole less
// bare may take 700 ns and two allocations; limited also has a bulkhead, AIMD and a
// rate limit.
func BenchmarkChain(b *testing.B) {
	for _, chain := range chains {
		b.Run(chain.name, func(b *testing.B) {
			c := chainClient(b, chain.opts)
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.CallTool(ctx, "echo", anyArgs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// On the good path the chain allocates fewer than two times more than the bare client.
func TestCostOfTheChain(t *testing.T) {
	var bare float64
	for _, chain := range chains {
		allocs, _ := cost(t, 2000, callEcho(t, chainClient(t, chain.opts)))
		t.Logf("%s: %.2f allocations", chain.name, allocs)
		if chain.name == "bare" {
			bare = allocs
		}
		require.LessOrEqual(t, allocs, bare+2)
	}
}
