package clienttest_test

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// reports is a test that notes how it fails.
type reports struct {
	testing.TB
	mu   sync.Mutex
	text []string
}

func (r *reports) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, fmt.Sprintf(format, args...))
}

func (r *reports) FailNow() { runtime.Goexit() }

func (r *reports) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	r.FailNow()
}

func (r *reports) all() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.text, "\n")
}

// A mistake in a handler fails the test that made it, and the client gets its answer at
// once.
func TestMistakesOfHandlers(t *testing.T) {
	t.Parallel()
	var r *reports
	tests := []struct {
		name string
		f    clienttest.Handler
		want string
		code bool // the call fails with -32603
	}{
		{"ends its test", func(*clienttest.Call) (any, error) { require.Fail(r, "not so"); r.FailNow(); return nil, nil }, `the handler of tools/call "x" ended its goroutine`, true},
		{"panics", func(*clienttest.Call) (any, error) { panic("oh no") }, `the handler of tools/call "x" panicked: oh no`, true},
		{"nothing", func(*clienttest.Call) (any, error) { return nil, nil }, `the handler of tool "x" returned <nil>`, false},
		{"a text", func(*clienttest.Call) (any, error) { return "hi", nil }, `the handler of tool "x" returned string`, false},
		{"no JSON", func(*clienttest.Call) (any, error) { return math.Inf(1), nil }, "float64 cannot be encoded", false},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			r = &reports{TB: t}
			s := clienttest.NewServer(r)
			s.Tool("x", "", tt.f)
			s.On("acme/x", tt.f)
			c, err := client.Connect(t.Context(), s.Transport(), client.WithProtocolVersion("2026-07-28"))
			require.NoError(t, err)
			defer c.Close() //nolint:errcheck // a pipe
			began := time.Now()
			_, err = c.CallTool(t.Context(), "x", nil)
			require.Error(t, err, tt.name)
			require.Equal(t, tt.code, mcperrors.KindOf(err) == mcperrors.KindServer, "%s: %v", tt.name, err)
			require.Zero(t, time.Since(began), tt.name)
			require.Contains(t, r.all(), tt.want, tt.name)
			if tt.code {
				_, err = c.Call(t.Context(), "acme/x", nil)
				require.Equal(t, mcperrors.KindServer, mcperrors.KindOf(err), tt.name)
				require.Contains(t, r.all(), "the handler of acme/x", tt.name)
			}
		})
	}
}

// A schema that is none is a mistake of the line that has it.
func TestSchemaThatIsNone(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{`{"type":`, `"object"`, `null`} {
		r := &reports{TB: t}
		s := clienttest.NewServer(r)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.Tool("x", schema, nil)
		}()
		<-ended
		require.Contains(t, r.all(), `the input schema of tool "x" is not a JSON object`, schema)
	}
}

// What a client brings as its state is not always what this server gave it.
func TestStateOfNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		s.Tool("x", "", func(call *clienttest.Call) (any, error) {
			answer, err := call.Ask(mcp.MethodElicitationCreate, map[string]any{})
			if err != nil {
				return nil, err
			}
			return clienttest.Text(string(answer)), nil
		})
		c, err := client.Connect(t.Context(), s.Transport(), client.WithProtocolVersion("2026-07-28"))
		require.NoError(t, err)
		defer c.Close() //nolint:errcheck // a pipe
		for _, state := range []string{`"null"`, `"7"`, `"nonsense"`} {
			res, err := c.CallTool(t.Context(), "x", nil, (&client.InputRequired{State: json.RawMessage(state)}).Answer(mcp.InputResponses{"ask-1": json.RawMessage(`{"action":"cancel"}`)}))
			require.NoError(t, err, state)
			require.Equal(t, `{"action":"cancel"}`, res.Text())
		}
	})
}

// Notify reports whether anybody listens.
func TestNotifyCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		require.Zero(t, s.Notify(mcp.MethodToolsListChanged, nil))
		for range 2 {
			c, err := client.Connect(t.Context(), s.Transport(), client.WithProtocolVersion("2025-11-25"))
			require.NoError(t, err)
			defer c.Close() //nolint:errcheck // a pipe
		}
		synctest.Wait()
		require.Equal(t, 2, s.Notify(mcp.MethodToolsListChanged, nil))
	})
}
