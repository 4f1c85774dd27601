package fetch_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

// foreign is a transport of an application.
type foreign func(*http.Request) (*http.Response, error)

func (f foreign) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func reply(r *http.Request, status int, body io.Reader) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(body), Request: r, ContentLength: -1}
}

func TestAForeignTransportSendsTheRequest(t *testing.T) {
	t.Parallel()
	c := fetch.New(fetch.Options{Transport: foreign(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		return reply(r, http.StatusFound, strings.NewReader(r.Method+" "+r.URL.Path+" "+string(body))), err
	})})
	c.CloseIdle()
	answer, err := c.Post(t.Context(), "https://1.1.1.1/token", "text/plain", []byte("a=b"), nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusFound, answer.Status)
	require.Equal(t, "POST /token a=b", string(answer.Body))
}

func TestAForeignTransportIsAskedForNoAddressThatIsRefused(t *testing.T) {
	t.Parallel()
	c := fetch.New(fetch.Options{Transport: foreign(func(*http.Request) (*http.Response, error) {
		t.Error("it was asked")
		return nil, io.EOF
	})})
	for _, host := range []string{"10.0.0.1", "169.254.169.254", "[::1]", "localhost"} {
		_, err := c.Get(t.Context(), "https://"+host+"/", nil)
		var blocked *fetch.BlockedError
		require.ErrorAs(t, err, &blocked, host)
	}
}

// A fault of a foreign transport is an error without its texts. A redirect is checked like
// the first URL.
func TestForeignTransportsThatFail(t *testing.T) {
	t.Parallel()
	var none *http.Request
	for name, tt := range map[string]struct {
		f    foreign
		want string
	}{
		"an error":      {func(*http.Request) (*http.Response, error) { return nil, errors.New("PLANTED") }, "the RoundTripper of the application failed"},
		"a known error": {func(*http.Request) (*http.Response, error) { return nil, io.EOF }, "unexpected EOF"},
		"an address": {func(*http.Request) (*http.Response, error) {
			return nil, &net.DNSError{Err: "no such host", Name: "a.test"}
		}, "no such host"},
		"nothing":         {func(*http.Request) (*http.Response, error) { return nil, nil }, "the RoundTripper of the application failed"},
		"no body":         {func(r *http.Request) (*http.Response, error) { return &http.Response{StatusCode: http.StatusOK}, nil }, "the RoundTripper of the application failed"},
		"a panic":         {func(*http.Request) (*http.Response, error) { panic("PLANTED") }, "panicked with a value of type string"},
		"a runtime error": {func(*http.Request) (*http.Response, error) { return reply(none, none.Response.StatusCode, nil), nil }, "nil pointer"},
		"Goexit": {func(*http.Request) (*http.Response, error) {
			runtime.Goexit()
			return nil, nil
		}, "the RoundTripper of the application failed"},
		"a redirect": {func(r *http.Request) (*http.Response, error) {
			resp := reply(r, http.StatusFound, strings.NewReader(""))
			resp.Header.Set("Location", "https://10.0.0.1/")
			return resp, nil
		}, "private"},
		"too much": {func(r *http.Request) (*http.Response, error) {
			return reply(r, http.StatusOK, strings.NewReader(strings.Repeat("x", 2<<20))), nil
		}, "over 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := fetch.New(fetch.Options{Transport: tt.f}).Get(t.Context(), "https://1.1.1.1/", nil)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "PLANTED")
		})
	}
}

// A foreign transport that ignores the context does not delay the caller.
func TestAForeignTransportThatDoesNotComeBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c := fetch.New(fetch.Options{Transport: foreign(func(r *http.Request) (*http.Response, error) {
			<-release
			return reply(r, http.StatusOK, strings.NewReader("late")), nil
		})})
		began := time.Now()
		_, err := c.Get(t.Context(), "https://1.1.1.1/", nil)
		require.ErrorContains(t, err, "no complete answer in time")
		require.Equal(t, 15*time.Second, time.Since(began))
		close(release)
	})
}
