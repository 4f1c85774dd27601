package authorization

import (
	"net/url"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/checks/client/authorization/internal/guarded"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
)

// injected is a code of another person's login.
const injected = "code-of-somebody-else"

// announced changes an authorization response; is: the metadata announce iss.
func announced(is bool, change func(w *guarded.World, answer url.Values)) func(*guarded.World, *trial.Login) {
	return func(w *guarded.World, _ *trial.Login) {
		w.First.Metadata["authorization_response_iss_parameter_supported"] = is
		w.First.Callback = func(_, answer url.Values) { change(w, answer) }
	}
}

// unused decides a check: the code of the response is not used.
func unused(id string) func(*view) { return func(v *view) { v.noCode(id) } }

// responses judges how the client checks the state of authorization responses.
func responses() []login {
	return []login{
		newLogin("C-STATE-FORGED", announced(true, func(_ *guarded.World, a url.Values) {
			a.Set("state", strings.Repeat("forged", 6))
		}), unused("C-AUTH-11/forged")).bounded(),
		newLogin("C-STATE-ABSENT", announced(true, func(_ *guarded.World, a url.Values) { a.Del("state") }), unused("C-AUTH-11/absent")).bounded(),
		newLogin("C-CODE-INJECTED", announced(true, func(_ *guarded.World, a url.Values) {
			a.Set("code", injected)
			a.Set("state", strings.Repeat("other", 6))
		}), func(v *view) {
			if !v.hasLogin() {
				return
			}
			n := 0
			for _, r := range v.Tokens("") {
				if r.Form.Get("code") == injected {
					n++
				}
			}
			v.Check("C-AUTH-09/injected", n == 0, "no token request with it", count(n, "token request"))
		}).bounded(),
	}
}

// issuers judges how the client checks iss (RFC 9207).
func issuers() []login {
	return []login{
		newLogin("C-ISS-FORGED", announced(true, func(w *guarded.World, a url.Values) { a.Set("iss", w.Second.Issuer) }), unused("C-AUTH-12/forged")).bounded(),
		newLogin("C-ISS-ABSENT", announced(true, func(_ *guarded.World, a url.Values) { a.Del("iss") }), unused("C-AUTH-12/absent")).bounded(),
		newLogin("C-ISS-UNANNOUNCED", announced(false, func(w *guarded.World, a url.Values) { a.Set("iss", w.Second.Issuer) }), unused("C-AUTH-12/unannounced")).bounded(),
		newLogin("C-ISS-SLASH", announced(true, func(w *guarded.World, a url.Values) { a.Set("iss", w.First.Issuer+"/") }), unused("C-AUTH-12/slash")).bounded(),
		newLogin("C-ISS-NONE", announced(false, func(*guarded.World, url.Values) {}), func(v *view) { v.served("C-AUTH-12/none", 0) }),
		newLogin("C-ISS-ERROR", announced(true, func(w *guarded.World, a url.Values) {
			a.Del("code")
			a.Set("iss", w.Second.Issuer)
			a.Set("error", "access_denied")
			a.Set("error_description", forgedText)
		}), func(v *view) {
			shown := strings.Contains(v.output, forgedText)
			if !v.hasLogin() {
				return
			}
			v.Check("C-AUTH-12/error", !shown, "error_description is not shown", "it is")
		}).bounded(),
		newLogin("C-MIX-UP", func(w *guarded.World, _ *trial.Login) {
			w.First.Metadata["authorization_endpoint"] = w.Second.Base + "/authorize"
			w.Second.Metadata["authorization_response_iss_parameter_supported"] = true
		}, unused("C-AUTH-12/mix-up")).bounded(),
		newLogin("C-LOGIN-DENIED", announced(true, func(_ *guarded.World, a url.Values) {
			a.Del("code")
			a.Set("error", "access_denied")
		}), func(v *view) {
			if !v.hasLogin() {
				return
			}
			n := len(v.Logins())
			v.Check("C-AUTH-24/denied", n == 1 && v.refused(), "one authorization request and an error", count(n, "authorization request")+v.said(0))
		}).bounded(),
	}
}

const forgedText = "call the number on this card to log in"
