package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/secret"
	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/proxy"
)

// record is a request of a host that names secrets in every place.
func record() proxy.Record {
	return proxy.Record{
		Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Duration: 1500 * time.Microsecond,
		Host: "host hunter22222", Version: mcp.Latest, Method: mcp.MethodToolsCall, Tool: "pay",
		Params:      json.RawMessage(`{"name":"pay","arguments":{"amount":9007199254740993.10,"password":["a"],"note":"Bearer abcdefgh1234","list":["hunter22222"]}}`),
		ResultBytes: 7, Outcome: proxy.OutcomeFailed, Failure: &proxy.Failure{Code: "E501", Kind: "transport", Delivery: "unknown"},
	}
}

// written returns what the log writes for records.
func written(t *testing.T, l *Log, records ...proxy.Record) string {
	t.Helper()
	var keeper secret.Keeper
	keeper.Keep("PASSWORD", "hunter22222")
	l.Safe, l.Warn = keeper.Safe, func(format string, args ...any) { t.Errorf(format, args...) }
	var out bytes.Buffer
	l.Open(&out)
	for _, r := range records {
		l.Add(t.Context(), r)
	}
	l.Close()
	l.Add(t.Context(), record()) // too late
	return out.String()
}

func TestLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, testLog)
}

func testLog(t *testing.T) {
	const common = `{"time":"2026-01-02T03:04:05.000Z","host":"host [redacted]","era":"stateless","method":"tools/call","tool":"pay","ms":1.5,` +
		`"outcome":"failed","delivery":"unknown","code":"E501","kind":"transport","paramsBytes":126,"resultBytes":7`
	require.Equal(t, common+"}\n", written(t, &Log{}, record()))
	require.Equal(t, common+`,"arguments":{"amount":9007199254740993.10,"list":["[redacted]"],"note":"Bearer [redacted]","password":"[redacted]"}}`+"\n",
		written(t, &Log{Arguments: true}, record()))

	large := record()
	large.Params = json.RawMessage(`{"arguments":{"a":"` + strings.Repeat("x", maxArguments) + `"}}`)
	large.Tool, large.Failure, large.Version = strings.Repeat("é", 200), nil, ""
	got := written(t, &Log{Arguments: true}, large, proxy.Record{Method: "ping", Outcome: proxy.OutcomeError, Code: -32601})
	first, second, _ := strings.Cut(got, "\n")
	require.Less(t, len(first), 700)
	require.Contains(t, first, `"argumentsOmitted":"larger than 64 KiB"`)
	require.Contains(t, first, `éé…"`)
	require.NotContains(t, first, `"era"`)
	require.JSONEq(t, `{"time":"0001-01-01T00:00:00.000Z","method":"ping","ms":0,"outcome":"error","errorCode":-32601,"paramsBytes":0,"resultBytes":0}`, second)
}

// A log that cannot be written, or not fast enough, is warned of once and stops nothing.
func TestLogFails(t *testing.T) {
	t.Parallel()
	for name, records := range map[string]int{"cannot write": 10, "too slow": 3 * maxLines} {
		synctest.Test(t, func(t *testing.T) {
			inner, outer := io.Pipe()
			warned := make(chan string, 10)
			l := &Log{Safe: func(s string) string { return s }, Warn: func(format string, args ...any) { warned <- fmt.Sprintf(format, args...) }}
			if records < maxLines {
				l.Open(brokenWriter{})
			} else {
				l.Open(outer)
			}
			for range records {
				l.Add(t.Context(), record())
			}
			require.Contains(t, <-warned, name)
			require.NoError(t, inner.Close())
			l.Close()
			require.Empty(t, warned)
		})
	}
}

// The end of the proxy does not wait for a log that nobody reads.
func TestLogHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner, outer := io.Pipe()
		l := &Log{Safe: func(s string) string { return s }, Warn: func(string, ...any) {}}
		l.Open(outer)
		l.Add(t.Context(), record())
		began := time.Now()
		l.Close()
		require.Equal(t, flushTime, time.Since(began))
		require.NoError(t, inner.Close())
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space left") }
