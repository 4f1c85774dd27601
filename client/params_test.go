package client_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// lateReader answers calls of tools when it has read the beginning of them only,
// as an HTTP server may, and reads the rest when it is asked to.
type lateReader struct {
	mu      sync.Mutex
	answers []string
	heads   []string
	rests   []io.Reader
}

func (l *lateReader) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	head := make([]byte, 200)
	n, _ := io.ReadAtLeast(r.Body, head, 60)
	_, id, _ := strings.Cut(string(head[:n]), `"id":`)
	id = id[:strings.IndexAny(id, ",}")]
	result := doneResult
	switch r.Header.Get("Mcp-Method") {
	case "server/discover":
		result = discoverAll
	case "tools/list":
		result = listing(aTool)
	default:
		l.heads, l.rests = append(l.heads, string(head[:n])), append(l.rests, r.Body)
		if len(l.answers) > 0 {
			result, l.answers = l.answers[0], l.answers[1:]
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, ContentLength: -1, Header: http.Header{"Content-Type": {"application/json"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"jsonrpc":"2.0","id":` + id + `,"result":` + result + `}`)),
	}, nil
}

// request returns the n-th call, read now.
func (l *lateReader) request(t *testing.T, n int) string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	rest, err := io.ReadAll(l.rests[n])
	require.NoError(t, err)
	whole := l.heads[n] + string(rest)
	require.True(t, json.Valid([]byte(whole)), "...%s", whole[max(0, len(whole)-200):])
	return whole
}

// Params that are sent without a copy are not overwritten while a transport may still
// read them: neither by the next round of the call nor by the next call.
func TestParamsOnTheirWayAreLeftAlone(t *testing.T) {
	t.Parallel()
	pad := strings.Repeat("p", 60<<10)
	state := strings.Repeat("s", 60<<10)
	ask := func(state string) string { return `{"resultType":"input_required","requestState":"` + state + `"}` }
	tests := map[string]struct {
		message string
		opts    []client.CallOption
		answers []string
	}{
		"large arguments":    {pad, nil, []string{ask("one")}},
		"large _meta":        {"m", []client.CallOption{client.WithMeta("acme/pad", pad)}, []string{ask("one")}},
		"large state":        {"m", nil, []string{ask(state), ask("two")}},
		"large, then larger": {pad, nil, []string{ask(state), ask("two")}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &lateReader{answers: tt.answers}
			c, err := client.Connect(t.Context(), &transport.HTTP{URL: "http://x.invalid/mcp", RoundTripper: l}, statelessEra)
			require.NoError(t, err)
			defer func() { require.NoError(t, c.Close()) }()
			_, err = c.CallTool(t.Context(), "echo", map[string]any{"message": tt.message}, tt.opts...)
			require.NoError(t, err)
			for range 4 { // whatever memory is used again is used by these
				_, err = c.CallTool(t.Context(), "echo", map[string]any{"message": "another one", "region": "xx"})
				require.NoError(t, err)
			}
			first := l.request(t, 0)
			require.NotContains(t, first, "requestState")
			require.Contains(t, first, `"message":"`+tt.message+`"`)
			for n := range tt.answers {
				later := l.request(t, n+1)
				require.Contains(t, later, `"requestState":`)
				require.Contains(t, later, `"message":"`+tt.message+`"`)
			}
		})
	}
}
