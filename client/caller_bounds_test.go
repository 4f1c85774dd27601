package client_test

import (
	"context"
	"encoding/json"
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
)

// vault has a HeaderFunc and an Authorizer that wait for the end of their context once it
// is shut.
type vault struct {
	shut    atomic.Bool
	deaf    atomic.Bool // waits on, until open is closed
	open    chan struct{}
	waiting atomic.Int32
}

func (v *vault) wait(ctx context.Context) error {
	if !v.shut.Load() {
		return nil
	}
	v.waiting.Add(1)
	defer v.waiting.Add(-1)
	if v.deaf.Load() {
		<-v.open
	}
	<-ctx.Done()
	return ctx.Err()
}

func (v *vault) HeaderFunc(ctx context.Context) (http.Header, error) {
	return http.Header{"X-Tenant": {"acme"}}, v.wait(ctx)
}

func (v *vault) Authorize(ctx context.Context, _ transport.AuthorizedRequest) (*transport.Credentials, error) {
	if err := v.wait(ctx); err != nil {
		return nil, err
	}
	return &transport.Credentials{Header: http.Header{"Authorization": {"token"}}, Scope: "acme"}, nil
}

func (v *vault) Challenged(context.Context, transport.Challenge) (*transport.Credentials, error) {
	return nil, nil //nolint:nilnil // accepts the answer of the server
}

// vaultWays runs a test for a vault that gives headers and for one that gives
// credentials, in both eras. dial connects a client with the option of the test.
func vaultWays(t *testing.T, f func(t *testing.T, v *vault, p *keyedPeer, dial func(opts ...client.Option) *client.Client)) {
	t.Helper()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		for _, way := range []string{"HeaderFunc", "Authorizer"} {
			t.Run(way+" "+version, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					v, p := &vault{open: make(chan struct{})}, newKeyedPeer(t, version)
					tr := &transport.HTTP{URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(), HeaderFunc: v.HeaderFunc}
					if way == "Authorizer" {
						tr.HeaderFunc, tr.Authorizer = nil, v
					}
					t.Cleanup(p.mem.Close)
					f(t, v, p, func(opts ...client.Option) *client.Client {
						c, err := client.Connect(t.Context(), tr, append([]client.Option{client.WithProtocolVersion(version)}, opts...)...)
						require.NoError(t, err)
						t.Cleanup(func() { require.NoError(t, c.Close()) })
						return c
					})
				})
			})
		}
	}
}

// vaultCalls are ways to make a call, which asks for its headers and credentials.
func vaultCalls() map[string]func(ctx context.Context, c *client.Client, opts ...client.CallOption) error {
	return map[string]func(ctx context.Context, c *client.Client, opts ...client.CallOption) error{
		"CallTool": func(ctx context.Context, c *client.Client, opts ...client.CallOption) error {
			_, err := c.CallTool(ctx, "echo", hello, opts...)
			return err
		},
		"Call": func(ctx context.Context, c *client.Client, opts ...client.CallOption) error {
			_, err := c.Call(ctx, "prompts/list", nil, opts...)
			return err
		},
		"GetToolSchema": func(ctx context.Context, c *client.Client, opts ...client.CallOption) error {
			_, err := c.GetToolSchema(ctx, "new", opts...)
			return err
		},
		"ListTools": func(ctx context.Context, c *client.Client, opts ...client.CallOption) error {
			_, err := c.ListTools(ctx, nil, opts...)
			return err
		},
		"Tools": func(ctx context.Context, c *client.Client, opts ...client.CallOption) error {
			for _, err := range c.Tools(ctx, opts...) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// anotherContext is a middleware after which the client asks again.
func anotherContext(next client.Next) client.Next {
	return func(ctx context.Context, inv *client.Invocation) (json.RawMessage, error) {
		return next(context.WithValue(ctx, userKey{}, "bob"), inv)
	}
}

// Close ends calls that wait for their headers or credentials.
func TestCloseEndsTheWaitForCredentials(t *testing.T) {
	t.Parallel()
	calls := vaultCalls()
	calls["Notify"] = func(ctx context.Context, c *client.Client, _ ...client.CallOption) error {
		return c.Notify(ctx, "notifications/acme", nil)
	}
	for name, call := range calls {
		for kind, opts := range map[string][]client.Option{"": nil, ", another context": {client.WithMiddleware(anotherContext)}} {
			t.Run(name+kind, func(t *testing.T) {
				t.Parallel()
				vaultWays(t, func(t *testing.T, v *vault, _ *keyedPeer, dial func(...client.Option) *client.Client) {
					c := dial(opts...)
					v.shut.Store(true)
					failed := make(chan error, 1)
					go func() { failed <- call(t.Context(), c) }()
					synctest.Wait()
					require.EqualValues(t, 1, v.waiting.Load())
					began := time.Now()
					closed := make(chan error, 1)
					go func() { closed <- c.Close() }()
					err := <-failed
					require.LessOrEqual(t, time.Since(began), time.Second)
					require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(err), "%v", err)
					require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
					require.NoError(t, <-closed)
				})
			})
		}
	}
}

// A function that ignores its context does not keep Close from returning.
func TestCloseDoesNotWaitForADeafVault(t *testing.T) {
	t.Parallel()
	vaultWays(t, func(t *testing.T, v *vault, _ *keyedPeer, dial func(...client.Option) *client.Client) {
		c := dial()
		v.deaf.Store(true)
		v.shut.Store(true)
		failed := make(chan error, 1)
		go func() {
			_, err := c.CallTool(t.Context(), "echo", hello)
			failed <- err
		}()
		synctest.Wait()
		began := time.Now()
		require.NoError(t, c.Close())
		require.LessOrEqual(t, time.Since(began), 5*time.Second)
		close(v.open)
		require.Equal(t, mcperrors.KindClosed, mcperrors.KindOf(<-failed))
	})
}

// The time of a call bounds its wait for headers or credentials, and no circuit counts
// that.
func TestTimeoutsBoundTheWaitForCredentials(t *testing.T) {
	t.Parallel()
	twoSeconds := []client.CallOption{client.WithTimeouts(time.Second, 2*time.Second)}
	for name, call := range vaultCalls() {
		for kind, tt := range map[string]struct {
			opts  []client.Option
			call  []client.CallOption
			after time.Duration
		}{
			"the call's":      {call: twoSeconds, after: 2 * time.Second},
			"the client's":    {opts: []client.Option{client.WithResilience(client.Resilience{MaxTime: 3 * time.Second})}, after: 3 * time.Second},
			"the default":     {after: 10 * time.Minute},
			"another context": {opts: []client.Option{client.WithMiddleware(anotherContext)}, call: twoSeconds, after: 2 * time.Second},
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				vaultWays(t, func(t *testing.T, v *vault, _ *keyedPeer, dial func(...client.Option) *client.Client) {
					c := dial(tt.opts...)
					for range 6 {
						v.shut.Store(true)
						began := time.Now()
						err := call(t.Context(), c, tt.call...)
						require.Equal(t, tt.after, time.Since(began))
						require.Equal(t, mcperrors.CodeTimeout, mcperrors.CodeOf(err), "%v", err)
						require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
						require.ErrorContains(t, err, "HeaderFunc or the Authorizer did not return within")
						require.Zero(t, v.waiting.Load())
					}
					v.shut.Store(false)
					_, err := c.CallTool(t.Context(), "echo", hello)
					require.NoError(t, err)
				})
			})
		}
	}
}

// What the wait for headers or credentials took is missing for the rest of the call.
func TestWaitForCredentialsIsTimeOfTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newKeyedPeer(t, "2025-11-25")
		c, err := client.Connect(t.Context(), &transport.HTTP{
			URL: memhttp.URL + "/mcp", RoundTripper: p.mem.Transport(),
			HeaderFunc: func(context.Context) (http.Header, error) {
				time.Sleep(time.Second)
				return nil, nil
			},
		}, sessionEra)
		require.NoError(t, err)
		p.script("tools/call", func(_ http.ResponseWriter, r *http.Request) bool {
			<-r.Context().Done()
			return true
		})
		began := time.Now()
		_, err = c.CallTool(t.Context(), "echo", hello, client.WithTimeouts(5*time.Second, 3*time.Second))
		require.Equal(t, mcperrors.CodeTimeout, mcperrors.CodeOf(err))
		require.Equal(t, 3*time.Second, time.Since(began))
		require.NoError(t, c.Close())
		p.mem.Close()
	})
}

// A retry that waits for its headers or credentials ends with the call.
func TestTimeoutsBoundTheCredentialsOfARetry(t *testing.T) {
	t.Parallel()
	vaultWays(t, func(t *testing.T, v *vault, p *keyedPeer, dial func(...client.Option) *client.Client) {
		c := dial(retries(client.Retry{Policy: client.RetryAlways}))
		p.script("tools/call", func(w http.ResponseWriter, _ *http.Request) bool {
			v.shut.Store(true)
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		})
		began := time.Now()
		_, err := c.CallTool(t.Context(), "echo", hello, client.WithTimeouts(time.Second, 5*time.Second))
		require.Equal(t, 5*time.Second, time.Since(began)) // the idle timeout is for the server
		require.Equal(t, mcperrors.CodeTimeout, mcperrors.CodeOf(err), "%v", err)
		v.shut.Store(false)
	})
}
