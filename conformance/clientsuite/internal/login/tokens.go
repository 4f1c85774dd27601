package login

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/clientsuite/internal/guarded"
)

// tokens look at what the client makes of the answers of a token endpoint.
func tokens() []Scenario {
	answer := func(h http.HandlerFunc) func(*guarded.World, *Way) {
		return func(w *guarded.World, _ *Way) { w.Handlers[guarded.First+"/token"] = h }
	}
	change := func(f func(answer map[string]any)) func(*guarded.World, *Way) {
		return func(w *guarded.World, _ *Way) {
			w.First.Answer = func(_ *guarded.Request, answer map[string]any) { f(answer) }
		}
	}
	method := func(name string) func(*guarded.World, *Way) {
		return func(w *guarded.World, _ *Way) {
			w.First.Method = name
			w.First.Metadata["token_endpoint_auth_methods_supported"] = []string{name}
		}
	}
	return []Scenario{
		scenario("C-TOKEN-TYPE", change(func(a map[string]any) { a["token_type"] = "mac" }), func(v *View) {
			if !exchanged(v) {
				return
			}
			sent := 0
			for _, r := range v.Messages() {
				if scheme, token := r.Bearer(); scheme == "bearer" && v.Issued(token) != nil {
					sent++
				}
			}
			v.Check("C-AUTH-20/type", sent == 0, "no request with it", count(sent, "request"))
		}),
		scenario("C-TOKEN-EXPIRES", change(func(a map[string]any) { delete(a, "expires_in") }), func(v *View) { v.served("C-AUTH-20/expires", 0) }),
		scenario("C-TOKEN-HTML", answer(func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(out, "<html><body>Sign in</body></html>") // who left does not read it
		}), func(v *View) { judgeNoToken(v, "C-AUTH-20/html") }),
		scenario("C-TOKEN-ERROR", answer(func(out http.ResponseWriter, _ *http.Request) {
			guarded.Document(out, http.StatusOK, map[string]any{"error": "invalid_grant", "error_description": "no"})
		}), func(v *View) { judgeNoToken(v, "C-AUTH-20/error") }),
		scenario("C-TOKEN-REDIRECT", func(w *guarded.World, _ *Way) {
			w.First.Method = "client_secret_post"
			w.First.Metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
			w.Handlers[guarded.First+"/token"] = redirected(w.Elsewhere + "/token")
		}, func(v *View) {
			if !exchanged(v) {
				return
			}
			what := []string{}
			for _, r := range v.All(func(r *guarded.Request) bool { return r.Host == guarded.Elsewhere }) {
				what = append(what, v.Leaked(text(r))...)
			}
			v.Check("C-AUTH-20/redirect", len(what) == 0, "nothing", names(what))
		}),
		scenario("C-CLIENT-BASIC", method("client_secret_basic"), func(v *View) { judgeMethod(v, "C-AUTH-20/basic", "client_secret_basic") }),
		scenario("C-CLIENT-POST", method("client_secret_post"), func(v *View) { judgeMethod(v, "C-AUTH-20/post", "client_secret_post") }),
	}
}

// exchanged reports whether the client exchanged a code.
func exchanged(v *View) bool {
	if len(v.Tokens("authorization_code")) > 0 {
		return true
	}
	v.Unknown("no code was exchanged")
	return false
}

// judgeNoToken looks at a client that got no token.
func judgeNoToken(v *View, id string) {
	if !exchanged(v) {
		return
	}
	sent := ""
	for _, r := range v.Messages() {
		if got := r.Header.Get("Authorization"); got != "" {
			sent = got
		}
	}
	v.Check(id, sent == "" && (v.failed(0) || !v.Tells), "an error, and no Authorization header", "Authorization: "+sent+said(v.outcome(0))+v.stopped())
}

func judgeMethod(v *View, id, want string) {
	if len(v.At(guarded.First, "/register")) == 0 {
		v.Skip(id, "the client does not register")
		return
	}
	if !exchanged(v) {
		return
	}
	r := v.Tokens("")[0]
	got, _, _ := guarded.Used(r)
	both := want == "client_secret_post" && r.Header.Get("Authorization") != ""
	served := len(v.Calls("echo")) > 0 && !v.Calls("echo")[0].Refused()
	v.Check(id, got == want && !both && served, want+", and a token", fmt.Sprintf("%s, Authorization %q, a token: %t", got, scheme(r), served))
}

func scheme(r *guarded.Request) string {
	s, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return s
}
