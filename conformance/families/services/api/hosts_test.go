package api

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHosts asks under many names: a page whose own name was made to point here
// gets nothing (DNS rebinding).
func TestHosts(t *testing.T) {
	t.Parallel()
	handler := Handler(Options{Hosts: []string{"tasks.example", "192.168.1.5", "fd00::5"}})
	for _, tc := range []struct {
		host  string
		known bool
	}{
		{"127.0.0.1:8080", true},
		{"127.0.0.1", true},
		{"127.1.2.3:1", true},
		{"[::1]:8080", true},
		{"[::1]", true},
		{"localhost:8080", true},
		{"LocalHost.", true},
		{"tasks.example", true},
		{"Tasks.Example:80", true},
		{"192.168.1.5:8080", true},
		{"[fd00:0::5]:8080", true},
		{"rebind.example", false},
		{"rebind.example:8080", false},
		{"evillocalhost", false},
		{"localhost.evil.example", false},
		{"127.0.0.1.evil.example", false},
		{"evil.tasks.example", false},
		{"192.168.1.6:8080", false},
		{"0.0.0.0:8080", false},
		{"[::]:8080", false},
		{"127.1:8080", false},
		{"", false},
	} {
		t.Run(tc.host, func(t *testing.T) {
			t.Parallel()
			for _, origin := range []string{"", "http://" + tc.host} {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/nothing", nil)
				r.Host = tc.host
				if origin != "" {
					r.Header.Set("Origin", origin)
				}
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				want := http.StatusForbidden
				if tc.known {
					want = http.StatusNotFound
				}
				require.Equal(t, want, w.Code, w.Body.String())
			}
		})
	}
}

// TestOrigins has a request with more than one origin, as no browser sends it.
func TestOrigins(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/nothing", nil)
	r.Header["Origin"] = []string{"http://127.0.0.1", "http://evil.example"}
	w := httptest.NewRecorder()
	Handler(Options{}).ServeHTTP(w, r)
	require.Equal(t, http.StatusForbidden, w.Code)
}

// TestSameDigest changes each byte of a digest.
func TestSameDigest(t *testing.T) {
	t.Parallel()
	want := digest("key")
	require.True(t, sameDigest(digest("key"), want))
	for i := range want {
		other := digest("key")
		other[i] ^= 1
		require.False(t, sameDigest(other, want), "byte %d", i)
	}
	require.False(t, sameDigest(want[:1], want))
}
