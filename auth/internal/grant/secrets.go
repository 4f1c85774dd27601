package grant

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// secrets are values that were sent to a server. Its error texts may repeat them.
type secrets []string

// secretParams are the secret parameters of a token request.
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

// window is how many consecutive characters of a secret must not be shown.
const window = 12

const scrubbed = "[hidden: it repeats a credential]"

// scrub returns text, or a replacement if it has a secret or a part of one.
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
