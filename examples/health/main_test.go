package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func TestHealthEndpoint(t *testing.T) {
	t.Parallel()
	server := clienttest.NewServer(t)
	server.Tool("greet", "", func(*clienttest.Call) (any, error) { return clienttest.Text("hello"), nil })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	listening, done := make(chan net.Addr, 1), make(chan error, 1)
	go func() {
		done <- run(ctx, "127.0.0.1:0", []string{server.URL()}, func(a net.Addr) { listening <- a })
	}()
	var address net.Addr
	select {
	case address = <-listening:
	case err := <-done:
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address.String()+"/health", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	var got struct {
		Status  string
		Servers []struct{ State string }
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&got))
	require.Equal(t, "ok", got.Status)
	require.Len(t, got.Servers, 1)
	require.Equal(t, "ready", got.Servers[0].State)
	stop()
	require.NoError(t, <-done)
}
