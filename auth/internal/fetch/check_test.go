package fetch_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

func TestCheck(t *testing.T) {
	strict := fetch.New(fetch.Options{})
	local := fetch.New(fetch.Options{AllowLoopback: true})
	private := fetch.New(fetch.Options{AllowPrivate: true})
	for _, tt := range []struct {
		url    string
		client *fetch.Client
		reason string // part of the error, "" for none
	}{
		{"https://auth.example.com", strict, ""},
		{"https://auth.example.com:8443/token?tenant=a", strict, ""},
		{"HTTPS://AUTH.EXAMPLE.COM/", strict, ""},
		{"https://1.1.1.1/", strict, ""},
		{"https://[2606:4700::1111]/", strict, ""},
		{"https://3com.example/", strict, ""},

		{"", strict, "scheme"},
		{"auth.example.com/token", strict, "scheme"},
		{"//auth.example.com/token", strict, "scheme"},
		{"http://auth.example.com", strict, "scheme"},
		{"http://auth.example.com", local, "scheme"},
		{"ftp://auth.example.com", strict, "scheme"},
		{"file:///etc/passwd", local, "scheme"},
		{"javascript:alert(1)", local, "scheme"},
		{"data:text/html,x", local, "scheme"},
		{"https:auth.example.com", strict, "no host"},
		{"https:///token", strict, "no host"},
		{"https://:443/token", strict, "no host"},
		{"https://user@auth.example.com/", strict, "user name"},
		{"https://user:secret@auth.example.com/", strict, "user name"},
		{"https://@auth.example.com/", strict, "user name"},
		{"https://auth.example.com/#a", strict, "fragment"},
		{"https://auth.example.com/#", strict, "fragment"},
		{"https://auth.example.com:0/", strict, "port"},
		{"https://auth.example.com:65536/", strict, "port"},
		{"https://auth.example.com:/", strict, "port"},
		{"https://auth.example.com:https/", strict, "parse"},
		{"https://auth.example.com/\x00", strict, "parse"},
		{"https://auth example.com/", strict, "parse"},
		{"https://auth.example.com/%zz", strict, "parse"},
		{"https://auth.example.com/" + strings.Repeat("a", 5000), strict, "longer"},

		{"https://localhost/", strict, "loopback"},
		{"https://LocalHost./", strict, "loopback"},
		{"https://a.localhost/", strict, "loopback"},
		{"https://127.0.0.1/", strict, "loopback"},
		{"https://[::1]/", strict, "loopback"},
		{"https://[::ffff:127.0.0.1]/", strict, "loopback"},
		{"http://localhost:3000/", strict, "loopback"},
		{"http://localhost:3000/", local, ""},
		{"http://127.0.0.1:3000/", local, ""},
		{"http://[::1]:3000/", local, ""},
		{"https://localhost:3000/", local, ""},
		{"http://localhost:3000/", private, "loopback"},

		{"https://10.0.0.1/", strict, "private"},
		{"https://10.0.0.1/", local, "private"},
		{"https://10.0.0.1/", private, ""},
		{"https://[fd00::1]/", private, ""},
		{"http://10.0.0.1/", private, "scheme"},
		{"https://[::ffff:10.0.0.1]/", strict, "private"},
		{"https://[64:ff9b::10.0.0.1]/", strict, "private"},
		{"https://169.254.169.254/latest/meta-data/", strict, "metadata"},
		{"https://169.254.169.254/latest/meta-data/", private, "metadata"},
		{"http://169.254.169.254/latest/meta-data/", strict, "metadata"},
		{"https://[fe80::1%25eth0]/", strict, "zone"},
		{"https://0.0.0.0/", local, "not a public"},
		{"https://0/", local, "nonstandard notation"},
		{"https://2130706433/", local, "nonstandard notation"},
		{"https://0x7f000001/", local, "nonstandard notation"},
		{"https://0x7f.1/", local, "nonstandard notation"},
		{"https://0177.0.0.1/", local, "nonstandard notation"},
		{"https://127.1/", local, "nonstandard notation"},
		{"https://127.0.0.1./", local, "nonstandard notation"},
		{"https://example.09/", local, "nonstandard notation"},
	} {
		t.Run(tt.url, func(t *testing.T) {
			err := tt.client.Check(tt.url)
			if tt.reason == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.reason)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}

func FuzzCheck(f *testing.F) {
	for _, s := range []string{
		"https://auth.example.com:8443/token?a=b", "http://[::1]:3000/", "http://a.localhost", "https://u:p@h/#f", "https://0x7f.1/", "javascript:alert(1)",
	} {
		f.Add(s)
	}
	strict, local := fetch.New(fetch.Options{}), fetch.New(fetch.Options{AllowLoopback: true, AllowPrivate: true})
	f.Fuzz(func(t *testing.T, text string) {
		err := local.Check(text)
		if strict.Check(text) == nil {
			require.NoError(t, err, "what is allowed stays allowed with more allowances")
		}
		if err != nil {
			var blocked *fetch.BlockedError
			var wrong *fetch.URLError
			require.True(t, errors.As(err, &blocked) || errors.As(err, &wrong))
			require.False(t, strings.ContainsFunc(err.Error(), unicode.IsControl))
			require.Less(t, len(err.Error()), 1300) // Quote makes up to four bytes of one
			return
		}
		u, err := url.Parse(text)
		require.NoError(t, err)
		require.Nil(t, u.User)
		require.Empty(t, u.Fragment)
		require.Contains(t, []string{"http", "https"}, u.Scheme)
		require.NotEmpty(t, u.Hostname())
		require.NotContains(t, fetch.Show(text), "?")
	})
}

func TestShow(t *testing.T) {
	for text, want := range map[string]string{
		"https://h.example/p/q?code=secret#x":  "https://h.example/p/q",
		"https://user:secret@h.example/p":      "https://h.example/p",
		"https://h.example/a%2Fb":              "https://h.example/a%2Fb",
		"https://h.example?":                   "https://h.example",
		"https://h.example/\u202ep":            "https://h.example/%E2%80%AEp",
		"mailto:secret@h.example":              "mailto:…",
		"https://h.example/\x1b[2J?c=secret":   "(not a URL)",
		"https://h\u202e.example/":             "https://h%E2%80%AE.example/",
		"https://h.example/" + long:            "https://h.example/" + long[:282] + "…",
		"":                                     "",
		"?code=secret":                         "",
		"https://h.example:port/?code=secret":  "(not a URL)",
		"https://h.example/;jsessionid=x?y#zz": "https://h.example/;jsessionid=x",
	} {
		require.Equal(t, want, fetch.Show(text), text)
	}
}

var long = strings.Repeat("a", 1000)

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain ä 中":              "plain ä 中",
		"a\nb\x1b[2Jc\x00\u202e": "a\ufffdb\ufffd[2Jc\ufffd\ufffd",
		"\xff":                   "\ufffd",
		long:                     long[:300] + "…",
		long[:299] + "äb":        long[:299] + "…",
	} {
		require.Equal(t, want, fetch.Printable(text))
	}
}
