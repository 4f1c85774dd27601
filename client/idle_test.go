package client_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The error of a request without an answer has the time that it waited, and the option
// to make the client wait longer.
func TestIdleTimeoutNamesTheOption(t *testing.T) {
	t.Parallel()
	const raise = "; raise Resilience.IdleTimeout, or WithTimeouts for one call"
	for _, tt := range []struct {
		name, method, params string
		opts                 []client.CallOption
		after                time.Duration
		message              string
	}{
		{"a call", "tools/call", `{"name":"echo"}`, nil, time.Minute, "no answer and no progress within 60s" + raise},
		{
			"a call with a timeout of its own", "tools/call", `{"name":"echo"}`,
			[]client.CallOption{client.WithTimeouts(5*time.Minute, -1)},
			5 * time.Minute, "no answer and no progress within 5m0s" + raise,
		},
		{
			"the maximum time", "tools/call", `{"name":"echo"}`,
			[]client.CallOption{client.WithTimeouts(0, 20*time.Second)},
			20 * time.Second, "no answer within 20s",
		},
		{"a request that has no progress", "x/slow", `{}`, nil, time.Minute, "no answer within 60s" + raise},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, c *client.Client, s *fakeServer) {
				s.on(tt.method, func(jsonrpc.Request) any { return nil })
				began := time.Now()
				_, err := c.Call(t.Context(), tt.method, []byte(tt.params), tt.opts...)
				require.Equal(t, tt.after, time.Since(began))
				var e *mcperrors.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, mcperrors.CodeTimeout, e.Code)
				require.Equal(t, tt.message, e.Message)
				require.Equal(t, 1, strings.Count(err.Error(), "no answer"), err.Error())
			})
		})
	}
}

// A server may wait for the answer of a person before it goes on with a call, and its question
// does not name the call: no call times out meanwhile.
func TestNoIdleTimeoutWhileAQuestionIsOpen(t *testing.T) {
	t.Parallel()
	const thinking = 4 * time.Minute
	handler := client.OnSampling(func(ctx context.Context, r client.SamplingRequest) (*mcp.CreateMessageResult, error) {
		select {
		case <-ctx.Done():
		case <-time.After(thinking):
		}
		return sampleYes(ctx, r)
	})
	for _, tt := range []struct {
		name     string
		answered bool
		opts     []client.CallOption
		after    time.Duration
	}{
		{"the server answers afterwards", true, nil, thinking + 70*time.Second},
		{"the server is silent afterwards", false, nil, thinking + 80*time.Second},
		{"the maximum time", false, []client.CallOption{client.WithTimeouts(0, 2*time.Minute)}, 2 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			speaking(t, "2025-11-25", func(t *testing.T, c *client.Client, s *fakeServer) {
				s.on("tools/call", func(req jsonrpc.Request) any {
					go func() {
						pass(20 * time.Second)
						s.request(1, "sampling/createMessage", askSample)
						if tt.answered {
							pass(thinking + 50*time.Second)
							s.reply(req, json.RawMessage(plainResult))
						}
					}()
					return nil
				})
				began := time.Now()
				_, err := c.Call(t.Context(), "tools/call", []byte(`{"name":"echo"}`), tt.opts...)
				if tt.answered {
					require.NoError(t, err)
				} else {
					require.Error(t, err)
				}
				require.Equal(t, tt.after, time.Since(began).Round(time.Second))
			}, handler)
		})
	}
}
