package mcpotel_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	mcpotel "github.com/mainstay-mcp/mainstay/otel"
	"github.com/mainstay-mcp/mainstay/pool"
)

// Three programs with the same path are three servers in spans and metrics.
func TestNamesOfServers(t *testing.T) {
	t.Parallel()
	l := newLab(t, mcpotel.Settings{})
	names := []string{"calendar", "git", "mail"}
	var servers []pool.Server
	for _, name := range names {
		s := weather(t)
		s.Tool("get-broken", "", func(*clienttest.Call) (any, error) {
			return nil, jsonrpc.NewError(jsonrpc.CodeInternalError, "broken", nil)
		})
		servers = append(servers, pool.Server{Name: name, Transport: s.Transport()})
	}
	options := append(l.Options(), client.WithErrorProfile(mcperrors.Docling)) // has circuits of tools
	p, err := pool.Open(t.Context(), servers, pool.WithClientOptions(options...), pool.WithRequiredServers(names...))
	require.NoError(t, err)
	defer p.Close() //nolint:errcheck // the test is over
	end := l.Observe(p)
	for _, name := range names {
		c, err := p.Client(name)
		require.NoError(t, err)
		_, err = c.CallTool(t.Context(), "get-weather", nil)
		require.NoError(t, err)
		span, attrs := l.last(t)
		require.Equal(t, "tools/call get-weather", span.Name())
		require.Equal(t, "pipe", attrs["network.transport"])
		require.Equal(t, name, attrs["mainstay.server"])
		for range 5 {
			_, err := c.CallTool(t.Context(), "get-broken", nil)
			require.Error(t, err)
		}
		c.Breaker().Trip("test")
	}
	series := map[string]float64{}
	for _, name := range names {
		series["mainstay.server="+name] = 1
	}
	require.Equal(t, series, l.points(t, "mainstay.client.breaker.transitions"))
	require.Len(t, l.points(t, "mainstay.client.breaker.state"), 3*3, "a series for each server and state")
	require.Len(t, l.points(t, "mainstay.client.tool.breaker.state"), 3*3)
	for _, metric := range []string{"mainstay.client.tool.breaker.transitions", "mainstay.client.attempts", "mainstay.client.call.attempts", "mcp.client.operation.duration"} {
		all := fmt.Sprint(l.points(t, metric))
		for _, name := range names {
			require.Contains(t, all, "mainstay.server="+name, metric)
		}
	}
	require.NoError(t, p.Close())
	end(nil)
	require.Len(t, l.points(t, "mcp.client.session.duration"), 3)
}

// The name of a server is not its address, which spans have as well.
func TestNameAndAddressOverHTTP(t *testing.T) {
	t.Parallel()
	s, l := weather(t), newLab(t, mcpotel.Settings{})
	c, err := client.Dial(t.Context(), s.URL()+"?key=hunter2", append(l.Options(), client.WithName("weather"))...)
	require.NoError(t, err)
	defer c.Close() //nolint:errcheck // the test is over
	end := l.Observe(c)
	_, err = c.CallTool(t.Context(), "get-weather", nil)
	require.NoError(t, err)
	_, attrs := l.last(t)
	require.Equal(t, "weather", attrs["mainstay.server"])
	require.Equal(t, "127.0.0.1", attrs["server.address"])
	require.NotEmpty(t, attrs["server.port"])
	end(nil)
	for _, metric := range []string{"mcp.client.operation.duration", "mcp.client.session.duration"} {
		for key := range l.points(t, metric) {
			require.Contains(t, key, "mainstay.server=weather")
			require.Contains(t, key, "server.address=127.0.0.1")
		}
	}
}
