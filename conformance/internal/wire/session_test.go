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

	"github.com/mainstay-mcp/mainstay/mcp"
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

// TestSession_ManyMissing: requests of a method of which three had no answer are waited for less
// long, but for four times its longest answer.
func TestSession_ManyMissing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := pipedServer(t, func(line string) string {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil || m.Method == "mute" {
				return ""
			}
			if m.Method == "slow" {
				time.Sleep(4 * time.Second)
			}
			return `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{}}`
		})
		defer s.Close()
		ask := func(method string) (time.Duration, error) {
			begun := time.Now()
			_, err := s.Request(t.Context(), method, nil)
			return time.Since(begun), err
		}
		for i := range 8 {
			took, err := ask("mute")
			require.ErrorIs(t, err, ErrNoAnswer)
			if i < 3 {
				require.Equal(t, time.Minute, took, i)
			} else {
				require.Equal(t, time.Second, took, i)
			}
			_, err = ask("quick")
			require.NoError(t, err)
		}
		require.Equal(t, time.Second, s.Silences.Wait("another", time.Minute), "after six of all methods")
		require.Equal(t, time.Minute, s.Silences.Wait("tools/call", time.Minute))
		s.Silences = &Silences{}
		_, err := ask("slow")
		require.NoError(t, err)
		for range 3 {
			require.Equal(t, time.Minute, s.Silences.Wait("slow", time.Minute))
			s.Silences.NoteWait("slow", time.Minute, ErrNoAnswer)
		}
		require.Equal(t, 16*time.Second, s.Silences.Wait("slow", time.Minute))
	})
}

// TestForget: what nothing waited for is gone, also the end of an HTTP answer, which has no data.
func TestForget(t *testing.T) {
	t.Parallel()
	s := &Session{}
	for _, in := range []Inbound{{Ended: true}, Received([]byte(`{"jsonrpc":"2.0","id":null,"result":{}}`), nil)} {
		require.True(t, s.keep(in))
		s.Unclaimed = append(s.Unclaimed, in)
	}
	s.Forget()
	require.Empty(t, s.Unclaimed)
	require.Zero(t, s.kept)
	require.Zero(t, s.keptBytes)
}

// TestSilences_Pace: a server that is slow is waited for longer.
func TestSilences_Pace(t *testing.T) {
	t.Parallel()
	var s Silences
	require.Equal(t, Lag, s.Lag())
	s.NoteWait(mcp.MethodToolsCall, 9*time.Second, nil)
	s.NoteWait(mcp.MethodInitialize, 9*time.Second, nil)
	require.Equal(t, Lag, s.Lag(), "what may take its time says nothing")
	s.NoteWait(mcp.MethodToolsList, 400*time.Millisecond, nil)
	require.Equal(t, 1600*time.Millisecond, s.Lag())
	for range 3 {
		s.Note(ErrNoAnswer)
	}
	require.Equal(t, 1600*time.Millisecond, s.Lag(), "also when it was silent three times")
}
