//go:build unix

package families_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling"
	"github.com/mainstay-mcp/mainstay/conformance/server"
)

// A conversion that takes too long is answered by the server with -32001, and
// its process is gone by then.
func TestServer_DeadlineKillsTheConverter_S2_ROUTE_03(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	// It says that it is a worker, and then nothing.
	script := `echo $$ > "$0" && echo mainstay convert-worker 1 && exec sleep 600`
	srv, err := families.New(families.Options{
		Options: server.Options{Families: []string{docling.Name}},
		Docling: docling.Options{Command: []string{"/bin/sh", "-c", script, pidFile}, Deadline: 2 * time.Second},
	})
	require.NoError(t, err)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- srv.ServeStdio(t.Context(), inR, outW) }()
	lines := bufio.NewScanner(outR)
	send := func(method string, params map[string]any, id any) {
		message := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
		if id != nil {
			message["id"] = id
		}
		line, err := json.Marshal(message)
		require.NoError(t, err)
		_, err = inW.Write(append(line, '\n'))
		require.NoError(t, err)
	}
	send("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"},
	}, 1)
	require.True(t, lines.Scan())
	send("notifications/initialized", map[string]any{}, nil)
	send("tools/call", map[string]any{"name": "convert_pdf", "arguments": map[string]any{
		"filename": "a.pdf", "content_base64": base64.StdEncoding.EncodeToString([]byte("%PDF-1.7\n")),
	}}, 2)
	require.True(t, lines.Scan())
	var answer struct {
		Error struct {
			Code int
			Data map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(lines.Bytes(), &answer), lines.Text())
	require.Equal(t, -32001, answer.Error.Code, lines.Text())
	require.Equal(t, "timeout", answer.Error.Data["reason"])
	require.Equal(t, docling.Name, answer.Error.Data["profile"])

	text, err := os.ReadFile(pidFile)
	require.NoError(t, err, "the converter was started")
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "the converter is gone")
	require.NoError(t, inW.Close())
	require.NoError(t, <-ended)
	require.NoError(t, srv.Close())
}
