package pool_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/pool"
)

// network is the network of all servers of a pool. While it is down, an attempt takes as
// long as the system needs to give up.
type network struct {
	transport.Transport
	down       *atomic.Bool
	took       time.Duration
	busy, most *atomic.Int32
}

func (n network) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	now := n.busy.Add(1)
	defer n.busy.Add(-1)
	for most := n.most.Load(); now > most && !n.most.CompareAndSwap(most, now); most = n.most.Load() {
	}
	if n.down.Load() {
		<-time.After(n.took)
		return nil, refuses(0)
	}
	return n.Transport.Connect(ctx, h)
}

// After a network that was down for a minute, all of many servers are back within
// 35 s, and there were at most 64 attempts at a time: whether attempts fail at once or
// wait for an answer, as long as a dialer does (5 s) or longer.
func TestPoolAfterAnOutage(t *testing.T) {
	t.Parallel()
	for _, took := range []time.Duration{0, 5 * time.Second, 15 * time.Second} {
		t.Run(took.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var down atomic.Bool
				var busy, most atomic.Int32
				down.Store(true)
				servers := []pool.Server{serverAt("near", toolServer(t, "near", "echo").Transport())}
				far := toolServer(t, "far", "echo")
				for i := range 300 {
					servers = append(servers, serverAt(fmt.Sprint("far ", i), network{far.Transport(), &down, took, &busy, &most}))
				}
				p, err := pool.Open(t.Context(), servers, pool.WithStartupWait(0))
				require.NoError(t, err)
				defer func() { require.NoError(t, p.Close()) }()
				time.Sleep(time.Minute)
				require.Len(t, p.Failures(), 300)
				down.Store(false)
				time.Sleep(35 * time.Second)
				require.Empty(t, p.Failures())
				require.LessOrEqual(t, most.Load(), int32(64))
			})
		})
	}
}
