//go:build unix

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// certificate writes a certificate for this machine and its key, and returns their files.
func certificate(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	folder := t.TempDir()
	cert, key = filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	roots = x509.NewCertPool()
	own, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots.AddCert(own)
	return cert, key, roots
}

// A proxy with a certificate serves sessions over TLS, from 1.2 on, and nothing without it.
func TestListenWithTLS(t *testing.T) {
	t.Parallel()
	cert, key, roots := certificate(t)
	l := startListening(t, "--tls-cert", cert, "--tls-key", key)
	require.Contains(t, l.url, "https://127.0.0.1:")
	l.roots = roots
	status, session := l.post(t, opening)
	require.Equal(t, http.StatusOK, status)
	status, _ = l.post(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", session)
	require.Equal(t, http.StatusAccepted, status)
	status, _ = l.post(t, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "Mcp-Session-Id", session)
	require.Equal(t, http.StatusOK, status)
	status, _ = l.post(t, opening, "Authorization", "")
	require.Equal(t, http.StatusUnauthorized, status)

	get := func(url string, set *tls.Config) error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		require.NoError(t, err)
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: set}}).Do(r)
		if err == nil {
			require.Equal(t, http.StatusBadRequest, resp.StatusCode, "Go answers plain HTTP on a TLS port so")
			return resp.Body.Close()
		}
		return err
	}
	require.ErrorContains(t, get(l.url, &tls.Config{}), "certificate")
	require.ErrorContains(t, get(l.url, &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}), "version")
	require.NoError(t, get(strings.Replace(l.url, "https", "http", 1), nil))
	require.Equal(t, 143, l.end(t, syscall.SIGTERM))
}

// Files of a certificate that cannot be used are an error before anything listens.
func TestListenWithoutACertificate(t *testing.T) {
	t.Parallel()
	cert, key, _ := certificate(t)
	_, other, _ := certificate(t)
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	taken, err := (&net.ListenConfig{}).Listen(context.WithoutCancel(t.Context()), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, taken.Close()) })
	for name, tt := range map[string]struct{ cert, key, says string }{
		"no certificate":         {cert + "x", key, "cert.pemx: no such file"},
		"no key":                 {cert, key + "x", "key.pemx: no such file"},
		"an empty certificate":   {empty, key, empty},
		"an empty key":           {cert, empty, empty},
		"the key of another one": {cert, other, "does not match"},
		"they change places":     {key, cert, key},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// At an address in use: it is not listened at.
			code, _, stderr := script(t, t.TempDir(), "", "proxy", "--listen", taken.Addr().String(), "--no-auth", "--tls-cert", tt.cert, "--tls-key", tt.key, "--", "fakeserver")
			require.Equal(t, 2, code, stderr)
			require.Contains(t, stderr, tt.says)
			require.Contains(t, stderr, "--tls-cert")
			require.NotContains(t, stderr, "listening")
		})
	}
}
