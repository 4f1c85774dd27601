package clienttest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// eras has one revision of each era.
var eras = []string{"2025-11-25", "2026-07-28"}

// overHTTP runs f in virtual time with a client of each era over HTTP in memory.
func overHTTP(t *testing.T, f func(t *testing.T, c *client.Client, s *clienttest.Server), opts ...client.Option) {
	t.Helper()
	t.Parallel()
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := clienttest.NewServer(t)
				features(s)
				c, err := client.Connect(t.Context(), s.HTTP(), append([]client.Option{client.WithProtocolVersion(version)}, opts...)...)
				require.NoError(t, err)
				defer c.Close() //nolint:errcheck // not what is tested
				f(t, c, s)
			})
		})
	}
}

var hi = map[string]any{"text": "hi"}

// A request that was refused for now is made again once Retry-After has passed: a
// call where the server has not taken it, a read in any case.
func TestRetryAfter(t *testing.T) {
	refused := func(status int) error {
		return &clienttest.HTTPError{Status: status, Header: http.Header{"Retry-After": {"5"}}}
	}
	overHTTP(t, func(t *testing.T, c *client.Client, s *clienttest.Server) {
		s.Fail(1, refused(http.StatusTooManyRequests))
		began := time.Now()
		res, err := c.CallTool(t.Context(), "echo", hi)
		require.NoError(t, err)
		require.Equal(t, "hi", res.Text())
		require.GreaterOrEqual(t, time.Since(began), 5*time.Second)
		require.Equal(t, 2, s.Count("tools/call"))

		s.Fail(1, refused(http.StatusServiceUnavailable))
		began = time.Now()
		_, err = c.ReadResource(t.Context(), "test://a")
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(began), 5*time.Second)
		require.Equal(t, 2, s.Count("resources/read"))
	})
}

// What a client cannot mend reaches the program, with its evidence.
func TestStatuses(t *testing.T) {
	tests := []struct {
		name     string
		answer   clienttest.HTTPError
		kind     mcperrors.Kind
		delivery mcperrors.Delivery
		check    func(t *testing.T, e *mcperrors.Error)
	}{
		{
			"login",
			clienttest.HTTPError{Status: 401, Header: http.Header{"Www-Authenticate": {`Bearer realm="tests"`}}},
			mcperrors.KindAuth, mcperrors.Rejected,
			func(t *testing.T, e *mcperrors.Error) {
				t.Helper()
				require.Equal(t, `Bearer realm="tests"`, e.HTTP.Header.Get("WWW-Authenticate"))
			},
		},
		{
			"outage",
			clienttest.HTTPError{Status: 503, Header: http.Header{"Retry-After": {"5"}}, Body: "soon"},
			mcperrors.KindServer, mcperrors.Unknown,
			func(t *testing.T, e *mcperrors.Error) { t.Helper(); require.Equal(t, 5*time.Second, e.RetryAfter) },
		},
		{
			"web page",
			clienttest.HTTPError{Status: 200, Header: http.Header{"Content-Type": {"text/html"}}, Body: "<html>Welcome"},
			mcperrors.KindProtocol, mcperrors.Unknown,
			func(t *testing.T, e *mcperrors.Error) { t.Helper(); require.Contains(t, e.HTTP.Body, "Welcome") },
		},
		{
			"answer with a status",
			clienttest.HTTPError{Status: 400, RPC: jsonrpc.NewError(-32099, "no such thing", nil)},
			mcperrors.KindServer, mcperrors.Answered,
			func(t *testing.T, e *mcperrors.Error) { t.Helper(); require.EqualValues(t, -32099, e.RPC.Code) },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			overHTTP(t, func(t *testing.T, c *client.Client, s *clienttest.Server) {
				s.Fail(1, &tt.answer)
				_, err := c.CallTool(t.Context(), "echo", hi)
				var e *mcperrors.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, tt.answer.Status, e.HTTP.Status)
				require.Equal(t, tt.kind, e.Kind, "%v", err)
				require.Equal(t, tt.delivery, e.Delivery, "%v", err)
				tt.check(t, e)
				require.Equal(t, 1, s.Count("tools/call"))
				<-time.After(e.RetryAfter) // the client keeps to it, too
				res, err := c.CallTool(t.Context(), "echo", hi)
				require.NoError(t, err)
				require.Equal(t, "hi", res.Text())
			})
		})
	}
}

// A session that the server forgot is opened again, once for the call and for the
// stream that listens.
func TestForgottenSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		features(s)
		c, err := client.Connect(t.Context(), s.HTTP(), client.WithProtocolVersion("2025-11-25"))
		require.NoError(t, err)
		defer c.Close() //nolint:errcheck // not what is tested
		for n := 2; n < 4; n++ {
			s.ForgetSessions()
			res, err := c.CallTool(t.Context(), "echo", hi)
			require.NoError(t, err)
			require.Equal(t, "hi", res.Text())
			require.Equal(t, n, s.Count("initialize"))
		}
		sent := s.Requests()
		var sessions []string
		for _, r := range sent {
			if r.Method == "tools/call" {
				sessions = append(sessions, r.Header.Get("Mcp-Session-Id"))
			}
		}
		require.Equal(t, []string{"clienttest-1", "clienttest-2", "clienttest-2", "clienttest-3"}, sessions)
	})
}

// The stream of a session that the server forgot is opened in the next one,
// without a call.
func TestForgottenStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		c, err := client.Connect(t.Context(), s.HTTP(), client.WithProtocolVersion("2025-11-25"),
			client.OnListChanged(func(context.Context, string) {}))
		require.NoError(t, err)
		defer c.Close() //nolint:errcheck // not what is tested
		synctest.Wait()
		require.Equal(t, 1, s.Listening("notifications/tools/list_changed"))
		s.ForgetSessions()
		time.Sleep(time.Minute)
		require.Equal(t, 1, s.Listening("notifications/tools/list_changed"))
		require.Equal(t, 2, s.Count("initialize"))
	})
}

// A handshake that needs a login fails, and succeeds with one.
func TestLogin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.On("initialize", func(call *clienttest.Call) (any, error) {
			return nil, &clienttest.HTTPError{Status: 401, Header: http.Header{"Www-Authenticate": {"Bearer"}}}
		})
		s.Tool("whoami", "", func(call *clienttest.Call) (any, error) {
			return clienttest.Text(call.Header.Get("Authorization")), nil
		})
		_, err := client.Connect(t.Context(), s.HTTP(), client.WithProtocolVersion("2025-11-25"))
		require.Equal(t, mcperrors.KindAuth, mcperrors.KindOf(err), "%v", err)
		s.On("initialize", nil)
		tr := s.HTTP()
		tr.Header = http.Header{"Authorization": {"Bearer secret"}}
		c, err := client.Connect(t.Context(), tr, client.WithProtocolVersion("2025-11-25"))
		require.NoError(t, err)
		defer c.Close() //nolint:errcheck // not what is tested
		res, err := c.CallTool(t.Context(), "whoami", nil)
		require.NoError(t, err)
		require.Equal(t, "Bearer secret", res.Text())
	})
}

// A connection that breaks leaves the fate of the call unknown, also where the
// tool has done its work, and the next call works.
func TestCut(t *testing.T) {
	t.Parallel()
	var worked atomic.Int64
	setup := func(s *clienttest.Server) {
		features(s)
		s.Tool("pay", "", func(*clienttest.Call) (any, error) { worked.Add(1); return nil, clienttest.ErrCut })
	}
	cut := func(t *testing.T, c *client.Client, s *clienttest.Server) {
		t.Helper()
		for range 2 {
			before := worked.Load()
			_, err := c.CallTool(t.Context(), "pay", nil)
			require.Equal(t, mcperrors.KindTransport, mcperrors.KindOf(err), "%v", err)
			require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err), "%v", err)
			require.Equal(t, before+1, worked.Load(), "it is not made again")
			res, err := c.CallTool(t.Context(), "echo", hi)
			require.NoError(t, err)
			require.Equal(t, "hi", res.Text())
		}
		s.Fail(1, clienttest.ErrCut)
		_, err := c.CallTool(t.Context(), "echo", hi)
		require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err), "%v", err)
		res, err := c.CallTool(t.Context(), "echo", hi)
		require.NoError(t, err)
		require.Equal(t, "hi", res.Text())
	}
	for _, version := range eras {
		for name, connect := range map[string]func(*testing.T, *clienttest.Server, client.Option) (*client.Client, error){
			"in memory": func(t *testing.T, s *clienttest.Server, o client.Option) (*client.Client, error) {
				return client.Connect(t.Context(), s.Transport(), o)
			},
			"over HTTP in memory": func(t *testing.T, s *clienttest.Server, o client.Option) (*client.Client, error) {
				return client.Connect(t.Context(), s.HTTP(), o)
			},
		} {
			t.Run(version+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := clienttest.NewServer(t)
					setup(s)
					c, err := connect(t, s, client.WithProtocolVersion(version))
					require.NoError(t, err)
					defer c.Close() //nolint:errcheck // a pipe
					cut(t, c, s)
				})
			})
		}
		t.Run(version+" over HTTP", func(t *testing.T) {
			s := clienttest.NewServer(t)
			setup(s)
			c, err := client.Dial(t.Context(), s.URL(), client.WithProtocolVersion(version))
			require.NoError(t, err)
			defer c.Close() //nolint:errcheck // not what is tested
			cut(t, c, s)
		})
	}
}

// A client without a pin finds the era of a server that breaks connections, too.
func TestCutWithoutPin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		features(s)
		c, err := client.Connect(t.Context(), s.Transport(), client.WithEraStore(nil))
		require.NoError(t, err)
		defer c.Close() //nolint:errcheck // a pipe
		s.Fail(1, clienttest.ErrCut)
		_, err = c.CallTool(t.Context(), "echo", hi)
		require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(err), "%v", err)
		_, err = c.CallTool(t.Context(), "echo", hi)
		require.NoError(t, err)
		s.Close()
		began := time.Now()
		_, err = c.CallTool(t.Context(), "echo", hi)
		require.Error(t, err)
		require.Less(t, time.Since(began), 10*time.Second, "a server that is closed does not come back")
	})
}

// A status is sent as it is written, to any client of HTTP.
func TestStatusOnTheWire(t *testing.T) {
	t.Parallel()
	s := clienttest.NewServer(t)
	post := func(body string) (*http.Response, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL(), strings.NewReader(body))
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close() //nolint:errcheck // read to its end
		got, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp, string(got)
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	s.Fail(1, &clienttest.HTTPError{Status: 418, Header: http.Header{"X-Pot": {"tea", "more"}, "Content-Type": {"text/x-tea"}}, Body: "short"})
	resp, body := post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	require.Equal(t, 418, resp.StatusCode)
	require.Equal(t, []string{"tea", "more"}, resp.Header.Values("X-Pot"))
	require.Equal(t, "text/x-tea", resp.Header.Get("Content-Type"))
	require.Equal(t, "short", body)
	s.Fail(1, &clienttest.HTTPError{Status: 404, RPC: jsonrpc.NewError(-32601, "none", nil)})
	resp, body = post(`{"jsonrpc":"2.0","id":"two","method":"ping"}`)
	require.Equal(t, 404, resp.StatusCode)
	require.Equal(t, "application/json", resp.Header.Get("Content-Type"))
	require.JSONEq(t, `{"jsonrpc":"2.0","id":"two","error":{"code":-32601,"message":"none"}}`, body)
	resp, body = post(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
	require.Equal(t, 200, resp.StatusCode)
	require.True(t, json.Valid([]byte(body)))
}

// Where there is no status to send, the test that wanted one fails.
func TestMisplacedStatus(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		connect func(*testing.T, *clienttest.Server) (*client.Client, error)
		status  int
		want    string
	}{
		{"no HTTP", func(t *testing.T, s *clienttest.Server) (*client.Client, error) {
			return client.Connect(t.Context(), s.Transport(), client.WithProtocolVersion("2025-11-25"))
		}, 503, "Transport has no HTTP; use Server.HTTP or Server.URL"},
		{"begun", func(t *testing.T, s *clienttest.Server) (*client.Client, error) {
			return client.Connect(t.Context(), s.HTTP(), client.WithProtocolVersion("2025-11-25"))
		}, 503, "cannot be sent: the answer has begun"},
		{"no status", func(t *testing.T, s *clienttest.Server) (*client.Client, error) {
			return client.Connect(t.Context(), s.HTTP(), client.WithProtocolVersion("2025-11-25"))
		}, 7, "Status is from 200 to 999"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &reports{TB: t}
				s := clienttest.NewServer(r)
				s.Tool("x", "", func(call *clienttest.Call) (any, error) {
					if tt.name == "begun" {
						call.Progress(1, "half")
					}
					return nil, &clienttest.HTTPError{Status: tt.status}
				})
				c, err := tt.connect(t, s)
				require.NoError(t, err)
				defer c.Close() //nolint:errcheck // not what is tested
				_, err = c.CallTool(t.Context(), "x", nil)
				require.Error(t, err)
				require.Contains(t, r.all(), tt.want)
			})
		})
	}
}
