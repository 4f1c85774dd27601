package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

type states = []transport.LoginState

// logins is a meter that counts changes of logins.
type logins struct {
	client.NoMeter
	mu   sync.Mutex
	seen states
}

func (l *logins) Observe(s client.Signal) {
	if s.Kind == client.LoginSignal {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.seen = append(l.seen, s.Login)
	}
}

// The option, the client and the meter all report a login, in order.
func TestEventsOfALogin(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	var own diary
	var meter logins
	events := make(chan client.LoginChanged, 10)
	a := auth.Login(browser(t), auth.WithPrincipal("ada"), auth.WithEvents(own.note))
	c, err := dial(t, w, a, client.WithMeter(&meter), client.WithName("shop"), client.OnEvent(func(_ context.Context, e client.Event) {
		if e, ok := e.(client.LoginChanged); ok {
			events <- e
		}
	}))
	require.NoError(t, err)
	w.Revoke()
	require.NoError(t, once(t.Context(), c))
	w.Forget()
	require.NoError(t, once(t.Context(), c))
	_, err = a.Logout(t.Context(), w.MCP.URL+"/mcp")
	require.NoError(t, err)
	require.NoError(t, a.Close())

	for _, e := range own.events {
		reported := <-events
		require.Equal(t, "shop", reported.ServerName())
		require.Equal(t, e.State, reported.State)
		require.Equal(t, e.Principal, reported.Principal)
		require.Equal(t, w.MCP.URL+"/mcp", e.Server)
		require.Equal(t, "ada", e.Principal)
		if e.State != auth.LoginEnded {
			require.Equal(t, w.AS.URL, e.Issuer, e.State)
		}
		if e.State == auth.LoginLost {
			require.ErrorIs(t, e.Err, auth.ErrNotLoggedIn)
			require.ErrorContains(t, e.Err, "invalid_grant")
		} else {
			require.NoError(t, e.Err)
		}
	}
	want := states{auth.LoginBegun, auth.LoginFinished, auth.LoginRenewed, auth.LoginLost, auth.LoginBegun, auth.LoginFinished, auth.LoginEnded}
	require.Equal(t, want, own.states())
	require.Equal(t, want, meter.seen)
}

// A program that must not log in learns once that its login is lost, whichever request
// notices it, and when somebody has logged in again.
func TestALostLoginIsReportedOnce(t *testing.T) {
	t.Parallel()
	d := &direct{w: authtest.New(t)}
	synctest.Test(t, func(t *testing.T) {
		store := auth.NewMemory()
		d.logIn(t, store)
		var own diary
		job := auth.Login(auth.WithStore(store), auth.WithTransport(d), auth.WithoutLogin(), auth.WithEvents(own.note))
		c := d.connect(t, job)
		defer func() { require.NoError(t, c.Close()) }()
		synctest.Wait()
		require.Empty(t, own.states())

		time.Sleep(2 * time.Hour)
		d.w.Forget()
		at := d.w.MCP.URL + "/mcp"
		for range 3 {
			_, err := job.Token(t.Context(), at)
			require.ErrorIs(t, err, auth.ErrNotLoggedIn)
			require.ErrorIs(t, once(t.Context(), c), auth.ErrNotLoggedIn)
			time.Sleep(time.Minute)
		}
		require.ErrorIs(t, own.last().Err, auth.ErrNotLoggedIn)
		require.Equal(t, states{auth.LoginLost}, own.states())

		d.logIn(t, store)
		require.NoError(t, once(t.Context(), c))
		synctest.Wait()
		require.Equal(t, states{auth.LoginFinished}, own.states())
	})
}

// Token finds the login of another program.
func TestTokenOfALaterLogin(t *testing.T) {
	t.Parallel()
	d := &direct{w: authtest.New(t)}
	synctest.Test(t, func(t *testing.T) {
		store := auth.NewMemory()
		a := auth.Login(auth.WithStore(store), auth.WithTransport(d), auth.WithoutLogin())
		_, err := a.Token(t.Context(), d.w.MCP.URL+"/mcp")
		require.ErrorIs(t, err, auth.ErrNotLoggedIn)
		d.logIn(t, store)
		issued, err := a.Issued(t.Context(), d.w.MCP.URL+"/mcp")
		require.NoError(t, err)
		tell(issued)
		require.Equal(t, "Bearer", issued.Type)
		require.WithinDuration(t, time.Now().Add(time.Hour), issued.Expiry, 0)
		require.Contains(t, d.w.Access, issued.Token.Text())
		inside := struct{ of any }{struct{ issued auth.Issued }{issued}}
		require.NotContains(t, fmt.Sprintf("%v %+v %#v %v %+v %#v", issued, issued, issued, inside, inside, inside), issued.Token.Text())
	})
}

// A login that expires and cannot be renewed is lost, too.
func TestATokenThatCannotBeRenewedIsLost(t *testing.T) {
	t.Parallel()
	d := &direct{w: authtest.New(t)}
	synctest.Test(t, func(t *testing.T) {
		store := auth.NewMemory()
		d.logIn(t, store)
		keys, err := store.List(t.Context())
		require.NoError(t, err)
		require.NoError(t, store.Update(t.Context(), keys[0], func(r auth.Record) (auth.Record, error) {
			r.Token.Refresh.Set("")
			return r, nil
		}))
		var own diary
		a := auth.HandOff(auth.WithStore(store), auth.WithTransport(d), auth.WithEvents(own.note))
		c := d.connect(t, a)
		defer func() { require.NoError(t, c.Close()) }()
		time.Sleep(time.Hour)
		d.w.Revoke()
		require.Error(t, once(t.Context(), c))
		synctest.Wait()
		require.Equal(t, states{auth.LoginLost, auth.LoginBegun}, own.states())
	})
}

// A login that is handed off begins once, however many calls want it, and ends with
// Finish.
func TestEventsOfAHandedOffLogin(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  func(address string) string
		wait time.Duration
		want states
	}{
		"finished": {want: states{auth.LoginFinished}},
		"denied": {
			end:  func(at string) string { return strings.Replace(at, "code=", "error=access_denied&x=", 1) },
			want: states{auth.LoginFailed},
		},
		"another login's address": {end: func(at string) string { return strings.Replace(at, "state=", "state=x", 1) }},
		"too late":                {wait: time.Hour, want: states{auth.LoginFailed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &direct{w: authtest.New(t)}
			synctest.Test(t, func(t *testing.T) {
				var own diary
				a := auth.HandOff(auth.WithTransport(d), auth.WithEvents(own.note))
				_, err := d.try(t, a)
				for range 3 {
					time.Sleep(time.Minute)
					_, err = d.try(t, a)
				}
				synctest.Wait()
				require.Equal(t, states{auth.LoginBegun}, own.states())
				time.Sleep(tt.wait)
				address := d.visit(t, err)
				if tt.end != nil {
					address = tt.end(address)
				}
				err = a.Finish(t.Context(), d.w.MCP.URL+"/mcp", address)
				tell(err)
				require.Equal(t, name == "finished", err == nil, err)
				synctest.Wait()
				require.Equal(t, tt.want, own.states())
			})
		})
	}
}

// A program renews its token by requesting another one. Its login is lost if the
// authorization server refuses that, but not while the server fails temporarily.
func TestEventsOfAProgram(t *testing.T) {
	t.Parallel()
	d := &direct{w: authtest.New(t)}
	synctest.Test(t, func(t *testing.T) {
		var status atomic.Int64
		d.refuse = func(r *http.Request) (int, string) {
			if r.URL.Path != "/token" {
				return 0, ""
			}
			return int(status.Load()), `{"error":"invalid_client"}`
		}
		var own diary
		a := auth.ClientCredentials("robot", "robot-planted-secret", auth.WithTransport(d), auth.WithEvents(own.note))
		_, err := d.try(t, auth.ClientCredentials("robot", "another-planted-secret", auth.WithTransport(d), auth.WithEvents(own.note)))
		require.Error(t, err)
		synctest.Wait()
		require.Equal(t, states{auth.LoginBegun, auth.LoginFailed}, own.states())

		c := d.connect(t, a)
		defer func() { require.NoError(t, c.Close()) }()
		at := d.w.MCP.URL + "/mcp"
		for _, tt := range []struct {
			status int
			want   states
		}{
			{0, states{auth.LoginBegun, auth.LoginFinished, auth.LoginRenewed}},
			{http.StatusServiceUnavailable, nil},
			{http.StatusUnauthorized, states{auth.LoginLost}},
			{http.StatusUnauthorized, nil},
			{0, states{auth.LoginRenewed}},
		} {
			time.Sleep(2 * time.Hour)
			d.w.Revoke()
			status.Store(int64(tt.status))
			if _, err := a.Token(t.Context(), at); tt.status == 0 && err != nil {
				require.NoError(t, once(t.Context(), c)) // its site was forgotten after a failure
			}
			_ = once(t.Context(), c)
			synctest.Wait()
			require.Equal(t, tt.want, own.states(), tt.status)
		}
	})
}

// A login that cannot begin has failed; one that is only looked at has not begun.
func TestEventsOfLoginsThatDoNotBegin(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	var own diary
	_, err := auth.Inspect(t.Context(), w.MCP.URL+"/mcp", auth.WithEvents(own.note))
	require.NoError(t, err)
	require.Empty(t, own.states())

	w.Metadata["code_challenge_methods_supported"] = []string{"plain"}
	a := auth.Login(auth.WithEvents(own.note))
	_, err = dial(t, w, a)
	require.Error(t, err)
	require.NoError(t, a.Close())
	var e *auth.Error
	require.ErrorAs(t, own.last().Err, &e)
	require.Equal(t, w.MCP.URL+"/mcp", e.Server)
	require.Equal(t, states{auth.LoginFailed}, own.states())

	_, err = dial(t, w, auth.Login(auth.WithEvents(nil)))
	require.ErrorAs(t, err, &e)
	require.Equal(t, auth.ReasonOption, e.Reason)
}

// A function that fails loses its own event only: the others are called, the call
// continues, and the client reports the failure.
func TestAFunctionForEventsThatFails(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(auth.Event){
		"panic":  func(auth.Event) { panic("a bug") },
		"Goexit": func(auth.Event) { runtime.Goexit() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := &direct{w: authtest.New(t)}
			synctest.Test(t, func(t *testing.T) {
				var own diary
				failed := make(chan string, 10)
				a := auth.ClientCredentials("robot", "robot-planted-secret", auth.WithTransport(d), auth.WithEvents(f), auth.WithEvents(own.note))
				c := d.connect(t, a, client.OnEvent(func(_ context.Context, e client.Event) {
					if e, ok := e.(client.CallbackFailed); ok {
						failed <- e.Callback
					}
				}))
				synctest.Wait()
				require.Equal(t, states{auth.LoginBegun, auth.LoginFinished}, own.states())
				require.Len(t, failed, 2)
				require.Equal(t, "WithEvents", <-failed)
				require.NoError(t, c.Close())
			})
		})
	}
}

// A function that does not return delays no call, and Close by a second.
func TestAFunctionForEventsThatBlocks(t *testing.T) {
	t.Parallel()
	d := &direct{w: authtest.New(t)}
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		a := auth.ClientCredentials("robot", "robot-planted-secret", auth.WithTransport(d), auth.WithEvents(func(auth.Event) { <-release }))
		c := d.connect(t, a)
		require.NoError(t, once(t.Context(), c))
		require.NoError(t, c.Close())
		began := time.Now()
		require.NoError(t, a.Close())
		require.Equal(t, time.Second, time.Since(began))
		close(release)
	})
}

// A nightly job learns that its login is lost long before its next call. Nothing runs after
// Close.
func TestRenewalAhead(t *testing.T) {
	t.Parallel()
	d := &direct{w: authtest.New(t)}
	synctest.Test(t, func(t *testing.T) {
		var status atomic.Int64
		d.refuse = func(r *http.Request) (int, string) {
			if r.URL.Path != "/token" {
				return 0, ""
			}
			return int(status.Load()), "{}"
		}
		store := auth.NewMemory()
		d.logIn(t, store)
		var own diary
		job := auth.Login(auth.WithStore(store), auth.WithTransport(d), auth.WithoutLogin(), auth.WithEvents(own.note), auth.WithRenewalAhead())
		c := d.connect(t, job)
		time.Sleep(2*time.Hour - time.Minute)
		require.Equal(t, states{auth.LoginRenewed}, own.states())

		status.Store(http.StatusServiceUnavailable)
		time.Sleep(10 * time.Minute)
		require.Empty(t, own.states())
		status.Store(0)
		time.Sleep(2 * time.Minute)
		require.Equal(t, states{auth.LoginRenewed}, own.states())

		d.w.Forget()
		time.Sleep(time.Hour)
		require.ErrorIs(t, own.last().Err, auth.ErrNotLoggedIn)
		require.Equal(t, states{auth.LoginLost}, own.states())
		asked := d.w.Asked("refresh_token")
		time.Sleep(24 * time.Hour)
		require.Equal(t, asked, d.w.Asked("refresh_token"))

		d.logIn(t, store)
		require.NoError(t, once(t.Context(), c))
		time.Sleep(24 * time.Hour)
		require.Len(t, own.states(), 1+24)
		require.NoError(t, c.Close())
		require.NoError(t, job.Close())
		asked = d.w.Asked("refresh_token")
		time.Sleep(24 * time.Hour)
		require.Equal(t, asked, d.w.Asked("refresh_token"))
	})
}

// Events of an Authorizer name their login. A client reports only those of its own server.
func TestClientsReportTheirOwnServer(t *testing.T) {
	t.Parallel()
	w, other := authtest.New(t), authtest.New(t)
	a := auth.ClientCredentials("robot", "robot-planted-secret")
	changes := make(chan client.LoginChanged, 10)
	c, err := dial(t, w, a, client.OnEvent(func(_ context.Context, e client.Event) {
		if e, ok := e.(client.LoginChanged); ok {
			changes <- e
		}
	}))
	require.NoError(t, err)
	_, err = dial(t, other, a)
	require.NoError(t, err)
	require.NoError(t, errors.Join(once(t.Context(), c)))
	for _, want := range (states{auth.LoginBegun, auth.LoginFinished}) {
		e := <-changes
		require.Equal(t, want, e.State)
		require.Equal(t, w.AS.URL, e.Issuer)
	}
	require.Empty(t, changes)
}

// If the authorization server refuses a client, the application must correct it. Meanwhile
// there is no attempt each minute, and afterwards the login is valid.
func TestALoginWhoseClientIsRefused(t *testing.T) {
	t.Parallel()
	d := &direct{w: authtest.New(t)}
	synctest.Test(t, func(t *testing.T) {
		var refused atomic.Bool
		var refusals atomic.Int64
		d.refuse = func(r *http.Request) (int, string) {
			if !refused.Load() || r.URL.Path != "/token" {
				return 0, ""
			}
			refusals.Add(1)
			return http.StatusUnauthorized, `{"error":"invalid_client"}`
		}
		store, known := auth.NewMemory(), auth.WithClient("known", "", d.w.AS.URL)
		d.logIn(t, store, known)
		var own diary
		job := auth.Login(auth.WithStore(store), auth.WithTransport(d), known, auth.WithEvents(own.note), auth.WithRenewalAhead())
		c := d.connect(t, job)
		refused.Store(true)
		time.Sleep(24 * time.Hour)
		require.Equal(t, states{auth.LoginLost}, own.states())
		require.EqualValues(t, 1, refusals.Load())
		refused.Store(false)
		require.NoError(t, once(t.Context(), c))
		synctest.Wait()
		require.Equal(t, states{auth.LoginRenewed}, own.states())
		require.NoError(t, c.Close())
		require.NoError(t, job.Close())
	})
}

// A login on another device begins when the person is shown the code, and counts like any
// other: a server cannot ask for one after the other.
func TestEventsOfALoginOnAnotherDevice(t *testing.T) {
	t.Parallel()
	d := &direct{w: authtest.New(t)}
	d.w.Announce(deviceEndpoint)
	d.w.Never = true
	asked := recorded(d.w, "/device_authorization")
	synctest.Test(t, func(t *testing.T) {
		var own diary
		phone := auth.WithPrompt(func(ctx context.Context, p auth.Prompt) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URLWithCode, nil)
			if err == nil {
				_, err = d.RoundTrip(req)
			}
			return err
		})
		a := auth.Device(phone, auth.WithTransport(d), auth.WithEvents(own.note))
		for range 8 { // in less than ten minutes
			_, err := d.try(t, a)
			require.Error(t, err)
			time.Sleep(61 * time.Second)
		}
		got := own.states()
		require.Equal(t, states{auth.LoginBegun, auth.LoginFinished}, got[:2])
		require.LessOrEqual(t, len(*asked), 4)
	})
}

// whose is the key of the principal in a context.
type whose struct{}

// The events of an Authorizer with many principals name the principal.
func TestEventsOfManyPrincipals(t *testing.T) {
	t.Parallel()
	w := authtest.New(t)
	var own diary
	a := auth.ClientCredentials("robot", "robot-planted-secret", auth.WithEvents(own.note), auth.WithPrincipals(func(ctx context.Context) (string, error) {
		name, _ := ctx.Value(whose{}).(string)
		return name, nil
	}))
	as := func(name string) context.Context { return context.WithValue(t.Context(), whose{}, name) }
	c, err := client.Dial(as("ada"), w.MCP.URL+"/mcp", client.WithAuthorizer(a), client.WithProtocolVersion("2025-11-25"))
	require.NoError(t, err)
	require.NoError(t, once(as("bob"), c))
	_, err = a.Logout(as("bob"), w.MCP.URL+"/mcp")
	require.NoError(t, err)
	require.NoError(t, a.Close())
	require.NoError(t, c.Close())
	var got []string
	for _, e := range own.events {
		got = append(got, e.Principal+" "+string(e.State))
	}
	require.Equal(t, []string{"ada begun", "ada finished", "bob begun", "bob finished", "bob logged-out"}, got)
}
