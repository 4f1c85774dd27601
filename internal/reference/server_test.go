package reference

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// lines are the lines of a server's log.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, string(line))
	return len(line), nil
}

func TestServer(t *testing.T) {
	t.Parallel()
	var log lines
	srv, err := New(Options{Families: []string{"artifact", "fixtures"}, Log: &log})
	require.NoError(t, err)
	in, requests := io.Pipe()
	answers, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := srv.ServeStdio(t.Context(), in, out)
		_ = out.Close() // never fails
		served <- err
	}()
	_, err = io.WriteString(requests, initialize+"\n")
	require.NoError(t, err)
	line, err := bufio.NewReader(answers).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "mainstay-refserver")
	require.NoError(t, requests.Close())
	require.NoError(t, <-served)

	web := httptest.NewServer(srv.Handler())
	defer web.Close()
	post := func(accept string) (int, string, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL+Path, strings.NewReader(initialize))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", accept)
		resp, err := web.Client().Do(req)
		require.NoError(t, err)
		defer func() { require.NoError(t, resp.Body.Close()) }()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, resp.Header.Get("Content-Type"), string(body)
	}
	status, media, body := post("application/json, text/event-stream")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "text/event-stream", media)
	require.Contains(t, body, "mainstay-refserver")
	status, _, _ = post("text/html")
	require.Equal(t, http.StatusBadRequest, status)

	require.NoError(t, srv.Close())
	require.NoError(t, srv.Close())
	log.mu.Lock()
	defer log.mu.Unlock()
	require.NotEmpty(t, log.all)
	require.Contains(t, log.all[0], "services_started")
	require.True(t, strings.HasSuffix(log.all[0], "}\n"))
}

func TestServer_Error(t *testing.T) {
	t.Parallel()
	_, err := New(Options{Families: []string{"nobody"}})
	require.ErrorContains(t, err, "unknown family")
}

func TestReadEvent(t *testing.T) {
	t.Parallel()
	r := bufio.NewReader(strings.NewReader("event: message\ndata: 1\n\ndata: 2\r\n\r\nda"))
	for _, want := range []string{"event: message\ndata: 1\n\n", "data: 2\r\n\r\n"} {
		event, err := readEvent(r)
		require.NoError(t, err)
		require.Equal(t, want, string(event))
	}
	event, err := readEvent(r)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, "da", string(event))
}
