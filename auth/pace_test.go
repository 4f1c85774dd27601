package auth_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/authtest"
)

// trouble is what happens to requests at a token endpoint, as often as left says.
type trouble struct {
	left, met atomic.Int32
	status    int           // 0 closes the connection without an answer
	after     time.Duration // Retry-After
	unsent    bool          // no connection is made
}

func (tr *trouble) next() bool {
	if tr.left.Load() <= 0 {
		return false
	}
	tr.left.Add(-1)
	tr.met.Add(1)
	return true
}

// at makes the trouble happen at the token endpoint of a world.
func (tr *trouble) at(w *authtest.World) auth.Option {
	inner := w.AS.Config.Handler
	w.AS.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" || tr.unsent || !tr.next() {
			inner.ServeHTTP(rw, r)
			return
		}
		if tr.status == 0 {
			panic(http.ErrAbortHandler)
		}
		rw.Header().Set("Retry-After", strconv.Itoa(int(tr.after.Seconds())))
		rw.WriteHeader(tr.status)
	})
	return auth.WithTransport(&http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if tr.unsent && tr.next() {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("connection refused")}
		}
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}})
}

// Callers do not notice that the token endpoint is too busy for one request.
func TestTokenEndpointIsBusyOnce(t *testing.T) {
	t.Parallel()
	for kind, tr := range map[string]func() *trouble{
		"503":                func() *trouble { return &trouble{status: http.StatusServiceUnavailable} },
		"429":                func() *trouble { return &trouble{status: http.StatusTooManyRequests} },
		"connection refused": func() *trouble { return &trouble{unsent: true} },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			t.Run("a refresh", func(t *testing.T) {
				t.Parallel()
				w, tr := authtest.New(t), tr()
				c, err := dial(t, w, auth.Login(browser(t), tr.at(w)))
				require.NoError(t, err)
				w.Revoke()
				tr.left.Store(1)
				require.NoError(t, once(t.Context(), c))
				require.EqualValues(t, 1, tr.met.Load())
				require.Equal(t, 1, w.Asked("refresh_token"))
				require.Equal(t, 1, w.Asked("authorize"))
			})
			t.Run("client credentials", func(t *testing.T) {
				t.Parallel()
				w, tr := authtest.New(t), tr()
				opt := tr.at(w)
				if !tr.unsent {
					tr.left.Store(1)
				}
				c, err := dial(t, w, auth.ClientCredentials("robot", "robot-planted-secret", opt))
				require.NoError(t, err)
				w.Revoke()
				tr.left.Store(1)
				err = once(t.Context(), c)
				if tr.unsent { // the connection is that of the documents
					require.ErrorContains(t, err, "connection refused")
					return
				}
				require.NoError(t, err)
				require.EqualValues(t, 2, tr.met.Load())
			})
		})
	}
	t.Run("the code of a login", func(t *testing.T) {
		t.Parallel()
		w, tr := authtest.New(t), &trouble{status: http.StatusServiceUnavailable}
		opt := tr.at(w)
		tr.left.Store(1)
		_, err := dial(t, w, auth.Login(browser(t), opt))
		require.NoError(t, err)
		require.EqualValues(t, 1, tr.met.Load())
		require.Equal(t, 1, w.Asked("authorize"))
	})
}

// Many calls cause few requests to a failing token endpoint, and learn when the next one is.
func TestTokenEndpointStaysInTrouble(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		trouble *trouble
		asked   int
		least   time.Duration // of the pause in the errors
		most    time.Duration
		again   bool // when a second has passed, and then with longer pauses
	}{
		"busy":                {&trouble{status: 503}, 2, 1, time.Second, true},
		"busy, as it says":    {&trouble{status: 429, after: time.Hour / 20}, 1, time.Minute, time.Hour / 20, false},
		"out of reach":        {&trouble{unsent: true}, 2, 1, time.Second, true},
		"its answer was lost": {&trouble{}, 1, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, tr := authtest.New(t), row.trouble
			c, err := dial(t, w, auth.Login(browser(t), tr.at(w)))
			require.NoError(t, err)
			w.Revoke()
			tr.left.Store(1 << 30)
			start := time.Now()
			for range 10 {
				err = once(t.Context(), c)
				tell(err)
				var e *auth.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, mcperrors.KindAuth, mcperrors.KindOf(err))
				require.Equal(t, e.RetryAfter(), mcperrors.RetryAfter(err))
				require.GreaterOrEqual(t, e.RetryAfter(), row.least)
				asked, most := row.asked, row.most
				for passed := time.Since(start); row.again && passed >= most; asked++ { // on a busy machine
					passed -= most
					if most *= 2; most > 4*time.Second {
						most = 10 * time.Second
					}
				}
				require.LessOrEqual(t, e.RetryAfter(), most)
				require.GreaterOrEqual(t, int(tr.met.Load()), row.asked)
				require.LessOrEqual(t, int(tr.met.Load()), asked)
			}
			require.Equal(t, 1, w.Asked("authorize"), "a person was asked for trouble that passes")
		})
	}
}
