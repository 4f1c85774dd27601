package explain

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAsFlags(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"set it with WithClient": "set it with --client-id",
		`leave it out with WithoutResource("https://login.example/t/v2.0")`:                                   `leave it out with --issuer https://login.example/t/v2.0 --without-resource`,
		`assume it with WithAssumedPKCE("https://login.example"); else ask`:                                   `assume it with --issuer https://login.example --assume-pkce; else ask`,
		`WithAuthorizeParams("https://a.example", "access_type=offline", "prompt=consent") or WithOnlyScopes`: `--issuer https://a.example --authorize-param access_type=offline --authorize-param prompt=consent or --only-scope`,
		`a parameter (WithAuthorizeParams)`:                                                                   `a parameter (--authorize-param)`,
		`WithAssumedPKCE("https://a.example/$(reboot)")`:                                                      `--issuer 'https://a.example/$(reboot)' --assume-pkce`,
	} {
		require.Equal(t, want, AsFlags(text))
	}
}
