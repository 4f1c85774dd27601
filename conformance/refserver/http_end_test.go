package refserver

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/refserver/family"
)

// A chat that runs while the server is told to end can still be finished: its
// agent's calls are taken until it is (X-SHUT-01).
func TestRoutesEndBeforeTheirCalls_X_SHUT_01(t *testing.T) {
	t.Parallel()
	entered, goOn := make(chan struct{}), make(chan struct{})
	var s *site
	chat := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("late") != "" {
			return
		}
		close(entered)
		<-goOn
		status := s.initialize(r.Context())
		w.WriteHeader(status)
	})
	s = serve(t, func(o *Options) {
		o.extra = append(o.extra, &family.Family{Name: "chat", Routes: map[string]http.Handler{"POST /chat": chat}})
	})
	base := strings.TrimSuffix(s.url, Path)
	running := make(chan int, 1)
	go func() { running <- s.status(context.WithoutCancel(t.Context()), base+"/chat", "") }()
	<-entered
	s.stop()
	// Until the end has begun.
	for s.status(t.Context(), base+"/chat?late=1", "") != http.StatusServiceUnavailable {
	}
	close(goOn)
	require.Equal(t, http.StatusOK, <-running, "the call of the chat was taken")
	require.NoError(t, <-s.ended)
}

func (s *site) initialize(ctx context.Context) int {
	return s.status(ctx, s.url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
}

// status posts a body and returns the status of the answer, 0 for none.
func (s *site) status(ctx context.Context, url, body string) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	res, err := s.client.Do(r)
	if err != nil {
		return 0
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return 0
	}
	return res.StatusCode
}
