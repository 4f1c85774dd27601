package refserver

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/family"
)

// What the families stand on ends after them, the last that was started first:
// the services before the store they write to.
func TestCloseEndsWhatFamiliesStandOn(t *testing.T) {
	t.Parallel()
	var order []string
	end := func(name string) func(context.Context) error {
		return func(context.Context) error { order = append(order, name); return nil }
	}
	srv, err := New(Options{Families: []string{"docling"}, extra: []*family.Family{{Name: "one", Close: end("family")}}})
	require.NoError(t, err)
	srv.closers = append(srv.closers, closer{"store", end("store")}, closer{"services", end("services")})
	require.NoError(t, srv.Close())
	require.Equal(t, []string{"family", "services", "store"}, order)
}

// The bound on sessions is one for all mounts together.
func TestSessionsOfAllMountsAreCounted(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) { o.MaxSessions = 2 })
	root := s.url
	for _, path := range []string{"", "/artifact"} {
		s.url, s.session = root+path, ""
		s.handshake()
		s.listen()
	}
	for _, path := range []string{"", "/artifact", "/probe"} {
		s.url, s.session = root+path, ""
		require.Equal(t, http.StatusServiceUnavailable, s.initialize(t.Context()), path)
	}
}

// The end does not wait for a subscription, which has no end of its own.
func TestX_SHUT_01_SubscriptionIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) { o.Families, o.ShutdownGrace = []string{"fixtures"}, time.Minute })
	res := s.do(http.MethodPost, alone("subscriptions/listen", `"notifications":{"toolsListChanged":true}`),
		"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.True(t, strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream"))
	first, err := bufio.NewReader(res.Body).ReadString('}')
	require.NoError(t, err)
	require.Contains(t, first, "notifications/subscriptions/acknowledged", "it is open")
	begin := time.Now()
	s.stop()
	require.NoError(t, <-s.ended)
	require.Less(t, time.Since(begin), 20*time.Second)
}
