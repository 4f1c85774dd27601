package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
)

// A server with a certificate of a private authority, which asks for a client certificate, is
// reached with --cacert and --cert by every command alike.
func TestTLSFiles(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(fakeHTTP(io.Discard))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	t.Cleanup(server.Close)

	folder := t.TempDir()
	file := func(name string, blocks ...*pem.Block) string {
		var text []byte
		for _, b := range blocks {
			text = append(text, pem.EncodeToMemory(b)...)
		}
		name = filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(name, text, 0o600))
		return name
	}
	pair := server.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	certificate, key := &pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, &pem.Block{Type: "PRIVATE KEY", Bytes: private}
	authority, both, alone := file("ca.pem", certificate), file("both.pem", certificate, key), file("key.pem", key)
	nothing := file("nothing.pem")

	for _, command := range [][]string{{"ping"}, {"info"}, {"conform", "server", "--only", "RPC-01/order", "--spec", "2025-11-25"}} {
		for _, flags := range [][]string{
			{"--cacert", authority, "--cert", both},
			{"--cacert", authority, "--cert", authority, "--key", alone},
		} {
			args := append(append(command, server.URL+"/mcp"), flags...)
			got := inProcess(t.Context(), false, args...)
			require.Zero(t, got.code, "%v: %s%s", args, got.out, got.err)
		}
		got := inProcess(t.Context(), false, append(command, server.URL+"/mcp", "--cacert", authority)...)
		require.NotZero(t, got.code, "%v: the server asked for a certificate", command)
		require.Contains(t, got.err, "wants a client certificate: give it with --cert FILE")
	}
	got := inProcess(t.Context(), false, "doctor", server.URL+"/mcp", "--cacert", authority, "--cert", both)
	require.Contains(t, got.out, "✓ tls ")
	require.Contains(t, got.out, "✓ handshake ")
	for name, row := range map[string]struct {
		flags []string
		said  string
	}{
		"no such file":      {[]string{"--cacert", filepath.Join(folder, "none.pem")}, "--cacert: open "},
		"no certificate":    {[]string{"--cacert", nothing}, "has no certificate in PEM"},
		"a key only":        {[]string{"--key", alone}, "--key needs --cert"},
		"certificate alone": {[]string{"--cert", authority}, "--cert: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := inProcess(t.Context(), false, append([]string{"ping", server.URL + "/mcp"}, row.flags...)...)
			require.Equal(t, failure.KindUsage.ExitCode(), got.code, got.err)
			require.Contains(t, got.err, row.said)
		})
	}
}
