package client_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// Nothing goes out in a session whose handshake has
// failed half-way. It is given up, and the next call opens another one.
func TestSessionHalfOpen(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		version, capabilities string
		refused               int // of the first notifications/initialized in the new sessions
		nameless              bool
		listens               bool
		kind                  mcperrors.Kind // of what keeps the session from being opened
		works                 string         // the session that the second call is made in
	}{
		"another revision":                {version: "1999-01-01", kind: mcperrors.KindVersion},
		"a capability is missing":         {capabilities: `{}`, kind: mcperrors.KindUnsupported},
		"initialized refused once":        {version: "2025-06-18", refused: 1, kind: mcperrors.KindServer, works: "s3"},
		"initialized refused, no id":      {refused: 1, nameless: true, kind: mcperrors.KindServer, works: ""},
		"initialized refused, a listener": {refused: 1, listens: true, kind: mcperrors.KindServer, works: "s3"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSessionSite(t)
				c := s.dial(t, client.WithRequiredCapabilities("tools"))
				if tt.listens {
					_, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ToolsListChanged: true}, (&record{}).change)
					require.NoError(t, err)
				}
				synctest.Wait()
				s.locked(func() {
					s.session, s.refuse, s.nameless = "", tt.refused, tt.nameless
					if tt.version != "" {
						s.version = tt.version
					}
					if tt.capabilities != "" {
						s.capabilities = tt.capabilities
					}
				})
				_, err := c.CallTool(t.Context(), "echo", message)
				require.Equal(t, mcperrors.KindSessionLost, mcperrors.KindOf(err), "%v", err)
				var lost *mcperrors.Error
				require.ErrorAs(t, err, &lost)
				require.Equal(t, tt.kind, mcperrors.KindOf(lost.Cause), "%v", err)
				require.True(t, mcperrors.SafeToRetry(err) || tt.refused == 0)
				require.Equal(t, mcp.Version2025_11_25, c.ProtocolVersion(), "what was agreed last")
				for range 3 {
					_, err = c.CallTool(t.Context(), "echo", message)
				}
				synctest.Wait()
				require.Equal(t, 0, s.count("tools/call@s2"), "executed in a session that is not open")
				if tt.refused == 0 {
					require.Error(t, err)
					require.Equal(t, 0, s.count("notifications/initialized@s2"))
					require.Equal(t, 0, s.count("tools/call@s3"))
				} else {
					require.NoError(t, err)
					n := 0
					s.locked(func() {
						for _, got := range s.got {
							if got == "tools/call@"+tt.works {
								n++
							}
						}
					})
					require.Equal(t, 3, n)
				}
				if !tt.nameless {
					require.Equal(t, 1, s.count("DELETE@s2"), "the server learns that the session is over")
				}
				require.NoError(t, c.Close())
			})
		})
	}
}

// Calls that hang in the session that is gone do not keep a new one from
// being opened, nor what the old one had from being restored.
func TestSessionLostAtTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessionSite(t)
		hold := make(chan struct{})
		s.reply = func(_ http.ResponseWriter, _ *http.Request, req jsonrpc.Request) bool {
			if strings.Contains(string(req.Params), "slow") {
				<-hold
			}
			return false
		}
		res := client.Resilience{Bulkhead: client.Bulkhead{Limit: 2, Queue: -1}}
		c := s.dial(t, client.WithResilience(res))
		require.NoError(t, c.SetLogLevel(t.Context(), mcp.LevelWarning))
		sub, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"x:/a"}}, (&record{}).change)
		require.NoError(t, err)
		for range 2 {
			go func() { _, _ = c.CallTool(t.Context(), "echo", map[string]any{"message": "slow"}) }()
		}
		synctest.Wait()
		s.restart()
		require.NoError(t, c.Notify(t.Context(), "notifications/custom", nil))
		synctest.Wait()
		require.Equal(t, 1, s.count("resources/subscribe@s2"))
		require.Equal(t, 1, s.count("logging/setLevel@s2"))
		require.NoError(t, sub.Err())
		_, err = c.CallTool(t.Context(), "echo", hello)
		require.Equal(t, mcperrors.KindOverloaded, mcperrors.KindOf(err), "the limit holds for calls")
		close(hold)
		require.NoError(t, c.Close())
	})
}

// A resource that cannot be had at once in a new session
// is asked for again; only a refusal that lasts ends the subscription.
func TestSessionLostResubscribes(t *testing.T) {
	t.Parallel()
	refuse := func(code int, body string) func(http.ResponseWriter, jsonrpc.Request) {
		return func(w http.ResponseWriter, req jsonrpc.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, strings.ReplaceAll(body, "ID", string(req.ID.AppendJSON(nil))))
		}
	}
	tests := map[string]struct {
		refuse func(http.ResponseWriter, jsonrpc.Request)
		times  int64
		ends   bool
		twice  bool // the session is lost twice
	}{
		"out of order":     {refuse(503, ""), 1, false, false},
		"for some time":    {refuse(503, ""), 8, false, false},
		"an inner error":   {refuse(200, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"no"}}`), 1, false, false},
		"not offered":      {refuse(200, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}`), 1, true, false},
		"the session, too": {refuse(404, ""), 1, false, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSessionSite(t)
				var asked atomic.Int64
				s.reply = func(w http.ResponseWriter, _ *http.Request, req jsonrpc.Request) bool {
					if req.Method == "resources/subscribe" {
						if n := asked.Add(1); n > 1 && n <= 1+tt.times {
							tt.refuse(w, req)
							return true
						}
					}
					return false
				}
				var changes, events record
				c := s.dial(t, events.events())
				sub, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"x:/a"}}, changes.change)
				require.NoError(t, err)
				synctest.Wait()
				s.restart()
				// A call that meets both losses of a session is refused, undone.
				if err := c.Ping(t.Context()); tt.twice && err != nil {
					require.Equal(t, mcperrors.KindSessionLost, mcperrors.KindOf(err))
					require.True(t, mcperrors.SafeToRetry(err))
				} else {
					require.NoError(t, err)
				}
				time.Sleep(10 * time.Minute)
				if tt.twice { // two gaps may be told as one
					require.NoError(t, sub.Err())
					require.Equal(t, tt.times+2, asked.Load())
					require.Equal(t, "gap", changes.all()[0])
					require.NoError(t, c.Ping(t.Context()))
				} else if tt.ends {
					require.Error(t, sub.Err())
					require.Contains(t, events.all(), "event.SubscriptionEnded")
				} else {
					require.NoError(t, sub.Err())
					require.Equal(t, tt.times+2, asked.Load())
					require.Equal(t, []string{"gap", "gap"}, changes.all(), "and again once it is watched")
				}
				require.NoError(t, c.Close())
			})
		})
	}
}

// A resource is taken back from the server however long another is being
// asked for.
func TestUnwatchWaitsItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessionSite(t)
		s.reply = func(_ http.ResponseWriter, _ *http.Request, req jsonrpc.Request) bool {
			if req.Method == "resources/subscribe" && strings.Contains(string(req.Params), "slow") {
				time.Sleep(10 * time.Second)
			}
			return false
		}
		c := s.dial(t)
		a, err := c.Subscribe(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"x:/a"}}, (&record{}).change)
		require.NoError(t, err)
		go func() {
			_, _ = c.Subscribe(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"x:/slow"}}, (&record{}).change)
		}()
		synctest.Wait()
		require.NoError(t, a.Close())
		time.Sleep(time.Minute)
		require.Equal(t, 1, s.count("resources/unsubscribe"))
		s.restart()
		require.NoError(t, c.Ping(t.Context()))
		time.Sleep(time.Minute)
		require.Equal(t, 1, s.count("resources/subscribe@s2"), "nobody wants the other any more")
		require.NoError(t, c.Close())
	})
}

// After a quiet time a lost session is reopened at once.
func TestSessionLostAfterAQuietTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessionSite(t)
		c := s.dial(t)
		for range 8 {
			s.restart()
			_ = c.Ping(t.Context()) // from the third on they are refused
		}
		time.Sleep(time.Hour)
		for range 2 {
			s.restart()
			began := time.Now()
			require.NoError(t, c.Ping(t.Context()))
			require.Zero(t, time.Since(began))
		}
		require.NoError(t, c.Close())
	})
}

// Who listens gets a session, also when the call that found out that
// there is none any more did not get it.
func TestSessionLostFoundByACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessionSite(t)
		c := s.dial(t, client.OnListChanged(func(context.Context, string) {}))
		synctest.Wait()
		s.locked(func() { s.session, s.down = "", true })
		require.Error(t, c.Ping(t.Context()))
		s.locked(func() { s.down = false })
		time.Sleep(time.Minute)
		require.Equal(t, 1, s.count("GET@s2"))
		require.NoError(t, c.Close())
	})
}

// What is kept is of the old session, from the moment the new one is open.
func TestSessionLostForgetsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessionSite(t)
		let := make(chan struct{})
		levels := 0
		s.reply = func(_ http.ResponseWriter, _ *http.Request, req jsonrpc.Request) bool {
			if req.Method == "logging/setLevel" {
				if levels++; levels == 2 {
					<-let // the old state is not restored yet
				}
			}
			return false
		}
		c := s.dial(t)
		require.NoError(t, c.SetLogLevel(t.Context(), mcp.LevelWarning))
		_, err := c.GetToolSchema(t.Context(), "echo")
		require.NoError(t, err)
		listed := s.count("tools/list")
		s.restart()
		require.NoError(t, c.Ping(t.Context()))
		_, err = c.GetToolSchema(t.Context(), "echo")
		require.NoError(t, err)
		require.Equal(t, listed+1, s.count("tools/list"))
		close(let)
		require.NoError(t, c.Close())
	})
}

// What a lost session asked is answered to nobody. The new session may ask
// under the same id, and gets its own answer.
func TestQuestionsOfALostSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSessionSite(t)
		var asked []string
		c := s.dial(t, client.OnElicitForm(func(ctx context.Context, r client.FormRequest) (*mcp.ElicitResult, error) {
			asked = append(asked, r.Message)
			if r.Message == "old" {
				<-ctx.Done()
			}
			return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
		}))
		ask := func(message string) {
			synctest.Wait()
			s.last() <- `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"` + message + `","requestedSchema":{"type":"object","properties":{}}}}`
			synctest.Wait()
		}
		ask("old")
		s.restart()
		_, err := c.CallTool(t.Context(), "echo", message)
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.Zero(t, s.count("POST@s1")+s.count("POST@s2"))
		ask("new")
		require.Equal(t, []string{"old", "new"}, asked)
		require.Equal(t, 1, s.count("POST@s2"))
	})
}
