package http

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestChallenges(t *testing.T) {
	t.Parallel()
	type params = map[string]string
	for text, want := range map[string][]challenge{
		"":                                       nil,
		" , ,":                                   nil,
		"Bearer":                                 {{"Bearer", params{}}},
		"Bearer, Basic":                          {{"Bearer", params{}}, {"Basic", params{}}},
		"Negotiate abc==":                        {{"Negotiate", params{}}},
		"Negotiate a/b+c=, Bearer":               {{"Negotiate", params{}}, {"Bearer", params{}}},
		"bearer Realm=x":                         {{"bearer", params{"realm": "x"}}},
		`Bearer realm = "x" , scope="a b"`:       {{"Bearer", params{"realm": "x", "scope": "a b"}}},
		`Bearer realm="a, b=\"c\"", x=y`:         {{"Bearer", params{"realm": `a, b="c"`, "x": "y"}}},
		`Bearer a=b,, c=d,`:                      {{"Bearer", params{"a": "b", "c": "d"}}},
		`Bearer a="", DPoP algs="ES256"`:         {{"Bearer", params{"a": ""}}, {"DPoP", params{"algs": "ES256"}}},
		`Bearer a=b, Negotiate abc=, Basic`:      {{"Bearer", params{"a": "b"}}, {"Negotiate", params{}}, {"Basic", params{}}},
		"Bearer  resource_metadata=\"http://x\"": {{"Bearer", params{"resource_metadata": "http://x"}}},
	} {
		got, err := challenges(http.Header{"Www-Authenticate": {text}})
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	two, err := challenges(http.Header{"Www-Authenticate": {"Basic realm=x", "Bearer"}})
	require.NoError(t, err)
	require.Len(t, two, 2)
	for text, want := range map[string]string{
		`="x"`:                              "no scheme",
		`Bearer/x`:                          "no space",
		`Bearer a=b, a=c`:                   "a comes twice",
		`Bearer a=b, A=c`:                   "a comes twice",
		`Bearer a="b`:                       "no closing quote",
		`Bearer a="b" c="d"`:                "no comma",
		`Bearer resource_metadata=http://x`: "no comma",
		`Bearer a=b c`:                      "no comma",
		`Bearer a=, b=c`:                    "no space",
		`Bearer a=b, =c`:                    "no parameter",
		"Bearer a=\"\x01\"":                 "control",
		`Bearer "a"`:                        "no parameter",
		`Bearer a=b, c=;`:                   "no value",
	} {
		_, err := challenges(http.Header{"Www-Authenticate": {text}})
		require.ErrorContains(t, err, want, text)
	}
}

func FuzzChallenges(f *testing.F) {
	f.Add(`Bearer realm="x, y", scope=a, Negotiate abc==, DPoP algs="ES256 \"RS256"`)
	f.Add(`Bearer a=b,,c = "d" ,`)
	f.Fuzz(func(t *testing.T, text string) {
		all, err := challenges(http.Header{"Www-Authenticate": {text}})
		if err != nil {
			return
		}
		// What was read is read again from its plain form.
		var plain []string
		for _, c := range all {
			line := c.scheme
			sep := " "
			for name, value := range c.params {
				line += sep + name + `="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
				sep = ", "
			}
			plain = append(plain, line)
		}
		again, err := challenges(http.Header{"Www-Authenticate": {strings.Join(plain, ", ")}})
		require.NoError(t, err, plain)
		require.Equal(t, all, again, plain)
	})
}
