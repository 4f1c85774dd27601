package challenge_test

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/auth/internal/challenge"
)

type params = map[string]string

func bearer(p params) challenge.Challenge { return challenge.Challenge{Scheme: "Bearer", Params: p} }

func TestParse(t *testing.T) {
	const place = "https://mcp.example.com/.well-known/oauth-protected-resource"
	for _, tt := range []struct {
		name   string
		values []string
		want   []challenge.Challenge
	}{
		{"no line", nil, nil},
		{"an empty line", []string{""}, nil},
		{"commas only", []string{" , ,\t,"}, nil},
		{"a scheme alone", []string{"Bearer"}, []challenge.Challenge{{Scheme: "Bearer"}}},
		{"a scheme with blanks", []string{"  Bearer  "}, []challenge.Challenge{{Scheme: "Bearer"}}},
		{
			"the example of the MCP specification",
			[]string{`Bearer resource_metadata="` + place + `", scope="files:read"`},
			[]challenge.Challenge{bearer(params{"resource_metadata": place, "scope": "files:read"})},
		},
		{
			"names in any case, blanks around the sign",
			[]string{`Bearer Scope = "a b" ,ERROR=insufficient_scope`},
			[]challenge.Challenge{bearer(params{"scope": "a b", "error": "insufficient_scope"})},
		},
		{
			"several challenges in a line",
			[]string{`Negotiate, Basic realm="a, Bearer scope=\"x\"", Bearer scope="y", DPoP algs="ES256 PS256"`},
			[]challenge.Challenge{
				{Scheme: "Negotiate"},
				{Scheme: "Basic", Params: params{"realm": `a, Bearer scope="x"`}},
				bearer(params{"scope": "y"}),
				{Scheme: "DPoP", Params: params{"algs": "ES256 PS256"}},
			},
		},
		{
			"several lines",
			[]string{`Negotiate YII+/a==`, `Bearer scope="y"`},
			[]challenge.Challenge{{Scheme: "Negotiate", Token: "YII+/a=="}, bearer(params{"scope": "y"})},
		},
		{
			"a token68 before another challenge",
			[]string{`NTLM TlRMTVNTUAAC=, Bearer a=b`},
			[]challenge.Challenge{{Scheme: "NTLM", Token: "TlRMTVNTUAAC="}, bearer(params{"a": "b"})},
		},
		{
			"the example of RFC 9110",
			[]string{`Basic realm="simple", Newauth realm="apps", type=1, title="Login to \"apps\""`},
			[]challenge.Challenge{
				{Scheme: "Basic", Params: params{"realm": "simple"}},
				{Scheme: "Newauth", Params: params{"realm": "apps", "type": "1", "title": `Login to "apps"`}},
			},
		},
		{
			"no commas",
			[]string{`Bearer realm="r" error="invalid_token" Basic realm="b"`},
			[]challenge.Challenge{
				bearer(params{"realm": "r", "error": "invalid_token"}),
				{Scheme: "Basic", Params: params{"realm": "b"}},
			},
		},
		{
			"too many commas",
			[]string{`Bearer ,, scope="a",,, error=b,`},
			[]challenge.Challenge{bearer(params{"scope": "a", "error": "b"})},
		},
		{
			"a URL without quotes",
			[]string{`Bearer resource_metadata=` + place + `?a=b, scope=x`},
			[]challenge.Challenge{bearer(params{"resource_metadata": place + "?a=b", "scope": "x"})},
		},
		{
			"empty values",
			[]string{`Bearer scope="", error= , realm=x`},
			[]challenge.Challenge{bearer(params{"scope": "", "error": "", "realm": "x"})},
		},
		{
			"a parameter that comes twice",
			[]string{`Bearer scope="first", Scope="second"`},
			[]challenge.Challenge{bearer(params{"scope": "first"})},
		},
		{"parameters without a scheme", []string{`realm="x", scope=y`}, nil},
		{
			"junk before and between",
			[]string{`{"error":"x"}, @@@, Bearer scope="a", "stray, quote", error=b, ???`},
			[]challenge.Challenge{bearer(params{"scope": "a", "error": "b"})},
		},
		{
			"a quote that stays open hides nothing of the next line",
			[]string{`Bearer scope="a", resource_metadata="https://x`, `DPoP algs="ES256"`},
			[]challenge.Challenge{bearer(params{"scope": "a"}), {Scheme: "DPoP", Params: params{"algs": "ES256"}}},
		},
		{"a backslash at the end", []string{`Bearer scope="a\`}, []challenge.Challenge{{Scheme: "Bearer"}}},
		{
			"control characters",
			[]string{"Bearer error_description=\"a\x1b[2Jb\", scope=\"a\\\nb\", realm=\"a\tb\", error=\xc2\x9b"},
			[]challenge.Challenge{bearer(params{"realm": "a\tb"})},
		},
		{
			"bytes that are not UTF-8",
			[]string{"Bearer error_description=\"caf\xe9\""},
			[]challenge.Challenge{bearer(params{"error_description": "caf\ufffd"})},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, challenge.Parse(tt.values))
		})
	}
}

func TestOf(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []string
		want   string // the parameter id, "-" for no challenge
	}{
		{"nothing", nil, "-"},
		{"other schemes", []string{`Negotiate`, `Basic realm="x"`}, "-"},
		{"any case of the scheme", []string{`bEARER id=1`}, "1"},
		{"after Negotiate and Basic", []string{`Negotiate, Basic realm="x", Bearer id=1`}, "1"},
		{"on the last line", []string{`Negotiate`, `NTLM`, `Bearer id=1`}, "1"},
		{"DPoP alone", []string{`Basic realm="x"`, `DPoP id=1`}, "1"},
		{"Bearer before DPoP", []string{`DPoP id=1`, `Bearer id=2`}, "2"},
		{"the first of two", []string{`Bearer id=1, Bearer id=2`}, "1"},
		{"the one with metadata", []string{`Bearer id=1, Bearer id=2, resource_metadata="https://x"`}, "2"},
		{"DPoP with metadata does not hide Bearer", []string{`DPoP id=1, resource_metadata="https://x"`, `Bearer id=2`}, "2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, ok := challenge.Of(http.Header{"Www-Authenticate": tt.values})
			require.Equal(t, tt.want != "-", ok)
			if ok {
				require.Equal(t, tt.want, c.Get("ID"))
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`Bearer resource_metadata="https://a/b", scope="x y", error=invalid_token`)
	f.Add(`Negotiate YII=, Basic realm="a\"b", DPoP algs="ES256"`)
	f.Add(`Bearer scope="a" error="b" Basic`)
	f.Add("Bearer a=\"\\")
	f.Add(`a b c=, d==,"`)
	for _, s := range corpus(f) {
		for _, lines := range s.sent {
			for _, line := range lines {
				f.Add(line)
			}
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		all := challenge.Parse([]string{line})
		for _, c := range all {
			require.NotEmpty(t, c.Scheme)
			for name, value := range c.Params {
				require.Equal(t, strings.ToLower(name), name)
				require.True(t, utf8.ValidString(value))
				require.Equal(t, value, c.Get(strings.ToUpper(name)))
			}
		}
		// Parsed challenges stay the same after they are written in the standard form.
		require.Equal(t, all, challenge.Parse([]string{write(all)}))
		// A line does not depend on the lines around it.
		with := challenge.Parse([]string{"Basic", line, "Bearer id=1"})
		require.Equal(t, challenge.Challenge{Scheme: "Bearer", Params: params{"id": "1"}}, with[len(with)-1])
		require.Len(t, with, len(all)+2)
	})
}

// write writes challenges in the form of RFC 9110.
func write(all []challenge.Challenge) string {
	var b strings.Builder
	for i, c := range all {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.Scheme)
		sign := " "
		if c.Token != "" {
			b.WriteString(" " + c.Token)
			sign = ", "
		}
		for name, value := range c.Params {
			b.WriteString(sign + name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`)
			sign = ", "
		}
	}
	return b.String()
}
