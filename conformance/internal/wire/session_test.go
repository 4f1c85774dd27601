package wire

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// refusing answers every request with 400 and an error without an id.
type refusing struct{}

func (refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	const body = `{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"}}`
	return &http.Response{
		StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {MediaJSON}}, Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// TestSession_ProvokeUnreadable: over HTTP the answer to bytes that nobody can read is known by
// its response, so that nobody waits for another one.
func TestSession_ProvokeUnreadable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := NewTrace()
		s := NewSession(NewHTTPConn(t.Context(), Endpoint{URL: "http://server/mcp", RoundTripper: refusing{}}, tr), tr, func(*Session, Inbound) {}, time.Minute)
		begun := time.Now()
		a, err := s.Provoke(t.Context(), s.NewID(), []byte(strings.Repeat("[", 20_000)))
		require.NoError(t, err)
		require.Equal(t, int64(CodeParse), a.Err.Code)
		require.Zero(t, time.Since(begun))
		s.Close()
	})
}

// pipedServer serves a session whose messages reply answers, a line each; "" is silence.
func pipedServer(t *testing.T, reply func(line string) string) *Session {
	t.Helper()
	tr := NewTrace()
	conn := NewPipeConn(t.Context(), func(_ context.Context, in io.Reader, out io.Writer) error {
		for lines := bufio.NewScanner(in); lines.Scan(); {
			if text := reply(lines.Text()); text != "" {
				if _, err := io.WriteString(out, text+"\n"); err != nil {
					return err
				}
			}
		}
		return nil
	}, time.Second, &Log{}, tr)
	return NewSession(conn, tr, func(*Session, Inbound) {}, time.Minute)
}

// TestSession_ProvokeSilent: a server that was silent about three messages is waited for less
// long, until it answers one.
func TestSession_ProvokeSilent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := pipedServer(t, func(line string) string {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			switch {
			case line == "speak":
				return `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`
			case json.Unmarshal([]byte(line), &m) == nil && m.Method == "ping":
				return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{}}`
			default:
				return ""
			}
		})
		defer s.Close()
		for i, tt := range []struct {
			line string
			wait time.Duration
		}{{"x", Lag}, {"x", Lag}, {"x", Lag}, {"x", Lag / 5}, {"x", Lag / 5}, {"speak", 0}, {"x", Lag}} {
			begun := time.Now()
			_, err := s.Provoke(t.Context(), "", []byte(tt.line))
			if tt.wait == 0 {
				require.NoError(t, err, i)
			} else {
				require.ErrorIs(t, err, ErrNoAnswer, i)
			}
			require.Equal(t, tt.wait, time.Since(begun), i)
		}
	})
}
