package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/reference"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/pool"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// TestPool runs the example with two reference servers and a program that does
// not exist.
func TestPool(t *testing.T) {
	srv, err := reference.New(reference.Options{Families: []string{"fixtures"}})
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	web := httptest.NewServer(srv.Handler())
	defer web.Close()
	t.Setenv("REFSERVER_URL", web.URL+reference.Path)
	file := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"servers": {
		"remote": {"url": "${REFSERVER_URL}", "headers": {"X-Agent": "${env:NOBODY:-example}"}},
		"second": {"type": "http", "url": "${REFSERVER_URL}"},
		"missing": {"command": "no-such-program"},
	}}`), 0o600))
	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{file, "second__test_simple_text", "{}"}, &out))
	require.Contains(t, out.String(), "remote__test_simple_text is test_simple_text of remote\n")
	require.Contains(t, out.String(), "second__test_simple_text is test_simple_text of second\n")
	require.Contains(t, out.String(), "missing is not there\n")
	require.True(t, strings.HasSuffix(out.String(), "This is a simple text response for testing.\n"), out.String())
	require.ErrorContains(t, run(t.Context(), []string{file, "test_simple_txt", "{}"}, &out), "no server of the pool has a tool")
	require.ErrorContains(t, run(t.Context(), nil, &out), "usage")
}

// TestFile reads the file beside the example.
func TestFile(t *testing.T) {
	servers, notes, err := pool.ReadServers("mcp.json", nil)
	require.NoError(t, err)
	require.Empty(t, notes)
	require.Len(t, servers, 3)
	for _, s := range servers {
		require.NoError(t, s.Err)
	}
}
