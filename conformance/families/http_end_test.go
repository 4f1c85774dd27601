package families

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/server"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// A chat that runs while the server is asked to end can still be finished: its
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
		o.Extra = append(o.Extra, &family.Family{Name: "chat", Routes: map[string]http.Handler{"POST /chat": chat}})
	})
	base := strings.TrimSuffix(s.url, server.Path)
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

// A connection without a whole request has nothing to wait for: the end is
// clean, and soon (X-SHUT-01).
func TestX_SHUT_01_UnfinishedRequests(t *testing.T) {
	t.Parallel()
	const head = "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
	for name, sent := range map[string]string{
		"nothing": "", "half a header": "POST /mcp HT",
		"half a body": fmt.Sprintf(head, server.Path), "half a body of a route": fmt.Sprintf(head, "/chat"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(o *Options) {
				read := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.ReadAll(r.Body) })
				o.Extra = append(o.Extra, &family.Family{Name: "chat", Routes: map[string]http.Handler{"POST /chat": read}})
			})
			base, err := url.Parse(s.url)
			require.NoError(t, err)
			var d net.Dialer
			c, err := d.DialContext(t.Context(), "tcp", base.Host)
			require.NoError(t, err)
			defer func() { require.NoError(t, c.Close()) }()
			_, err = io.WriteString(c, sent)
			require.NoError(t, err)
			// The listener takes connections in turn: ours has been taken.
			require.Equal(t, http.StatusOK, s.initialize(t.Context()))
			begin := time.Now()
			s.stop()
			require.NoError(t, <-s.ended)
			require.Less(t, time.Since(begin), 4*time.Second, "less than half of the grace")
		})
	}
}

// What runs without being a call of a session is finished as well: a method of
// its own and a call of the stateless era (X-SHUT-01).
func TestX_SHUT_01_CallsWithoutASession(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"direct":    `{"jsonrpc":"2.0","id":1,"method":"hold"}`,
		"stateless": aloneCall(t, "hold", map[string]any{}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entered, goOn := make(chan struct{}), make(chan struct{})
			hold := family.Tool{Name: "hold", InputSchema: json.RawMessage(`{"type":"object"}`), Handle: func(ctx context.Context, _ *family.Call) (any, error) {
				close(entered)
				select {
				case <-goOn:
					return map[string]bool{"held": true}, nil
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}}
			s := serve(t, func(o *Options) {
				o.Extra = []*family.Family{{Name: "held", Profile: "held", Direct: true, Tools: []family.Tool{hold}}}
			})
			got := make(chan *answer, 1)
			go func() {
				header := []string{}
				if name == "stateless" {
					header = []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "hold"}
				}
				got <- s.tryPost(body, header...)
			}()
			<-entered
			s.stop()
			for s.status(t.Context(), s.url, ping) != http.StatusServiceUnavailable {
			}
			close(goOn)
			a := <-got
			require.NotNil(t, a, "the connection was cut")
			require.Nil(t, a.Error)
			require.Contains(t, string(a.Result), "held")
			require.NoError(t, <-s.ended)
		})
	}
}

func (s *site) initialize(ctx context.Context) int {
	return s.status(ctx, s.url, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
}

// tryPost is post for goroutines of a test: without an answer it returns nil.
func (s *site) tryPost(body string, header ...string) *answer {
	r, err := http.NewRequestWithContext(context.WithoutCancel(s.t.Context()), http.MethodPost, s.url, strings.NewReader(body))
	if err != nil {
		return nil
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := s.client.Do(r)
	if err != nil {
		return nil
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil
	}
	text := string(raw)
	if i := strings.LastIndex(text, "data: "); i >= 0 {
		text = text[i+len("data: "):]
	}
	var a answer
	if json.Unmarshal([]byte(text), &a) != nil {
		return nil
	}
	return &a
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
