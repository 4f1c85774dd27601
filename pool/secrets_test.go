package pool_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/pool"
)

// Values of a server's variables and headers are in no error, log or health.
func TestPoolKeepsSecrets(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	const secret = "s3cret-t0ken"
	argv := programArgv("tells its key")
	server := pool.Server{Name: "leaky", Transport: &transport.Command{Argv: argv, Env: []string{"KEY=" + secret, "GORACE=atexit_sleep_ms=0"}}}
	header := pool.Server{Name: "web", Transport: &transport.HTTP{URL: "http://127.0.0.1:1/?key=" + secret, Header: map[string][]string{"Authorization": {"Bearer " + secret}}}}
	for _, s := range []pool.Server{server, header} {
		require.NotContains(t, fmt.Sprintf("%v %+v %#v %v", s, s, s, slog.AnyValue(s).Resolve()), secret)
	}
	var log strings.Builder
	_, err := pool.Open(t.Context(), []pool.Server{server, header},
		pool.WithLogger(slog.New(slog.NewJSONHandler(&log, nil))),
		pool.WithServerOptions(func(string) []client.Option { return []client.Option{sessionEra} }))
	require.ErrorContains(t, err, "the key [redacted] is not valid", "what the program said is there, but for the key")
	require.NotContains(t, err.Error()+log.String(), secret)
	require.Contains(t, log.String(), "[redacted]")
	raw, jsonErr := json.Marshal(err)
	require.NoError(t, jsonErr)
	require.NotContains(t, string(raw), secret)
	var e *mcperrors.Error
	require.ErrorAs(t, err, &e)
}
