package loopback_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/loopback"
)

func get(t *testing.T, target, host string) (status int, body string, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	require.NoError(t, err)
	req.Host = host
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode, string(text), resp.Header
}

func TestCallback(t *testing.T) {
	t.Parallel()
	l, err := loopback.Listen(t.Context(), "", "the-state")
	require.NoError(t, err)
	defer l.Close()
	at, err := url.Parse(l.Redirect())
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", at.Hostname())
	require.Equal(t, "/callback", at.Path)
	port, err := strconv.Atoi(at.Port())
	require.NoError(t, err)
	require.Less(t, port, 32768, "a connection of any program may have it when the next login needs it")

	for _, row := range []struct {
		name, query, host string
		path              string
		status            int
	}{
		{"a stranger's state", "?code=c&state=other", "", "/callback", http.StatusBadRequest},
		{"no state", "?code=c", "", "/callback", http.StatusBadRequest},
		{"neither code nor error", "?state=the-state", "", "/callback", http.StatusBadRequest},
		{"two codes", "?code=a&code=b&state=the-state", "", "/callback", http.StatusBadRequest},
		{"another page", "?code=c&state=the-state", "", "/", http.StatusNotFound},
		{"a name that was made to lead here", "?code=c&state=the-state", "evil.example", "/callback", http.StatusForbidden},
	} {
		status, body, _ := get(t, "http://"+at.Host+row.path+row.query, row.host)
		require.Equal(t, row.status, status, row.name)
		require.NotContains(t, body, "<script", row.name)
	}
	status, body, header := get(t, l.Redirect()+"?code=good&state=the-state&iss=https%3A%2F%2Fas.example", "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "The program has the answer")
	require.Equal(t, "no-store", header.Get("Cache-Control"))
	require.Equal(t, "no-referrer", header.Get("Referrer-Policy"))

	answer, err := l.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, loopback.Answer{Code: "good", State: "the-state", Issuer: "https://as.example", HasIssuer: true}, answer)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", answer, answer, answer), "good")

	status, _, _ = get(t, l.Redirect()+"?code=late&state=the-state", "")
	require.Equal(t, http.StatusOK, status, "a page that is loaded again does no harm")
}

func TestCallbackOfARefusal(t *testing.T) {
	t.Parallel()
	l, err := loopback.Listen(t.Context(), "http://localhost/done", "s")
	require.NoError(t, err)
	defer l.Close()
	require.True(t, strings.HasPrefix(l.Redirect(), "http://localhost:"), l.Redirect())
	_, body, _ := get(t, l.Redirect()+"?error=access_denied&error_description=%3Cb%3Eno%3C%2Fb%3E&state=s", "")
	require.Contains(t, body, "The login has failed")
	require.NotContains(t, body, "<b>")
	answer, err := l.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "access_denied", answer.Error)
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	l, err := loopback.Listen(t.Context(), "", "s")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.Wait(ctx)
	require.ErrorIs(t, err, context.Canceled)
	l.Close()
	l.Close()
	again, err := loopback.Listen(t.Context(), l.Redirect(), "s")
	require.NoError(t, err, "the port is free again")
	again.Close()
}

func TestRedirectsElsewhere(t *testing.T) {
	t.Parallel()
	for _, redirect := range []string{
		"https://127.0.0.1/callback", "http://example.com/callback", "http://10.0.0.1/callback", "http://user@127.0.0.1/",
		"http://127.0.0.1/callback?x=1", "http://127.0.0.1/callback#x", "myapp:/callback", "://",
	} {
		_, err := loopback.Listen(t.Context(), redirect, "s")
		require.Error(t, err, redirect)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	answer, err := loopback.Read("  http://127.0.0.1:8/callback?code=c&state=s \n")
	require.NoError(t, err)
	require.Equal(t, "c", answer.Code)
	require.False(t, answer.HasIssuer)
	for _, text := range []string{"", "c", "http://127.0.0.1/callback", "http://127.0.0.1/%zz", "http://127.0.0.1/?code=a&code=b"} {
		_, err := loopback.Read(text)
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "code=", text)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("http://127.0.0.1:8/callback?code=c&state=s&iss=x")
	f.Add("?error=e&error_description=%00")
	f.Fuzz(func(t *testing.T, text string) {
		answer, err := loopback.Read(text)
		require.True(t, err != nil || answer.Code != "" || answer.Error != "")
	})
}
