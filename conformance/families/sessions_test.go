package families

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// listen opens the stream of the session, which keeps the session in use.
func (s *site) listen() {
	s.t.Helper()
	require.Equal(s.t, http.StatusOK, s.do(http.MethodGet, "").StatusCode)
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

// Sessions that a client opens and leaves do not keep others out, and their places
// are free again when they end.
func TestAbandonedSessionsLockNobodyOut(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) { o.MaxSessions = 3 })
	for range 20 {
		s.session = ""
		require.Equal(t, http.StatusOK, s.initialize(t.Context()))
	}
	s.session = ""
	s.handshake()
	mine := s.session
	// The 202 of a notification comes before it is heard; an answer comes after it.
	status, _ := s.post(`{"jsonrpc":"2.0","id":6,"method":"tools/list"}`)
	require.Equal(t, http.StatusOK, status)
	for range 20 {
		s.session = ""
		require.Equal(t, http.StatusOK, s.initialize(t.Context()))
	}
	s.session = mine
	status, _ = s.post(`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`)
	require.Equal(t, http.StatusOK, status, "a complete session outlives those that are not")
}

// A session that ends because nobody uses it is unknown from then on.
func TestUnusedSessionIsUnknown(t *testing.T) {
	t.Parallel()
	s := serve(t, func(o *Options) { o.SessionIdle = time.Millisecond })
	status, _ := s.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	require.Equal(t, http.StatusOK, status)
	require.NotEmpty(t, s.session)
	require.Eventually(t, func() bool {
		status, _ := s.post(`{"jsonrpc":"2.0","id":7,"method":"ping"}`)
		return status == http.StatusNotFound
	}, time.Minute, 5*time.Millisecond)
}
