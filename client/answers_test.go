package client_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

const goodPayment = `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":[{"type":"text","text":"paid"}]}}`

// A response with the call's id is its answer, with any HTTP status: the client neither
// repeats the call nor opens a session for it.
func TestAnswersGoByID(t *testing.T) {
	t.Parallel()
	refusal := func(code, message string) string {
		return `{"jsonrpc":"2.0","id":ID,"error":{"code":` + code + `,"message":"` + message + `"}}`
	}
	for name, tt := range map[string]struct {
		status int
		body   string
		paid   bool
	}{
		"400 that speaks of sessions":  {400, refusal("-32000", "Bad Request: No valid session ID provided"), false},
		"404 that speaks of sessions":  {404, refusal("-32001", "Session not found"), false},
		"404 of another kind":          {404, refusal("-32603", "no such account"), false},
		"404 that is long":             {404, refusal("-32603", strings.Repeat("no such account ", 10<<10)), false},
		"404 with the id at the end":   {404, `{"jsonrpc":"2.0","error":{"code":-32603,"message":"` + strings.Repeat("x", 200<<10) + `"},"id":ID}`, false},
		"404 that cannot be used":      {404, `{"jsonrpc":"2.0","id":ID,"error":{"code":"E1"}}`, false},
		"401":                          {401, refusal("-32001", "the bank wants another login"), false},
		"429":                          {429, refusal("-32000", "the bank is asked too often"), false},
		"404 with the result":          {404, goodPayment, true},
		"500 with the result":          {500, goodPayment, true},
		"400 with the result":          {400, goodPayment, true},
		"503 with a result and a wait": {503, goodPayment, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, stateless := range []bool{false, true} {
				p := &peer{t: t, over: "http", stateless: stateless}
				p.pay = func(x *payment) { x.reply(tt.status, tt.body) }
				c := p.dial()
				before := p.sessions
				err := pays(t, c)
				require.Equal(t, tt.paid, err == nil, "%v", err)
				if err != nil {
					require.Equal(t, mcperrors.Answered, mcperrors.DeliveryOf(err), "%v", err)
				}
				require.Equal(t, 1, p.count("tools/call"))
				require.Equal(t, before, p.sessions)
			}
		})
	}
}

// An answer in an event stream is one too.
func TestAnswersGoByIDInStreams(t *testing.T) {
	t.Parallel()
	for _, stateless := range []bool{false, true} {
		p := &peer{t: t, over: "http", stateless: stateless}
		p.pay = func(x *payment) {
			x.w.Header().Set("Content-Type", "text/event-stream")
			x.w.WriteHeader(http.StatusNotFound)
			x.stream = true
			x.reply(0, goodPayment)
		}
		require.NoError(t, pays(t, p.dial()))
		require.Equal(t, 1, p.count("tools/call"))
		require.LessOrEqual(t, p.sessions, 1)
	}
}

// A session is lost by a 404 that does not answer the call, or by the sentence
// that an SDK has for it. Then it is opened again once, and the call made again.
// Words that are not exactly those lose none.
func TestWhatLosesASession(t *testing.T) {
	t.Parallel()
	unnamed := func(message string) string {
		return `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"` + message + `"}}`
	}
	for name, tt := range map[string]struct {
		status int
		body   string
		lost   bool
	}{
		"404, TypeScript":             {404, unnamed("Session not found"), true},
		"404, Python":                 {404, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}`, true},
		"404, Go":                     {404, "session not found\n", true},
		"404 without a body":          {404, "", true},
		"400, TypeScript":             {400, unnamed("Bad Request: No valid session ID provided"), true},
		"400, TypeScript, restarted":  {400, unnamed("Bad Request: Server not initialized"), true},
		"400, Python":                 {400, `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request: Missing session ID"}}`, true},
		"400, Python, text":           {400, "Bad Request: No valid session ID provided", true},
		"400, mcp-go":                 {400, "Invalid session ID\n", true},
		"400 that has similar words":  {400, unnamed("the session of the patient is unknown"), false},
		"400, text of similar words":  {400, "Session abc not found", false},
		"400, a sentence in a longer": {400, unnamed("tool said: Bad Request: No valid session ID provided"), false},
		"410":                         {410, unnamed("Session not found"), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &peer{t: t, over: "http"}
			p.pay = func(x *payment) {
				if x.number == 1 {
					x.reply(tt.status, tt.body)
					return
				}
				x.reply(0, goodPayment)
			}
			_, err := p.dial().CallTool(t.Context(), "pay", map[string]any{})
			if tt.lost {
				require.NoError(t, err)
				require.Equal(t, 2, p.count("tools/call"))
				require.Equal(t, 2, p.sessions)
				return
			}
			require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err), "%v", err)
			require.Equal(t, 1, p.count("tools/call"))
			require.Equal(t, 1, p.sessions)
		})
	}
}

// A strict server answers our notifications/cancelled with an error that has no
// id. It belongs to no call: the one that runs is answered.
func TestErrorWithoutIDBelongsToNoCall(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, p *peer) {
		const strict = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`
		cancelled := make(chan struct{})
		began := make(chan struct{}, 2)
		p.replies = func(x *payment) bool {
			if x.Method != "notifications/cancelled" {
				return false
			}
			x.reply(http.StatusBadRequest, strict)
			close(cancelled)
			return true
		}
		p.pay = func(x *payment) {
			began <- struct{}{}
			switch {
			case x.number == 1:
				<-cancelled
				x.reply(0, goodPayment)
			case x.w != nil: // an exchange that ends without an answer is no call under way
				<-x.done
				if p.stateless { // canceling ends the exchange, which shows the server that
					close(cancelled)
				}
			}
		}
		c := p.dial()
		first := make(chan error, 1)
		go func() {
			_, err := c.CallTool(t.Context(), "pay", map[string]any{})
			first <- err
		}()
		<-began
		ctx, cancel := context.WithCancel(t.Context())
		second := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, "pay", map[string]any{})
			second <- err
		}()
		<-began
		cancel()
		require.ErrorIs(t, <-second, context.Canceled)
		require.NoError(t, <-first)
	})
}

// Beside its answer, an error without id changes nothing; where it is all that
// comes over HTTP, nothing is known of the call. It is not made again.
func TestErrorWithoutIDIsNoAnswer(t *testing.T) {
	t.Parallel()
	const unnamed = `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Unknown tool: pay"}}`
	for _, stateless := range []bool{false, true} {
		for name, tt := range map[string]struct {
			answer func(x *payment)
			paid   bool
		}{
			"alone":    {func(x *payment) { x.reply(0, unnamed) }, false},
			"with 400": {func(x *payment) { x.reply(400, unnamed) }, false},
			"in a stream": {func(x *payment) {
				x.w.Header().Set("Content-Type", "text/event-stream")
				x.stream = true
				x.reply(0, unnamed)
			}, false},
			"before the answer": {func(x *payment) {
				x.w.Header().Set("Content-Type", "text/event-stream")
				x.stream = true
				x.reply(0, unnamed)
				x.reply(0, goodPayment)
			}, true},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p := &peer{t: t, over: "http", stateless: stateless, pay: tt.answer}
				_, err := p.dial().CallTool(t.Context(), "pay", map[string]any{})
				require.Equal(t, tt.paid, err == nil, "%v", err)
				if err != nil {
					require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err))
					require.ErrorContains(t, err, "Unknown tool: pay", "the server's words are shown")
				}
				require.Equal(t, 1, p.count("tools/call"))
			})
		}
	}
	// Over a pipe the call waits for its answer.
	p := &peer{t: t, over: "stdio", pay: func(x *payment) { x.reply(0, unnamed); x.reply(0, goodPayment) }}
	_, err := p.dial().CallTool(t.Context(), "pay", map[string]any{})
	require.NoError(t, err)
}

// The era probe is the exception: servers that cannot read it say so without its
// id, and are servers of the session era.
func TestErrorWithoutIDAnswersTheProbe(t *testing.T) {
	t.Parallel()
	for _, over := range []string{"stdio", "http"} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			p := &peer{t: t, over: over, pay: func(x *payment) { x.reply(0, goodPayment) }}
			p.replies = func(x *payment) bool {
				if x.Method != "server/discover" {
					return false
				}
				x.reply(http.StatusBadRequest, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Bad Request: Server not initialized"}}`)
				return true
			}
			began := time.Now()
			c, err := p.connect(client.WithProbe(client.Probe{Timeout: time.Minute}))
			require.NoError(t, err)
			require.Less(t, time.Since(began), 30*time.Second, "not by silence")
			require.NoError(t, pays(t, c))
		})
	}
}
