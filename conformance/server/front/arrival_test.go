package front

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// timed is an answer whose request has a read deadline.
type timed struct {
	*httptest.ResponseRecorder
	deadlines []time.Time
}

func (w *timed) SetReadDeadline(t time.Time) error {
	w.deadlines = append(w.deadlines, t)
	return nil
}

func TestArrivalIsBoundedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &timed{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(initialize))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		testHTTP(behind()).ServeHTTP(w, r)
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, []time.Time{time.Now().Add(bodyTimeout), {}}, w.deadlines, "until the body is here")
	})
}

// A body that does not arrive keeps its bound: net/http looks for the rest of it before
// it sends the answer, and would wait forever.
func TestArrivalKeepsTheBoundOfABodyThatIsNotWhole(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]io.Reader{
		"cut short": io.MultiReader(strings.NewReader("{"), failing{io.ErrUnexpectedEOF}),
		"too long":  strings.NewReader(strings.Repeat("x", 11)),
	} {
		w := &timed{ResponseRecorder: httptest.NewRecorder()}
		r := httptest.NewRequest(http.MethodPost, "/", body)
		hasten(w, r)
		arrive(w, r, 10)
		require.Len(t, w.deadlines, 1, name)
	}
}

// A body that is not here yet does not count as running, and one that comes too
// late is refused.
func TestArrivalComesBeforeTheCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, gate, _ := site(behind())
		in, out := io.Pipe()
		w := httptest.NewRecorder()
		answered := make(chan struct{})
		go func() {
			r := httptest.NewRequest(http.MethodPost, "/mcp", in)
			r.Host = "localhost"
			h.ServeHTTP(w, r)
			close(answered)
		}()
		_, err := io.WriteString(out, "{")
		require.NoError(t, err)
		begin := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		gate.Drain(ctx)
		require.Zero(t, time.Since(begin))
		require.NoError(t, out.Close())
		<-answered
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
	})
}

// The reader of the body gets its bytes unchanged, and its end.
func TestArrivalKeepsTheBody(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 9, 10, 11, 5000} {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", n)))
		arrive(httptest.NewRecorder(), r, 10)
		b, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.Len(t, b, n)
		require.NoError(t, r.Body.Close())
	}
	r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(strings.NewReader("x"), failing{io.ErrUnexpectedEOF}))
	arrive(httptest.NewRecorder(), r, 10)
	b, err := io.ReadAll(r.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, "x", string(b))
}

// A request that is refused before its body is read has as long as one that is served:
// net/http waits for the body before it sends the refusal.
func TestArrivalOfARefusedRequestIsBoundedInTime(t *testing.T) {
	t.Parallel()
	for name, host := range map[string]string{"no token": "localhost", "foreign host": "evil.example"} {
		for _, method := range []string{http.MethodPost, http.MethodGet} {
			synctest.Test(t, func(t *testing.T) {
				gate := NewGate(GateOptions{Token: "secret"})
				w := &timed{ResponseRecorder: httptest.NewRecorder()}
				r := httptest.NewRequest(method, "/mcp", strings.NewReader("{"))
				r.Host = host
				gate.Wrap(http.NotFoundHandler()).ServeHTTP(w, r)
				require.Contains(t, []int{http.StatusUnauthorized, http.StatusForbidden}, w.Code, name)
				require.Equal(t, []time.Time{time.Now().Add(bodyTimeout)}, w.deadlines, name)
			})
		}
	}
}
