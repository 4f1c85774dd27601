// Package challenge reads the WWW-Authenticate header of a refused request.
//
// The syntax is that of RFC 9110 §11.6.1. The parser skips what it cannot read, because
// servers and proxies add other content to this header.
package challenge

import (
	"net/http"
	"strings"
)

// Challenge is one challenge of a WWW-Authenticate header.
type Challenge struct {
	// Scheme is the name of the scheme as the server wrote it. Compare it with
	// [Challenge.Is].
	Scheme string
	// Token is the token68 after the scheme, as in "Negotiate YII=".
	Token string
	// Params are the parameters by their lower-case names. It is nil when there
	// are none.
	Params map[string]string
}

// Get returns the value of a parameter, or "". The case of the name does not
// matter.
func (c Challenge) Get(name string) string { return c.Params[strings.ToLower(name)] }

// Is reports whether the challenge is of a scheme. The case does not matter.
func (c Challenge) Is(scheme string) bool { return strings.EqualFold(c.Scheme, scheme) }

// remapped is the name of the header behind Amazon's API Gateway, which renames it so that
// browsers ask for no password.
const remapped = "X-Amzn-Remapped-Www-Authenticate"

// Of returns the challenge that asks for an OAuth token: the Bearer challenge,
// else the DPoP challenge. Among several of a scheme it prefers the first that
// names resource metadata. Challenges of other schemes are ignored.
func Of(h http.Header) (c Challenge, ok bool) {
	lines := h.Values("WWW-Authenticate")
	if len(lines) == 0 {
		lines = h.Values(remapped)
	}
	all := Parse(lines)
	for _, scheme := range []string{"Bearer", "DPoP"} {
		for _, each := range all {
			if !each.Is(scheme) {
				continue
			}
			if each.Get("resource_metadata") != "" {
				return each, true
			}
			if !ok {
				c, ok = each, true
			}
		}
		if ok {
			return c, true
		}
	}
	return Challenge{}, false
}
