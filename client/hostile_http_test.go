package client_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// onTool answers calls of tools by their message argument and leaves the rest
// to the website.
func onTool(replies map[string]func(w http.ResponseWriter, r *http.Request, req jsonrpc.Request)) func(http.ResponseWriter, *http.Request, jsonrpc.Request) bool {
	return func(w http.ResponseWriter, r *http.Request, req jsonrpc.Request) bool {
		if req.Method != "tools/call" {
			return false
		}
		for word, reply := range replies {
			if strings.Contains(string(req.Params), `"`+word+`"`) {
				reply(w, r, req)
				return true
			}
		}
		return false
	}
}

// A caller that cancels in the middle of a body or a stream ends nobody's session, and
// the server learns which call it was.
func TestHostileHTTPCancelMidBody(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"application/json", "text/event-stream"} {
		t.Run(contentType, func(t *testing.T) {
			t.Parallel()
			begun := make(chan jsonrpc.ID, 1)
			s := newWebsite(t, onTool(map[string]func(http.ResponseWriter, *http.Request, jsonrpc.Request){
				"slow": func(w http.ResponseWriter, r *http.Request, req jsonrpc.Request) {
					w.Header().Set("Content-Type", contentType)
					flush(w, `{"jsonrpc":"2.0",`)
					begun <- req.ID
					<-r.Context().Done()
				},
			}))
			c, err := dialWebsite(t, s.url)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := c.CallTool(ctx, "echo", map[string]any{"message": "slow"})
				done <- err
			}()
			id := <-begun
			began := time.Now()
			cancel()
			err = <-done
			require.Less(t, time.Since(began), 5*time.Second)
			wantError{"", mcperrors.KindCanceled, one(mcperrors.Unknown), nil}.check(t, err)
			require.Eventually(t, func() bool { return len(cancelledIDs(t, s.received())) == 1 }, 5*time.Second, time.Millisecond)
			require.Equal(t, []jsonrpc.ID{id}, cancelledIDs(t, s.received()))
			_, err = c.CallTool(t.Context(), "echo", message)
			require.NoError(t, err)
		})
	}
}

// What was not sent is not cancelled, and neither is initialize.
func TestHostileHTTPNothingToCancel(t *testing.T) {
	t.Parallel()
	s := newWebsite(t, nil)
	c, err := dialWebsite(t, s.url)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.CallTool(ctx, "echo", message)
	wantError{"", mcperrors.KindCanceled, one(mcperrors.NotSent), nil}.check(t, err)
	require.NoError(t, c.Close())
	require.Empty(t, cancelledIDs(t, s.received()))

	late := expiring{t.Context(), make(chan struct{})}
	s = newWebsite(t, func(_ http.ResponseWriter, r *http.Request, _ jsonrpc.Request) bool {
		close(late.over)
		<-r.Context().Done()
		return true
	})
	_, err = client.Dial(late, s.url, sessionEra)
	wantError{mcperrors.CodeTimeout, mcperrors.KindTimeout, one(mcperrors.Unknown), nil}.check(t, err)
	require.Len(t, s.received(), 1)
}

// expiring is a context whose deadline passes when over is closed.
type expiring struct {
	context.Context //nolint:containedctx // it is one

	over chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.over }

func (e expiring) Err() error {
	select {
	case <-e.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// Close ends a call without a deadline, and the session.
func TestHostileHTTPCloseInFlight(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{})
	s := newWebsite(t, onTool(map[string]func(http.ResponseWriter, *http.Request, jsonrpc.Request){
		"slow": func(_ http.ResponseWriter, r *http.Request, _ jsonrpc.Request) {
			close(begun)
			<-r.Context().Done()
		},
	}))
	c, err := dialWebsite(t, s.url)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := c.CallTool(t.Context(), "echo", map[string]any{"message": "slow"}, client.WithTimeouts(-1, -1))
		done <- err
	}()
	<-begun
	began := time.Now()
	require.NoError(t, c.Close())
	wantError{mcperrors.CodeUnavailable, mcperrors.KindClosed, one(mcperrors.Unknown), nil}.check(t, <-done)
	require.Less(t, time.Since(began), 5*time.Second)
	got := s.received()
	require.Empty(t, got[len(got)-1], "DELETE comes last")
}

// What HTTP says becomes an error of this client: its kind, its code, whether
// a repeat can do harm, and when to try again.
func TestHostileHTTPStatus(t *testing.T) {
	t.Parallel()
	tests := []struct {
		status   int
		header   string // Retry-After
		code     mcperrors.Code
		kind     mcperrors.Kind
		delivery mcperrors.Delivery
		again    bool // Retryable
		after    time.Duration
	}{
		{400, "", mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Unknown, false, 0},
		{401, "", mcperrors.CodePermissionDenied, mcperrors.KindAuth, mcperrors.Rejected, false, 0},
		{403, "", mcperrors.CodePermissionDenied, mcperrors.KindAuth, mcperrors.Rejected, false, 0},
		{404, "", mcperrors.CodeSessionExpired, mcperrors.KindSessionLost, mcperrors.Rejected, true, 0}, // there is a session
		{405, "", mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.Rejected, false, 0},
		{429, "7", mcperrors.CodeRateLimited, mcperrors.KindOverloaded, mcperrors.Rejected, true, 7 * time.Second},
		{500, "", mcperrors.CodeUnavailable, mcperrors.KindServer, mcperrors.Unknown, true, 0},
		{501, "", mcperrors.CodeIncompatible, mcperrors.KindUnsupported, mcperrors.Unknown, false, 0},
		{503, "3", mcperrors.CodeUnavailable, mcperrors.KindServer, mcperrors.Unknown, true, 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			t.Parallel()
			s := newWebsite(t, onTool(map[string]func(http.ResponseWriter, *http.Request, jsonrpc.Request){
				"m": func(w http.ResponseWriter, _ *http.Request, _ jsonrpc.Request) {
					if tt.header != "" {
						w.Header().Set("Retry-After", tt.header)
					}
					w.WriteHeader(tt.status)
					flush(w, "said the server")
				},
			}))
			c, err := dialWebsite(t, s.url)
			require.NoError(t, err)
			_, err = c.CallTool(t.Context(), "echo", message, client.WithRetryPolicy(client.RetryNever))
			e := wantError{tt.code, tt.kind, one(tt.delivery), []string{fmt.Sprint(tt.status)}}.in(t, err)
			require.Equal(t, tt.again, e.Retryable)
			require.Equal(t, tt.after, e.RetryAfter)
			require.Equal(t, tt.status, e.HTTP.Status)
			require.Equal(t, "said the server", e.HTTP.Body)
			require.Equal(t, []string{"tools/call", "echo"}, []string{e.Method, e.Tool})
			attempts := 1
			if tt.status == http.StatusNotFound {
				attempts = 2 // the second in a new session
			}
			require.Equal(t, attempts, e.Attempts)
			require.NotEmpty(t, e.RequestID)
			require.NotContains(t, e.Error(), "s1", "the session id is a secret")
		})
	}
}

// What is in the way of an answer over HTTP fails its call at once, and the
// next call works.
func TestHostileHTTPAnswers(t *testing.T) {
	t.Parallel()
	event := func(text string) func(w http.ResponseWriter, r *http.Request, req jsonrpc.Request) {
		return func(w http.ResponseWriter, r *http.Request, req jsonrpc.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			flush(w, "data: "+strings.ReplaceAll(text, "ID", string(req.ID.AppendJSON(nil)))+"\n\n")
			<-r.Context().Done()
		}
	}
	body := func(text string) func(w http.ResponseWriter, _ *http.Request, req jsonrpc.Request) {
		return func(w http.ResponseWriter, _ *http.Request, req jsonrpc.Request) {
			writeJSON(w, strings.ReplaceAll(text, "ID", string(req.ID.AppendJSON(nil))))
		}
	}
	const double = `{"jsonrpc":"2.0","id":ID,"result":{},"result":{}}`
	deep := `{"jsonrpc":"2.0","id":ID,"result":` + strings.Repeat("[", 1500) + strings.Repeat("]", 1500) + "}"
	huge := `{"jsonrpc":"2.0","id":ID,"result":"` + strings.Repeat("x", 100<<10) + `"}`
	tests := []struct {
		name, says string
		reply      func(http.ResponseWriter, *http.Request, jsonrpc.Request)
	}{
		{"another id", "another request", body(`{"jsonrpc":"2.0","id":"else","result":{"content":[]}}`)},
		{"two results", "duplicate", body(double)},
		{"two results in a stream", "duplicate", event(double)},
		{"deep", "deeper", body(deep)},
		{"deep in a stream", "deeper", event(deep)},
		{"huge", "larger", body(huge)},
		{"huge in a stream", "larger", event(huge)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newWebsite(t, onTool(map[string]func(http.ResponseWriter, *http.Request, jsonrpc.Request){"bad": tt.reply}))
			c, err := dialWebsite(t, s.url)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			_, err = c.CallTool(ctx, "echo", map[string]any{"message": "bad"})
			want := unusable(tt.says)
			if tt.name == "another id" {
				want.delivery = one(mcperrors.Unknown)
			}
			want.check(t, err)
			_, err = c.CallTool(t.Context(), "echo", message)
			require.NoError(t, err)
		})
	}
}

// Everything a server may say before its answer: a flood of notifications with
// a handler that blocks, a ping, and what this side does not offer. The answer
// waits for none of it.
func TestHostileHTTPStream(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	flood := 50_000
	if testmain.Race { // more than waits for a handler
		flood = 10_000
	}
	s := newWebsite(t, onTool(map[string]func(http.ResponseWriter, *http.Request, jsonrpc.Request){
		"m": func(w http.ResponseWriter, _ *http.Request, req jsonrpc.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			flush(w, strings.Repeat("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\n", flood))
			flush(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n\n")
			flush(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}\n\n")
			flush(w, "data: "+wellAnswered(req)+"\n\n")
		},
	}))
	var seen atomic.Int64
	c, err := dialWebsite(t, s.url, client.OnNotification(func(context.Context, jsonrpc.Notification) {
		seen.Add(1)
		<-release
	}))
	require.NoError(t, err)
	// The handler does not return before the answer is here: a call that waited
	// for it would never be answered, however fast the machine is.
	_, err = c.CallTool(t.Context(), "echo", message, client.WithTimeouts(5*time.Minute, -1))
	require.NoError(t, err)
	posted := func(id string) string {
		for _, body := range s.received() {
			if strings.HasPrefix(body, `{"jsonrpc":"2.0","id":"`+id+`"`) {
				return body
			}
		}
		return ""
	}
	require.Eventually(t, func() bool { return posted("p") != "" && posted("q") != "" }, time.Minute, time.Millisecond)
	require.Equal(t, `{"jsonrpc":"2.0","id":"p","result":{}}`, posted("p"))
	require.Contains(t, posted("q"), "-32601")
	require.Equal(t, int64(1), seen.Load())
	close(release)
}

// Progress on the call's stream keeps it alive and reaches its handler before
// the answer does.
func TestHostileHTTPProgress(t *testing.T) {
	t.Parallel()
	s := newWebsite(t, onTool(map[string]func(http.ResponseWriter, *http.Request, jsonrpc.Request){
		"m": func(w http.ResponseWriter, _ *http.Request, req jsonrpc.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for n := range 3 {
				for _, token := range []string{"1", `"1"`, "99"} { // ours, and two of nobody
					flush(w, fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":%d}}\n\n", token, n))
				}
			}
			flush(w, "data: "+wellAnswered(req)+"\n\n")
		},
	}))
	c, err := dialWebsite(t, s.url)
	require.NoError(t, err)
	count := 0 // written before CallTool returns, and never after
	_, err = c.CallTool(t.Context(), "echo", message, client.WithProgress(func(mcp.ProgressParams) { count++ }))
	require.NoError(t, err)
	require.Equal(t, 3, count)
}
