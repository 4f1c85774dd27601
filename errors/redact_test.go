package mcperrors_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "connection refused", "connection refused"},
		{"empty", "", ""},
		{"query", "get https://h/mcp?key=abc&x=1 failed", "get https://h/mcp?[redacted] failed"},
		{"fragment", "https://h/mcp#access", "https://h/mcp#[redacted]"},
		{"query without a path", "https://h?abc", "https://h?[redacted]"},
		{"bare question mark", "https://h/a?", "https://h/a?"},
		{"user", "postgres://me:pw@db:5432/x", "postgres://[redacted]@db:5432/x"},
		{"at sign in a path", "https://h/@scope/pkg", "https://h/@scope/pkg"},
		{"at sign in a password", "https://me:p@w@h/", "https://[redacted]@h/"},
		{"two addresses", "http://a/?b c://d:e@f", "http://a/?[redacted] c://[redacted]@f"},
		{"go's quoted address", `Get "https://h/?t=1": dial tcp`, `Get "https://h/?[redacted]": dial tcp`},
		{"environment", "PASSWORD=hunter2 rest", "PASSWORD=[redacted] rest"},
		{"environment key", "OPENAI_KEY=abc", "OPENAI_KEY=[redacted]"},
		{"json", `{"apiKey": "a\"b", "n": 1}`, `{"apiKey": "[redacted]", "n": 1}`},
		{"json in json", `"{\"token\":\"abc\",\"n\":1}"`, `"{\"token\":\"[redacted]\",\"n\":1}"`},
		{"single quotes", "secret='a b'", "secret='[redacted]'"},
		{"header", "Authorization: Bearer abc def\nnext", "Authorization: [redacted]\nnext"},
		{"cookie", "set-cookie: a=b; c=d", "set-cookie: [redacted]"},
		{"session", "Mcp-Session-Id: 123", "Mcp-Session-Id: [redacted]"},
		{"scheme alone", "sent bearer abc.def", "sent bearer [redacted]"},
		{"option", "run --api-key abc --n 1", "run --api-key [redacted] --n 1"},
		{"option with equals", "run --token=abc", "run --token=[redacted]"},
		{"arrow", "token => abc", "token => [redacted]"},
		{"known shape", "key sk-abcdefghijklmnop here", "key [redacted] here"},
		{"jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.sig", "[redacted]"},
		{"count", "tokens: 400", "tokens: 400"},
		{"prose", "the token is not valid", "the token is not valid"},
		{"javascript", "Unexpected token < in JSON", "Unexpected token < in JSON"},
		{"name at the end", "password=", "password="},
		{"umlauts", "Schlüssel: ä password=ö", "Schlüssel: ä password=[redacted]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, mcperrors.Redact(tt.in))
			require.Equal(t, tt.want, mcperrors.Redact(tt.want), "a second time changes nothing")
		})
	}
}

func TestRedactValues(t *testing.T) {
	t.Parallel()
	require.Equal(t, "cannot open [redacted]: 1 of 1",
		mcperrors.Redact("cannot open s3cr3t-dsn: 1 of 1", "s3cr3t-dsn", "1", ""))
}

func TestRedactCommand(t *testing.T) {
	t.Parallel()
	given := []string{
		"python3", "srv.py", "--token", "tok_12345678", "-password", "a b c", "--api-key=abc", "DB_PASSWORD=x", "--port", "80",
		"postgres://me:pw@h/x", "my-value", "--token",
	}
	require.Equal(t, []string{
		"python3", "srv.py", "--token", "[redacted]", "-password", "[redacted]", "--api-key=[redacted]", "DB_PASSWORD=[redacted]", "--port", "80",
		"postgres://[redacted]@h/x", "[redacted]", "--token",
	}, mcperrors.RedactCommand(given, "my-value"))
	require.Equal(t, "tok_12345678", given[3], "what was given is not changed")
	require.Empty(t, mcperrors.RedactCommand(nil))
}

// A long text of a peer is full of the words that Redact looks for. The running time must
// be linear; a quadratic one is 20 s for the first text.
func TestRedactIsLinear(t *testing.T) {
	t.Parallel()
	if testmain.Race {
		t.Skip("one goroutine works through a large input, there is nothing to race with")
	}
	for _, unit := range []string{
		`token="x" `, `token='\'`, `token=\"x\"`, `token="`, `token=`, `"token" :`, "token  ", "--token ", "bearer ",
		"authorization", "cookie: \n", "a://", "://", "a://@ ", "a://b?c ", `\"`, "-", "a ", "ä",
	} {
		long := strings.Repeat(unit, 1<<20/len(unit))
		require.Less(t, testmain.Busy(func() { mcperrors.Redact(long) }), 5*time.Second, unit)
	}
}

func BenchmarkRedact(b *testing.B) {
	long := strings.Repeat(`token="x" `, 1<<20/10)
	b.SetBytes(int64(len(long)))
	for b.Loop() {
		mcperrors.Redact(long)
	}
}

// A secret in any of these places is removed, for any text on the lines around it.
func FuzzRedact(f *testing.F) {
	f.Add("", "abcdefgh", "")
	f.Add("token=\"", "s3cr3t_value", "'")
	f.Add("https://", "AKIA-1234-5678", "@host?x")
	f.Add("Bearer", "zzzzzzzzz", "\\\"")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		once := mcperrors.Redact(before + secret + after)
		require.Equal(t, once, mcperrors.Redact(once), "a second time changes nothing")
		if utf8.ValidString(before + secret + after) {
			require.True(t, utf8.ValidString(once))
		}
		secret = strings.Map(func(r rune) rune {
			if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				return r
			}
			return -1
		}, secret)
		for _, place := range []string{
			"https://me:SECRET@host/mcp", "https://SECRET@host", "https://host/mcp?SECRET", "https://host?a=b&c=SECRET",
			"Authorization: Basic SECRET", `"api_key": "SECRET"`, "DB_PASSWORD=SECRET", "--token SECRET",
			"client_secret: SECRET", `{\"accessToken\":\"SECRET\"}`, "bearer SECRET",
		} {
			around := before + strings.Replace(place, "SECRET", "", 1) + after + "[redacted]"
			if len(secret) < 6 || strings.Contains(around, secret) {
				continue
			}
			got := mcperrors.Redact(before + "\n" + strings.Replace(place, "SECRET", secret, 1) + "\n" + after)
			require.NotContains(t, got, secret, place)
		}
	})
}
