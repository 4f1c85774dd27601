package grant

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// secrets are values that were sent to a server, which may repeat them in its error texts.
type secrets []string

// secretParams are the parameters of a token request that nobody else may read.
var secretParams = []string{
	"actor_token", "assertion", "client_assertion", "client_secret", "code", "code_verifier",
	"device_code", "password", "refresh_token", "request_uri", "state", "subject_token", "token",
}

func secretsOf(form url.Values, more ...string) secrets {
	var s secrets
	for _, name := range secretParams {
		more = append(more, form[name]...)
	}
	for _, value := range more {
		if value != "" {
			s = append(s, value, url.QueryEscape(value), base64.StdEncoding.EncodeToString([]byte(value)))
		}
	}
	return s
}

// window is how many characters of a secret in a row give it away.
const window = 12

const scrubbed = "[hidden: it repeats a credential]"

// scrub returns text unless it has a secret or a telling part of one.
func (s secrets) scrub(text string) string {
	for _, secret := range s {
		if strings.Contains(text, secret) {
			return scrubbed
		}
		for i := 0; i+window <= len(text) && len(secret) > window; i++ {
			if strings.Contains(secret, text[i:i+window]) {
				return scrubbed
			}
		}
	}
	return text
}
