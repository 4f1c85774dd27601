package authorization

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/checks/client/authorization/internal/guarded"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
)

// tokens judges how the client handles answers of the token endpoint.
func tokens() []login {
	answer := func(h http.HandlerFunc) func(*guarded.World, *trial.Login) {
		return func(w *guarded.World, _ *trial.Login) { w.Handlers[guarded.First+"/token"] = h }
	}
	change := func(f func(answer map[string]any)) func(*guarded.World, *trial.Login) {
		return func(w *guarded.World, _ *trial.Login) {
			w.First.Answer = func(_ *guarded.Request, answer map[string]any) { f(answer) }
		}
	}
	method := func(name string) func(*guarded.World, *trial.Login) {
		return func(w *guarded.World, _ *trial.Login) {
			w.First.Method = name
			w.First.Metadata["token_endpoint_auth_methods_supported"] = []string{name}
		}
	}
	return []login{
		newLogin("C-TOKEN-TYPE", change(func(a map[string]any) { a["token_type"] = "mac" }), func(v *view) {
			if !v.exchanged() {
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
		newLogin("C-TOKEN-EXPIRES", change(func(a map[string]any) { delete(a, "expires_in") }), func(v *view) { v.served("C-AUTH-20/expires", 0) }),
		newLogin("C-TOKEN-HTML", answer(func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(out, "<html><body>Sign in</body></html>") // the client may be gone
		}), func(v *view) { judgeNoToken(v, "C-AUTH-20/html") }),
		newLogin("C-TOKEN-ERROR", answer(func(out http.ResponseWriter, _ *http.Request) {
			guarded.Document(out, http.StatusOK, map[string]any{"error": "invalid_grant", "error_description": "no"})
		}), func(v *view) { judgeNoToken(v, "C-AUTH-20/error") }),
		newLogin("C-TOKEN-REDIRECT", func(w *guarded.World, _ *trial.Login) {
			w.First.Method = "client_secret_post"
			w.First.Metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
			w.Handlers[guarded.First+"/token"] = redirected(w.Elsewhere + "/token")
		}, func(v *view) {
			if !v.exchanged() {
				return
			}
			what := []string{}
			for _, r := range v.All(func(r *guarded.Request) bool { return r.Host == guarded.Elsewhere }) {
				what = append(what, v.Leaked(text(r))...)
			}
			v.Check("C-AUTH-20/redirect", len(what) == 0, "nothing", names(what))
		}),
		newLogin("C-CLIENT-BASIC", method("client_secret_basic"), func(v *view) { judgeMethod(v, "C-AUTH-20/basic", "client_secret_basic") }),
		newLogin("C-CLIENT-POST", method("client_secret_post"), func(v *view) { judgeMethod(v, "C-AUTH-20/post", "client_secret_post") }),
	}
}

// exchanged reports whether the client exchanged a code. If not, the checks that are left
// are inconclusive.
func (v *view) exchanged() bool {
	return v.Trial.Needs(len(v.Tokens("authorization_code")) > 0, "no code was exchanged")
}

// judgeNoToken decides a check: a client without a token sends none.
func judgeNoToken(v *view, id string) {
	if !v.exchanged() {
		return
	}
	sent := ""
	for _, r := range v.Messages() {
		if got := r.Header.Get("Authorization"); got != "" {
			sent = got
		}
	}
	v.Check(id, sent == "" && v.refused(), "an error, and no Authorization header", "Authorization: "+sent+v.said(0))
}

func judgeMethod(v *view, id, want string) {
	if len(v.At(guarded.First, "/register")) == 0 {
		v.Skip(id, "the client does not register")
		return
	}
	if !v.exchanged() {
		return
	}
	r := v.Tokens("")[0]
	got, _, _ := guarded.Used(r)
	both := want == "client_secret_post" && r.Header.Get("Authorization") != ""
	served := len(v.World.Calls("echo")) > 0 && !v.World.Calls("echo")[0].Refused()
	v.Check(id, got == want && !both && served, want+", and a token", fmt.Sprintf("%s, Authorization %q, a token: %t", got, scheme(r), served))
}

func scheme(r *guarded.Request) string {
	s, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return s
}
