package client_test

import (
	"bytes"
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// deaf is a transport of the application that ignores the ends of contexts when a
// program is restarted: while it connects, or in the handshake.
type deaf struct {
	*fakePrograms
	inHandshake bool
	release     chan struct{}
	closed      int // of connections that were opened late
}

func (d *deaf) Connect(ctx context.Context, h transport.Handler) (transport.Conn, error) {
	again := d.count() > 0
	if again && !d.inHandshake {
		<-d.release
		ctx = context.WithoutCancel(ctx)
	}
	conn, err := d.fakePrograms.Connect(ctx, h)
	if err == nil && again {
		conn = &deafConn{conn.(fakeProgram), d}
	}
	return conn, err
}

type deafConn struct {
	fakeProgram
	d *deaf
}

func (c *deafConn) Call(ctx context.Context, req transport.Request) (transport.Answer, error) {
	if c.d.inHandshake && req.Method == mcp.MethodInitialize {
		<-c.d.release
	}
	return c.fakeProgram.Call(ctx, req)
}

func (c *deafConn) Close() error {
	c.d.closed++
	return c.fakeProgram.Close()
}

// Close waits one second for a transport that does not return, and logs that. It closes
// what such a transport opens later.
func TestCloseDoesNotWaitForTransports(t *testing.T) {
	t.Parallel()
	for name, inHandshake := range map[string]bool{"connecting": false, "in the handshake": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := &deaf{fakePrograms: &fakePrograms{t: t}, inHandshake: inHandshake, release: make(chan struct{})}
				var log bytes.Buffer
				c, err := client.Connect(t.Context(), d, sessionEra, client.WithEraStore(nil), client.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
				require.NoError(t, err)
				d.last().crash()
				time.Sleep(time.Second) // it is being restarted
				require.Equal(t, client.StateRestarting, c.State())

				closed := make(chan error, 1)
				go func() { closed <- c.Close() }()
				time.Sleep(time.Second + time.Millisecond)
				select {
				case err := <-closed:
					require.NoError(t, err)
				default:
					t.Error("Close waits for the transport")
				}
				close(d.release)
				synctest.Wait()
				require.Equal(t, 1, d.closed)
				require.Contains(t, log.String(), "did not return within a second of Close")
			})
		})
	}
}

// Done is closed when the server ends a connection that nothing opens again, and
// when the client is closed.
func TestDone(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *client.Client, p *fakePrograms){
		"ended":  func(_ *client.Client, p *fakePrograms) { p.last().crash() },
		"closed": func(c *client.Client, _ *fakePrograms) { _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := &fakePrograms{t: t}
				c, err := client.Connect(t.Context(), p, sessionEra, client.WithEraStore(nil), client.WithResilience(client.Resilience{Restart: client.Restart{Off: true}}))
				require.NoError(t, err)
				defer func() { require.NoError(t, c.Close()) }()
				early := c.Done()
				require.False(t, isDone(early))
				end(c, p)
				synctest.Wait()
				require.True(t, isDone(early))
				require.True(t, isDone(c.Done()))
			})
		})
	}
}

func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Close answers everybody, in flight, in a queue or in a pause.
func TestCloseEndsWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		r := client.Resilience{Bulkhead: client.Bulkhead{Limit: 500, Queue: 500}}
		c, err := client.Connect(t.Context(), tr, sessionEra, client.WithResilience(r))
		require.NoError(t, err)
		s.on("tools/call", func(jsonrpc.Request) any { return nil })
		var ended atomic.Int32
		for range 1000 {
			go func() {
				if _, err := c.CallTool(t.Context(), "echo", hello); err != nil {
					ended.Add(1)
				}
			}()
		}
		synctest.Wait()
		began := time.Now()
		require.NoError(t, c.Close())
		synctest.Wait()
		require.EqualValues(t, 1000, ended.Load())
		require.LessOrEqual(t, time.Since(began), time.Second)
	})
}
