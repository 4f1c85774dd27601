package memhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func get(ctx context.Context, s *Server) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, URL, strings.NewReader("question"))
	if err != nil {
		return "", err
	}
	resp, err := s.Transport().RoundTrip(req)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(resp.Body)
	return string(body), errors.Join(err, resp.Body.Close())
}

// An hour in a server passes at once, and a connection is reused.
func TestTimeIsVirtual(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Hour)
			body, _ := io.ReadAll(r.Body)
			_, _ = w.Write(append(body, " and answer"...))
		}))
		defer s.Close()
		began := time.Now()
		for range 3 {
			got, err := get(t.Context(), s)
			require.NoError(t, err)
			require.Equal(t, "question and answer", got)
		}
		require.Equal(t, 3*time.Hour, time.Since(began))
		require.Equal(t, 1, s.Opened())
	})
}

// A request ends with its context, with a cut, and with the server.
func TestRequestsEnd(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		end  func(s *Server, cancel func())
	}{
		{"context", func(_ *Server, cancel func()) { cancel() }},
		{"cut", func(s *Server, _ func()) { s.Cut() }},
		{"close", func(s *Server, _ func()) { s.Close() }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := New(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body) // a server notices a closed client only after its body
					<-r.Context().Done()
				}))
				defer s.Close()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				failed := make(chan error, 1)
				go func() {
					_, err := get(ctx, s)
					failed <- err
				}()
				synctest.Wait()
				tt.end(s, cancel)
				require.Error(t, <-failed)
			})
		})
	}
}

// A closed server cannot be reached.
func TestClosed(t *testing.T) {
	t.Parallel()
	s := New(http.NotFoundHandler())
	s.Close()
	s.Close()
	_, err := get(t.Context(), s)
	require.ErrorIs(t, err, errClosed)
}
