package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// now is the time of the tests, in the life of the certificates or not.
var now = time.Date(2030, 6, 15, 12, 0, 0, 0, time.UTC)

// issued is a certificate that is its own authority.
func issued(t *testing.T, from, to time.Time, host string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test CA"}, NotBefore: from, NotAfter: to, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

// steps goes the way to a URL.
func steps(t *testing.T, url string) (all []Step, reached bool) {
	t.Helper()
	reached = Network(t.Context(), url, nil, time.Minute, now, func(s Step) {
		if s.Step != "proxy" { // of the environment of the tests
			all = append(all, s)
		}
	})
	return all, reached
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for _, tt := range []struct {
		name     string
		from, to time.Time
		host     string
		want     string
	}{
		{"expired", now.Add(-40 * day), now.Add(-3*day - time.Hour), "127.0.0.1", "the certificate of 127.0.0.1 expired on 2030-06-12, 3 days ago"},
		{"not yet", now.Add(2 * day), now.Add(40 * day), "127.0.0.1", "the certificate of 127.0.0.1 begins on 2030-06-17"},
		{"another name", now.Add(-day), now.Add(40 * day), "other.example", "the certificate is not for 127.0.0.1 but for other.example"},
		{"unknown authority", now.Add(-day), now.Add(40 * day), "127.0.0.1", `the certificate of 127.0.0.1 is by "Test CA", which this machine does not trust`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewUnstartedServer(http.NotFoundHandler())
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
			server.TLS = &tls.Config{Certificates: []tls.Certificate{issued(t, tt.from, tt.to, tt.host)}} //nolint:gosec // for a test
			server.StartTLS()
			t.Cleanup(server.Close)
			all, reached := steps(t, server.URL)
			require.False(t, reached)
			require.Len(t, all, 2)
			require.Equal(t, OK, all[0].Status)
			require.Equal(t, Step{Step: "tls", Status: Problem, Seen: tt.want, Why: "clients refuse the connection", Next: all[1].Next}, all[1])
			require.NotEmpty(t, all[1].Next)
		})
	}
}

func TestTrustedCertificate(t *testing.T) {
	t.Parallel()
	for want, to := range map[Status]time.Time{OK: now.Add(60 * 24 * time.Hour), Warning: now.Add(5*24*time.Hour + time.Hour)} {
		leaf, err := x509.ParseCertificate(issued(t, now.Add(-time.Hour), to, "a.example").Certificate[0])
		require.NoError(t, err)
		step := expiry(leaf, "a.example", now)
		require.Equal(t, want, step.Status)
		require.Contains(t, step.Seen, day(to))
	}
}

func TestWays(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	all, reached := steps(t, server.URL)
	require.True(t, reached)
	require.Len(t, all, 1)
	require.Equal(t, OK, all[0].Status)

	all, reached = steps(t, strings.Replace(server.URL, "http://", "https://", 1))
	require.False(t, reached)
	require.Contains(t, all[1].Seen, "does not use TLS")

	all, reached = steps(t, "http://127.0.0.1:1")
	require.False(t, reached)
	require.Equal(t, "nothing listens on 127.0.0.1:1", all[0].Seen)
}

// One address that takes no connection is a warning: others may try it first.
func TestSeveralAddresses(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	var all []Step
	open := dial(t.Context(), []string{"::1", "127.0.0.1"}, port, time.Minute, func(s Step) { all = append(all, s) })
	require.Equal(t, "127.0.0.1:"+port, open)
	require.Equal(t, Warning, all[0].Status)
	require.Contains(t, all[0].Seen, "[::1]:"+port+" does not")
}
