package login

import (
	"net/url"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/clientsuite/internal/guarded"
)

// injected is a code of somebody else's login.
const injected = "code-of-somebody-else"

// responses look at what the client makes of authorization responses.
func responses() []Scenario {
	announced := func(is bool, change func(w *guarded.World, answer url.Values)) func(*guarded.World, *Way) {
		return func(w *guarded.World, _ *Way) {
			w.First.Metadata["authorization_response_iss_parameter_supported"] = is
			w.First.Callback = func(_, answer url.Values) { change(w, answer) }
		}
	}
	unused := func(id string) func(*View) { return func(v *View) { v.noCode(id) } }
	return []Scenario{
		scenario("C-STATE-FORGED", announced(true, func(_ *guarded.World, a url.Values) {
			a.Set("state", strings.Repeat("forged", 6))
		}), unused("C-AUTH-11/forged")).bounded(),
		scenario("C-STATE-ABSENT", announced(true, func(_ *guarded.World, a url.Values) { a.Del("state") }), unused("C-AUTH-11/absent")).bounded(),
		scenario("C-CODE-INJECTED", announced(true, func(_ *guarded.World, a url.Values) {
			a.Set("code", injected)
			a.Set("state", strings.Repeat("other", 6))
		}), func(v *View) {
			if len(v.Logins()) == 0 {
				v.Unknown("no login began")
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
		scenario("C-ISS-FORGED", announced(true, func(w *guarded.World, a url.Values) { a.Set("iss", w.Second.Issuer) }), unused("C-AUTH-12/forged")).bounded(),
		scenario("C-ISS-ABSENT", announced(true, func(_ *guarded.World, a url.Values) { a.Del("iss") }), unused("C-AUTH-12/absent")).bounded(),
		scenario("C-ISS-UNANNOUNCED", announced(false, func(w *guarded.World, a url.Values) { a.Set("iss", w.Second.Issuer) }), unused("C-AUTH-12/unannounced")).bounded(),
		scenario("C-ISS-SLASH", announced(true, func(w *guarded.World, a url.Values) { a.Set("iss", w.First.Issuer+"/") }), unused("C-AUTH-12/slash")).bounded(),
		scenario("C-ISS-NONE", announced(false, func(*guarded.World, url.Values) {}), func(v *View) { v.served("C-AUTH-12/none", 0) }),
		scenario("C-ISS-ERROR", announced(true, func(w *guarded.World, a url.Values) {
			a.Del("code")
			a.Set("iss", w.Second.Issuer)
			a.Set("error", "access_denied")
			a.Set("error_description", forgedText)
		}), func(v *View) {
			shown := strings.Contains(v.Printed, forgedText)
			if len(v.Logins()) == 0 {
				v.Unknown("no login began")
				return
			}
			v.Check("C-AUTH-12/error", !shown, "error_description is not shown", "it is")
		}).bounded(),
		scenario("C-MIX-UP", func(w *guarded.World, _ *Way) {
			w.First.Metadata["authorization_endpoint"] = w.Second.Base + "/authorize"
			w.Second.Metadata["authorization_response_iss_parameter_supported"] = true
		}, unused("C-AUTH-12/mix-up")).bounded(),
		scenario("C-LOGIN-DENIED", announced(true, func(_ *guarded.World, a url.Values) {
			a.Del("code")
			a.Set("error", "access_denied")
		}), func(v *View) {
			n := len(v.Logins())
			if n == 0 {
				v.Unknown("no login began")
				return
			}
			v.Check("C-AUTH-24/denied", n == 1 && (v.failed(0) || !v.Tells), "one authorization request and an error", count(n, "authorization request")+said(v.outcome(0))+v.stopped())
		}).bounded(),
	}
}

const forgedText = "call the number on this card to log in"
