package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdkrpc "github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

func TestVerdicts(t *testing.T) {
	t.Parallel()
	require.Equal(t, noWorse, atLeast([2]int{90, 100}, 0.1))
	require.Equal(t, worse, atLeast([2]int{89, 100}, 0.1))
	require.Equal(t, noWorse, atLeast([2]int{12, 12}, 0))
	require.Equal(t, worse, atLeast([2]int{11, 12}, 0))
	require.Equal(t, worse, atLeast([2]int{0, 1}, 0))
	require.Equal(t, unplayed, atLeast([2]int{0, 0}, 0))
	require.Equal(t, noWorse, within([2]time.Duration{2 * time.Second, time.Second}, time.Second))
	require.Equal(t, worse, within([2]time.Duration{2*time.Second + 1, time.Second}, time.Second))
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		verdicts []verdict
		code     int
	}{
		"good":                    {[]verdict{noWorse, onlyShown}, 0},
		"worse":                   {[]verdict{noWorse, worse}, exitWorse},
		"not shown":               {[]verdict{unplayed, noWorse}, exitMissing},
		"worse, and one not seen": {[]verdict{unplayed, worse}, exitWorse},
	} {
		var r result
		for _, v := range tt.verdicts {
			r.add("calls", v, [2]string{"1", "2"})
		}
		r.note("why")
		var out strings.Builder
		require.Equal(t, tt.code, printTable(&out, []result{r}), name)
		require.Contains(t, out.String(), string(tt.verdicts[0]), name)
		require.Contains(t, out.String(), "why\n", name)
	}
}

// A call that ran twice is found for the side that made it, and nowhere excused.
func TestRollingVerdicts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "effects")
	require.NoError(t, os.WriteFile(file, []byte("mainstay-0-1\nmainstay-0-2\ngo-sdk-0-1\nmainstay-0-1\ngo-sdk-0-1\ngo-sdk-0-2\ngo-sdk-0-2\n"), 0o600))
	twice, err := duplicates(file)
	require.NoError(t, err)
	require.Equal(t, [2]int{1, 2}, twice)

	even := func() *tally { return &tally{answered: 100, failed: 10, gap: time.Second} }
	verdicts := func(ours *tally, twice [2]int) (found []verdict) {
		var r result
		r.judge([2]*tally{ours, even()}, twice)
		for _, row := range r.rows {
			found = append(found, row.verdict)
		}
		return found
	}
	require.Equal(t, []verdict{noWorse, onlyShown, noWorse, noWorse, noWorse}, verdicts(even(), [2]int{}))
	require.Equal(t, []verdict{noWorse, onlyShown, noWorse, noWorse, worse}, verdicts(even(), twice))
	require.Equal(t, []verdict{worse, onlyShown, worse, worse, noWorse}, verdicts(&tally{answered: 80, failed: 30, gap: 2 * time.Second}, [2]int{}))
}

func TestTally(t *testing.T) {
	t.Parallel()
	began := time.Now()
	tl := &tally{failures: classes{}, last: began}
	tl.until(began.Add(time.Second))
	tl.until(began.Add(4 * time.Second))
	tl.until(began.Add(5 * time.Second))
	require.Equal(t, 3*time.Second, tl.gap)
	tl.count(errors.New("post: connection refused"))
	tl.count(mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, mcperrors.NotSent, "gone", nil))
	tl.count(errors.New("get: connection refused"))
	require.Equal(t, 3, tl.failed)
	require.Equal(t, "2× connection refused; 1× transport (not-sent)", tl.failures.String())
}

// Only an error by which the server answered counts as its own.
func TestServerCode(t *testing.T) {
	t.Parallel()
	wrapped := func(d mcperrors.Delivery) error {
		return mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindServer, d, "Not Found", &jsonrpc.Error{Code: -32603, Message: "Not Found"})
	}
	for name, tt := range map[string]struct {
		err      error
		code     int64
		answered bool
	}{
		"mainstay":                     {wrapped(mcperrors.Answered), -32603, true},
		"refused, with an older cause": {wrapped(mcperrors.NotSent), 0, false},
		"go-sdk":                       {&sdkrpc.Error{Code: -32603}, -32603, true},
		"neither":                      {errors.New("EOF"), 0, false},
		"none":                         {nil, 0, false},
	} {
		code, answered := serverCode(tt.err)
		require.Equal(t, tt.code, code, name)
		require.Equal(t, tt.answered, answered, name)
	}
}

type fakeSession struct{ err error }

func (f *fakeSession) call(context.Context, string, map[string]any) (string, error) {
	return "text", f.err
}
func (f *fakeSession) revision() string { return "" }
func (f *fakeSession) close() error     { return nil }

// The loop around go-sdk opens a session for the call after one that failed, and only then.
func TestReopening(t *testing.T) {
	t.Parallel()
	dialed := 0
	s := &reopening{current: &fakeSession{err: errors.New("EOF")}, dial: func(context.Context, string) (session, error) {
		if dialed++; dialed == 1 {
			return nil, errors.New("refused")
		}
		return &fakeSession{}, nil
	}}
	var failed []bool
	for range 4 {
		_, err := s.call(t.Context(), "effect", nil)
		failed = append(failed, err != nil)
	}
	require.Equal(t, []bool{true, true, false, false}, failed)
	require.Equal(t, 2, dialed)
	require.NoError(t, s.close())
}
