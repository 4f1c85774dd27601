package suitetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// TestRun_EscapedIDs: a server that escapes what is beyond ASCII answers the
// request all the same.
func TestRun_EscapedIDs(t *testing.T) {
	t.Parallel()
	escaped := defect{after: func(_ *fakeConn, _ fakeMessage, r reply) []any {
		var out []byte
		for _, c := range string(rawjson.Encode(r)) {
			if c < 0x80 || c > 0xFFFF {
				out = utf8.AppendRune(out, c)
			} else {
				out = fmt.Appendf(out, `\u%04x`, c)
			}
		}
		return []any{out}
	}}
	report, err := runAll(t.Context(), conformance.InProcess(newFake(escaped, "", "", io.Discard).serve), conformance.Options{
		Only: []string{"X-WIRE-04", "STDIO-02/split", "RPC-06*"}, SideEffects: conformance.SideEffectsNone,
	})
	require.NoError(t, err)
	for _, res := range report.Results {
		require.NotEqual(t, conformance.Fail, res.Status, "%+v", res)
	}
}

// TestRun_AnswersTwice: a server that answers each request twice answers with the right ids, and one
// that makes strings of integers does not.
func TestRun_AnswersTwice(t *testing.T) {
	t.Parallel()
	ids := func(change func(m fakeMessage, r reply) []any) map[string]conformance.Result {
		d := defect{after: func(_ *fakeConn, m fakeMessage, r reply) []any { return change(m, r) }}
		report, err := runAll(t.Context(), conformance.InProcess(newFake(d, "", "", io.Discard).serve), conformance.Options{
			Only: []string{"X-WIRE-04"}, SideEffects: conformance.SideEffectsNone, Revisions: []mcp.Version{mcp.LatestSession},
		})
		require.NoError(t, err)
		return statuses(report)
	}
	twice := ids(func(_ fakeMessage, r reply) []any { return []any{r, r} })
	for _, id := range []string{"X-WIRE-04/string", "X-WIRE-04/integer", "X-WIRE-04/case", "X-WIRE-04/negative", "X-WIRE-04/unicode"} {
		require.Equal(t, conformance.Pass, twice[id].Status, "%+v", twice[id])
	}
	strings := ids(func(m fakeMessage, r reply) []any {
		if string(m.id) == "7" {
			r["id"] = "7"
		}
		return []any{r}
	})
	require.Equal(t, conformance.Pass, strings["X-WIRE-04/string"].Status)
	require.Equal(t, conformance.Fail, strings["X-WIRE-04/integer"].Status)
	require.Equal(t, `id "7"`, strings["X-WIRE-04/integer"].Actual)
	require.Equal(t, conformance.Pass, strings["X-WIRE-04/zero"].Status)
}

// late answers a notification that nobody knows when the ping after it has been answered.
type late struct {
	mu   sync.Mutex
	out  io.Writer
	done sync.WaitGroup
}

func (l *late) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(line)
}

// TestRun_AnswersLate: a notification that is answered later is answered, too.
func TestRun_AnswersLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		serve := func(ctx context.Context, in io.Reader, out io.Writer) error {
			l := &late{out: out}
			d := defect{raw: func(_ *fakeConn, line []byte) ([]any, bool) {
				if bytes.Contains(line, []byte("notifications/com.example")) {
					l.done.Go(func() {
						time.Sleep(100 * time.Millisecond)
						_, _ = l.Write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"unknown"}}` + "\n"))
					})
				}
				return nil, false
			}}
			defer l.done.Wait()
			return newFake(d, "", "", io.Discard).serve(ctx, in, l)
		}
		report, err := runAll(t.Context(), conformance.InProcess(serve), conformance.Options{
			Only: []string{"X-WIRE-05"}, SideEffects: conformance.SideEffectsNone, Revisions: []mcp.Version{mcp.LatestSession},
		})
		require.NoError(t, err)
		got := statuses(report)
		require.Equal(t, conformance.Fail, got["X-WIRE-05/unknown"].Status)
		require.Equal(t, conformance.Pass, got["X-WIRE-05/bad-params"].Status)
	})
}
