package suitetest

import (
	"bytes"
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	"github.com/mainstay-mcp/mainstay/conformance/internal/engine"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// deafOnce is serve, and one start that reads what comes and answers nothing.
func deafOnce(serve wire.Serve, start int64) (wire.Serve, *atomic.Int64) {
	var starts atomic.Int64
	return func(ctx context.Context, in io.Reader, out io.Writer) error {
		if starts.Add(1) == start {
			_, err := io.Copy(io.Discard, in)
			return err
		}
		return serve(ctx, in, out)
	}, &starts
}

// TestBusyMachine_AsksAgain: on a busy machine, an answer that does not come is asked for once
// more before a server is blamed. On a quiet one it is the server's fault.
func TestBusyMachine_AsksAgain(t *testing.T) {
	t.Parallel()
	opts := conformance.Options{Revisions: []mcp.Version{mcp.LatestSession}, Answer: time.Second, Only: []string{"LC-03/*"}}
	judge := func(t *testing.T, serve wire.Serve, starvation float64) *conformance.Report {
		t.Helper()
		suite := suite()
		suite.Starvation = func() float64 { return starvation }
		report, err := engine.Run(t.Context(), conformance.InProcess(serve), suite, opts)
		require.NoError(t, err)
		return report
	}
	synctest.Test(t, func(t *testing.T) {
		good := newFake(defect{}, "", "", io.Discard).serve
		serve, starts := deafOnce(good, -1)
		require.Zero(t, judge(t, serve, 1).Summary().Must[conformance.Fail])
		blamed, most := 0, starts.Load()
		for n := int64(3); n <= most; n++ { // the first ones meet it
			serve, _ = deafOnce(good, n)
			blamed += judge(t, serve, 1).Summary().Must[conformance.Fail]
			serve, _ = deafOnce(good, n)
			busy := judge(t, serve, 5)
			require.Zero(t, busy.Summary().Must[conformance.Fail], "start %d", n)
			require.Zero(t, busy.Summary().Must[conformance.Inconclusive], "start %d", n)
		}
		require.Positive(t, blamed)
	})
}

// TestBusyMachine_StillOpen: an answer that never comes is no verdict while the machine is busy.
func TestBusyMachine_StillOpen(t *testing.T) {
	t.Parallel()
	for starvation, want := range map[float64]conformance.Status{1: conformance.Fail, 5: conformance.Inconclusive} {
		synctest.Test(t, func(t *testing.T) {
			good := newFake(defect{}, "", "", io.Discard).serve
			suite := suite()
			suite.Starvation = func() float64 { return starvation }
			report, err := engine.Run(t.Context(), conformance.InProcess(func(ctx context.Context, in io.Reader, out io.Writer) error {
				return good(ctx, in, deafTo{out, []byte("-32601")})
			}), suite, conformance.Options{Revisions: []mcp.Version{mcp.LatestSession}, Answer: time.Second, Only: []string{"STDIO-01/newlines"}})
			require.NoError(t, err)
			require.Equal(t, want, statuses(report)["STDIO-01/newlines"].Status)
		})
	}
}

// deafTo drops what is written with a text.
type deafTo struct {
	io.Writer
	text []byte
}

// Write implements io.Writer.
func (d deafTo) Write(p []byte) (int, error) {
	if bytes.Contains(p, d.text) {
		return len(p), nil
	}
	return d.Writer.Write(p)
}
