package auth

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// older makes the whole state of a server older.
func older(a *Authorizer, by time.Duration) {
	for _, s := range a.servers {
		s.failed.at, s.failed.until = s.failed.at.Add(-by), s.failed.until.Add(-by)
		if h := s.now.Load(); h != nil {
			h.loggedIn, h.record.Obtained = h.loggedIn.Add(-by), h.record.Obtained.Add(-by)
		}
	}
}

// A server that refuses every token does not open one browser after the other for a
// program that calls it now and then.
func TestBrowserAfterBrowser(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		refresh bool
		pause   time.Duration
	}{
		"without refresh tokens, each 11 s": {false, 11 * time.Second},
		"with refresh tokens, each 61 s":    {true, 61 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			w.Never = true
			inner := w.AS.Config.Handler
			w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/token" || row.refresh {
					inner.ServeHTTP(rw, r)
					return
				}
				rec := httptest.NewRecorder()
				inner.ServeHTTP(rec, r)
				var m map[string]any
				_ = json.Unmarshal(rec.Body.Bytes(), &m)
				delete(m, "refresh_token")
				rw.Header().Set("Content-Type", "application/json")
				rw.WriteHeader(rec.Code)
				_ = json.NewEncoder(rw).Encode(m)
			})
			asked := 0
			a := Login(WithPrompt(func(_ context.Context, p Prompt) error {
				asked++
				resp, err := http.Get(p.URL)
				if err != nil {
					return err
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				return resp.Body.Close()
			}))
			for range 10 {
				_, err := client.Dial(t.Context(), w.MCP.URL+"/mcp", client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))
				require.Error(t, err)
				older(a, row.pause)
			}
			require.LessOrEqual(t, asked, 3)
		})
	}
}

// Close ends the login for all calls that wait for it: the next one of them does not begin
// another.
func TestCloseWithTwoCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := Login()
		s := &server{a: a, serial: newSerial(5 * time.Minute)}
		a.servers[serverKey{}] = s
		logins := 0
		for range 3 {
			go func() {
				_, _ = inSeries(t.Context(), s, func(ctx context.Context) (int, error) {
					logins++ // opens a browser
					<-ctx.Done()
					return 0, ctx.Err()
				})
			}()
		}
		synctest.Wait()
		require.Equal(t, 1, logins)
		require.NoError(t, a.Close())
		synctest.Wait()
		require.Equal(t, 1, logins, "a call that waited has begun another login after Close")
	})
}

// A program without a person finds the token endpoint again when it has moved.
func TestTokenEndpointMoves(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	var moved atomic.Bool
	inner := w.AS.Config.Handler
	w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if moved.Load() && r.URL.Path == "/token" {
			http.NotFound(rw, r)
			return
		}
		if r.URL.Path == "/v2/token" {
			r.URL.Path = "/token"
		}
		inner.ServeHTTP(rw, r)
	})
	a := ClientCredentials("robot", "robot-planted-secret")
	c, err := client.Dial(t.Context(), w.MCP.URL+"/mcp", client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	moved.Store(true)
	w.Metadata["token_endpoint"] = w.AS.URL + "/v2/token"
	for range 3 {
		w.Revoke()
		for _, s := range a.servers {
			if h := s.now.Load(); h != nil {
				h.record.Token.Expiry = time.Now().Add(-time.Second)
			}
		}
		older(a, time.Hour)
		if _, err = c.CallTool(t.Context(), "echo", map[string]any{}); err == nil {
			break
		}
	}
	require.NoError(t, err, "no request is sent, so no challenge ever leads to the new metadata")
}

// The state of servers does not grow with every URL that was ever used.
func TestServersAreForgotten(t *testing.T) {
	t.Parallel()
	a := Login(WithoutLogin())
	for i := range 20000 {
		_, err := a.Token(t.Context(), "https://mcp.example/mcp?user="+strconv.Itoa(i))
		require.ErrorIs(t, err, ErrNotLoggedIn)
	}
	require.Less(t, len(a.servers), 10000)
}

// The expiry of a token is a time of the wall clock, because the monotonic clock stops
// while a machine sleeps.
func TestExpiryIsOfTheWallClock(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	a := ClientCredentials("robot", "robot-planted-secret")
	c, err := client.Dial(t.Context(), w.MCP.URL+"/mcp", client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	for _, s := range a.servers {
		end := s.now.Load().record.Token.Expiry
		require.Equal(t, end.Round(0), end)
	}
}

// A call whose deadline has passed begins no login.
func TestDeadCallBeginsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server{serial: newSerial(5 * time.Minute)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		<-ctx.Done()
		begun := 0
		for range 100 {
			_, _ = inSeries(ctx, s, func(context.Context) (int, error) {
				begun++
				return 0, nil
			})
			synctest.Wait()
		}
		require.Zero(t, begun)
	})
}

// Another program logged out, or learned that the login is over: this one has no token
// then, and does not send an empty one.
func TestLogoutOfAnotherProgram(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, s Store, key Key, at string){
		"logged out": func(t *testing.T, s Store, _ Key, at string) {
			found, err := Login(WithStore(s)).Logout(t.Context(), at)
			require.NoError(t, err)
			require.True(t, found)
		},
		"refused there": func(t *testing.T, s Store, key Key, _ string) {
			require.NoError(t, s.Update(t.Context(), key, func(r Record) (Record, error) {
				r.Token = grant.Token{} // as refreshed does after invalid_grant
				return r, nil
			}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := authtest.New(t)
			at := w.MCP.URL + "/mcp"
			var empty atomic.Int32
			inner := w.MCP.Config.Handler
			w.MCP.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.Header.Values("Authorization") != nil && len(r.Header.Get("Authorization")) < 10 {
					empty.Add(1)
				}
				inner.ServeHTTP(rw, r)
			})
			s := NewMemory()
			asked := 0
			a := Login(WithStore(s), WithPrompt(func(_ context.Context, p Prompt) error {
				if asked++; asked > 1 {
					return errors.New("no")
				}
				resp, err := http.Get(p.URL)
				if err != nil {
					return err
				}
				return resp.Body.Close()
			}))
			c, err := client.Dial(t.Context(), at, client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))
			require.NoError(t, err)
			t.Cleanup(func() { _ = c.Close() })
			h := a.servers[firstKey(a)].now.Load()
			end(t, s, h.key, at)
			w.Revoke()
			h.record.Token.Expiry = time.Now().Add(-time.Second)
			token, err := a.Token(t.Context(), at)
			if err == nil {
				t.Errorf("Token returned %q without an error", token)
			}
			_, err = c.CallTool(t.Context(), "echo", map[string]any{})
			require.Error(t, err)
			require.Zero(t, empty.Load(), "an empty token was sent; the call says: %v", err)
		})
	}
}

func firstKey(a *Authorizer) serverKey {
	for key := range a.servers {
		return key
	}
	return serverKey{}
}

// "A JWT that the authorization server refuses is not sent again."
func TestRefusedAssertion(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	var sent atomic.Int32
	inner := w.AS.Config.Handler
	w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" {
			inner.ServeHTTP(rw, r)
			return
		}
		sent.Add(1)
		rw.Header().Set("Content-Type", "application/json")
		rw.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(rw, `{"error":"invalid_grant"}`)
	})
	a := Workload("robot", func(context.Context) (string, error) { return "a.planted-secret.jwt", nil })
	for range 3 {
		_, err := client.Dial(t.Context(), w.MCP.URL+"/mcp", client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))
		require.Error(t, err)
		older(a, 11*time.Second)
	}
	require.EqualValues(t, 1, sent.Load())
}
