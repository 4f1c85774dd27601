package client

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
)

// Who waits for a server that is wanted now is told when it has come back by
// itself in the moment in between.
func TestPoolTellsWhoWaitsOfARecovery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		c := &Client{}
		c.keeper.part.Store(restartsNothing())
		c.live.Store(&link.Link{Conn: &namedConn{name: "1"}})
		c.state.Store(uint32(StateRestarting))
		m := &poolMember{p: &Pool{changed: make(chan struct{})}, wake: make(chan struct{}, 1), state: ServerConnected}
		m.client.Store(c)
		reconnected, stayed := make(chan error, 1), make(chan error, 1)
		go func() { reconnected <- m.reconnect(ctx) }()
		synctest.Wait()
		require.Len(t, m.wake, 1, "it is wanted")
		c.state.Store(uint32(StateReady))
		go func() { stayed <- m.stay(ctx, c) }()
		synctest.Wait()
		require.Empty(t, stayed, "what works is kept")
		require.Len(t, reconnected, 1, "nobody is left waiting")
		require.NoError(t, <-reconnected)
		cancel()
		require.NoError(t, <-stayed)
	})
}

// A wish from before a try is granted by that try: it does not shorten the pause
// after it.
func TestPoolGrantsAWishOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &Pool{changed: make(chan struct{}), cfg: &poolConfig{first: time.Second, most: time.Minute, logger: slog.New(slog.DiscardHandler)}}
		m := &poolMember{p: p, wake: make(chan struct{}, 1), state: ServerConnecting}
		m.wake <- struct{}{}
		began := time.Now()
		require.True(t, m.pause(t.Context(), errors.New("gone"), 0))
		require.GreaterOrEqual(t, time.Since(began), time.Second/2)
		time.AfterFunc(time.Second/10, func() { m.wake <- struct{}{} })
		began = time.Now()
		require.True(t, m.pause(t.Context(), errors.New("gone"), 0))
		require.Equal(t, time.Second/10, time.Since(began), "what is wished for meanwhile ends it")
	})
}
