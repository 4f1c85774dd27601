package main

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The server and the hosts are the measure of all proxies: they agree with each other.
func TestHostsReachTheServer(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, s *server) host{"pipe": overPipe, "URL": overURL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "record")
			events, err := openRecorder(file)
			require.NoError(t, err)
			h := start(t, &server{record: events})
			require.NoError(t, open(t.Context(), h))
			require.NoError(t, echo(t.Context(), h))
			require.NoError(t, pay(t.Context(), h, "1"))
			require.NoError(t, pay(t.Context(), h, "1"))
			var refused *rpcError
			_, err = h.call(t.Context(), "no/such", nil)
			require.ErrorAs(t, err, &refused)
			require.Equal(t, -32601, refused.Code)
			require.Equal(t, 1, readRecord(file).repeated(), "the second pay of one id")
		})
	}
}

func overPipe(t *testing.T, s *server) host {
	t.Helper()
	inServer, toServer := io.Pipe()
	inHost, toHost := io.Pipe()
	go s.stdio(t.Context(), inServer, toHost)
	h := &pipeHost{out: toServer, waiting: map[string]chan message{}, gone: make(chan struct{})}
	go h.read(inHost)
	t.Cleanup(func() {
		require.NoError(t, toServer.Close())
		require.NoError(t, inHost.Close())
	})
	return h
}

func overURL(t *testing.T, s *server) host {
	t.Helper()
	address, err := freeAddress(t.Context())
	require.NoError(t, err)
	go func() { _ = s.listen(t.Context(), address) }()
	require.NoError(t, listening(t.Context(), address, &process{}))
	h := newURLHost("http://" + address + "/mcp")
	t.Cleanup(h.close)
	return h
}

// A cut answer is no answer, and the tool has run once.
func TestAnswersAreCut(t *testing.T) {
	t.Parallel()
	for _, how := range []string{cutReset, cutBody, cutStream} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "record")
			events, err := openRecorder(file)
			require.NoError(t, err)
			h := overURL(t, &server{record: events, cut: how})
			require.NoError(t, open(t.Context(), h))
			require.Error(t, pay(t.Context(), h, "1"))
			require.Equal(t, []string{"1"}, readRecord(file)["pay"])
			require.NoError(t, pay(t.Context(), h, "2"), "only the first answer is cut")
		})
	}
}

// A host opens a new session after a 404, once, and counts the call as failed.
func TestHostReopensItsSession(t *testing.T) {
	t.Parallel()
	events, err := openRecorder(filepath.Join(t.TempDir(), "record"))
	require.NoError(t, err)
	h := overURL(t, &server{record: events, sessionIdle: time.Nanosecond}).(*urlHost)
	_, err = h.call(t.Context(), "initialize", nil)
	require.NoError(t, err)
	require.ErrorIs(t, echo(t.Context(), h), errNoSession)
	require.EqualValues(t, 2, h.opened.Load())
}

func TestPage(t *testing.T) {
	t.Parallel()
	all := rows()
	var page strings.Builder
	for i := range all {
		p := &played{Lines: map[string][][]string{}}
		for _, w := range ways() {
			p.Lines[w.name()] = [][]string{{"cannot: " + brief(errors.New("dial 127.0.0.1:23\n| refused"))}}
		}
		p.section(&page, &all[i])
	}
	require.Contains(t, page.String(), "| stdio ← URL | mcp-remote | cannot: dial ADDRESS / refused | ")
	require.Contains(t, page.String(), "mcp-proxy cannot: it has no such direction.")
	for line := range strings.Lines(page.String()) {
		if !strings.HasPrefix(line, "|") {
			require.LessOrEqual(t, len([]rune(line)), 101, line)
		}
	}
}
