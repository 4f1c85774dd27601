package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// desk gives each request the headers or the credentials of the user in its context,
// and none without a user.
type desk struct {
	asked atomic.Int32 // for alice
	once  bool         // credentials are for one request
}

func (d *desk) user(ctx context.Context) (string, error) {
	user, _ := ctx.Value(userKey{}).(string)
	if user == "alice" {
		d.asked.Add(1)
	}
	if user == "" {
		return "", errors.New("no user in the context")
	}
	return user, nil
}

func (d *desk) HeaderFunc(ctx context.Context) (http.Header, error) {
	user, err := d.user(ctx)
	return http.Header{"Authorization": {user}}, err
}

func (d *desk) Authorize(ctx context.Context, _ transport.AuthorizedRequest) (*transport.Credentials, error) {
	user, err := d.user(ctx)
	if err != nil {
		return nil, err
	}
	return &transport.Credentials{Header: http.Header{"Authorization": {user}}, Scope: user, Once: d.once}, nil
}

func (d *desk) Challenged(context.Context, transport.Challenge) (*transport.Credentials, error) {
	return nil, nil //nolint:nilnil // accepts the answer of the server
}

// asksFirst has a peer of the session era ask for a form on the stream of a call, and
// answer the call once it has the answer to that.
func asksFirst(p *keyedPeer) {
	answered := make(chan struct{})
	p.script("POST", func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusAccepted)
		close(answered)
		return true
	})
	p.script("tools/call", func(w http.ResponseWriter, r *http.Request) bool {
		var m struct {
			ID json.RawMessage `json:"id"`
		}
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &m) != nil {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		flush(w, `data: {"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}`+"\n\n")
		select {
		case <-answered:
			flush(w, `data: {"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"content":[]}}`+"\n\n")
		case <-r.Context().Done():
		}
		return true
	})
}

// The answer to a question that came on the stream of a call goes out for the caller of
// that call, and so does the cancellation of a call. The handler of the question gets the
// values of the context of the call.
func TestAnswersAndCancellationsCarryTheCaller(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		headers, once bool
		think         time.Duration // of the handler
		asked         int32
	}{
		"HeaderFunc": {headers: true, asked: 1},
		"HeaderFunc, and a person who takes time": {headers: true, think: 5 * time.Minute, asked: 2},
		"credentials": {asked: 1},
		"credentials, and a person who takes time": {think: 5 * time.Minute, asked: 1},
		"credentials for one request":              {once: true, asked: 3}, // the first is for the list of tools
	} {
		for _, what := range []string{"answer", "cancellation"} {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p, d := newKeyedPeer(t, "2025-11-25"), &desk{once: tt.once}
					tr := &transport.HTTP{URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), HeaderFunc: d.HeaderFunc}
					if !tt.headers {
						tr.HeaderFunc, tr.Authorizer = nil, d
					}
					handlerFor := make(chan any, 1)
					c, err := client.Connect(asUser(t, "service"), tr, sessionEra, client.WithResilience(client.Resilience{IdleTimeout: time.Hour}),
						client.OnElicitForm(func(ctx context.Context, _ client.FormRequest) (*mcp.ElicitResult, error) {
							time.Sleep(tt.think)
							handlerFor <- ctx.Value(userKey{})
							return client.AcceptForm(map[string]any{})
						}))
					require.NoError(t, err)
					t.Cleanup(p.mem.Close)
					t.Cleanup(func() { require.NoError(t, c.Close()) })
					if what == "answer" {
						asksFirst(p)
						_, err = c.CallTool(asUser(t, "alice"), "echo", hello)
						require.NoError(t, err)
						require.Equal(t, "alice", <-handlerFor)
						require.Equal(t, []string{"alice"}, p.came("POST"))
					} else {
						p.script("tools/call", func(_ http.ResponseWriter, r *http.Request) bool {
							<-r.Context().Done()
							return true
						})
						ctx, cancel := context.WithTimeout(asUser(t, "alice"), tt.think+time.Second)
						defer cancel()
						_, err = c.CallTool(ctx, "echo", hello)
						require.Equal(t, mcperrors.CodeTimeout, mcperrors.CodeOf(err))
						synctest.Wait()
						require.Equal(t, []string{"alice"}, p.came("notifications/cancelled"))
					}
					require.Equal(t, tt.asked, d.asked.Load())
				})
			})
		}
	}
}

// An answer that cannot be sent for want of headers is in the log.
func TestAnswerWithoutHeadersIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newKeyedPeer(t, "2025-11-25")
		var gone atomic.Bool
		var log bytes.Buffer
		c, err := client.Connect(t.Context(), &transport.HTTP{
			URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(),
			HeaderFunc: func(context.Context) (http.Header, error) {
				if gone.Load() {
					return nil, errors.New("the vault is closed")
				}
				return nil, nil
			},
		}, sessionEra, client.WithResilience(client.Resilience{IdleTimeout: time.Hour}),
			client.WithLogger(slog.New(slog.NewTextHandler(&log, nil))),
			client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
				gone.Store(true)
				time.Sleep(time.Minute) // so that the headers of the call are too old
				return client.AcceptForm(map[string]any{})
			}))
		require.NoError(t, err)
		asksFirst(p)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		_, err = c.CallTool(ctx, "echo", hello)
		require.Error(t, err)
		require.Empty(t, p.came("POST"))
		require.NoError(t, c.Close())
		p.mem.Close()
		require.Contains(t, log.String(), "a request of the server could not be answered")
		require.Contains(t, log.String(), "the vault is closed")
	})
}
