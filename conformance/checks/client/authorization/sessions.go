package authorization

import (
	"fmt"
	"net/http"

	"github.com/mainstay-mcp/mainstay/conformance/checks/client/authorization/internal/guarded"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
)

// sessions judges how the client renews tokens.
func sessions() []login {
	return []login{
		newLogin("C-TOKEN-EXPIRED", func(w *guarded.World, _ *trial.Login) {
			w.Before["echo"], w.Before["write"] = w.Expire, w.Expire
		}, judgeExpiry).calling("echo", "write"),
		newLogin("C-REFRESH-KEPT", func(w *guarded.World, _ *trial.Login) {
			w.First.Keeps = true
			w.Before["echo"], w.Before["write"] = w.Expire, w.Expire
		}, func(v *view) {
			if !v.exchanged() {
				return
			}
			renewals, logins := v.Tokens("refresh_token"), v.Logins()
			same := len(renewals) == 2 && renewals[0].Form.Get("refresh_token") == renewals[1].Form.Get("refresh_token")
			v.Check("C-AUTH-24/kept", same && len(logins) == 1, "two token requests with one refresh token, and one login",
				fmt.Sprintf("%s, %s", count(len(renewals), "token request"), count(len(logins), "authorization request")))
		}).calling("echo", "write"),
		atOnce(),
		newLogin("C-REFRESH-REFUSED", func(w *guarded.World, _ *trial.Login) {
			w.Before["write"] = func() {
				w.Expire()
				w.First.Forget()
			}
		}, func(v *view) {
			n := len(v.Logins())
			served := v.result(1)
			v.Check("C-AUTH-24/again", n == 2 && served, "two authorization requests, and the result", count(n, "authorization request")+v.said(1))
		}).calling("echo", "write"),
	}
}

// refusedTokens judges what the client does when a token is refused.
func refusedTokens() []login {
	return []login{
		newLogin("C-UNAUTHORIZED", func(w *guarded.World, _ *trial.Login) {
			w.First.Answer = func(_ *guarded.Request, _ map[string]any) { w.Expire() }
		}, func(v *view) { judgeBounded(v, "C-AUTH-24/bounded") }),
		newLogin("C-FORBIDDEN", func(w *guarded.World, _ *trial.Login) {
			w.Handlers[guarded.Resource+guarded.Endpoint+" echo"] = func(out http.ResponseWriter, _ *http.Request) {
				out.WriteHeader(http.StatusForbidden)
			}
		}, func(v *view) {
			if !v.hasLogin() {
				return
			}
			n := len(v.Logins())
			v.Check("C-AUTH-18/forbidden", n == 1 && v.refused(), "one authorization request and an error", count(n, "authorization request")+v.said(0))
		}),
		newLogin("C-LATE-LOGIN", func(w *guarded.World, _ *trial.Login) {
			w.Free = func(r *guarded.Request) bool { return r.Tool == "" }
		}, judgeLate).calling("echo", "write"),
		newLogin("C-SERVER-MOVES", func(w *guarded.World, _ *trial.Login) {
			w.Before["write"] = func() {
				w.Expire()
				w.First.Forget()
				w.Metadata["authorization_servers"] = []string{w.Second.Issuer}
				w.Trust = func(t *guarded.Token) bool { return t.Issuer == w.Second }
			}
		}, judgeMove).calling("echo", "write"),
		newLogin("C-CALL-REDIRECT", func(w *guarded.World, _ *trial.Login) {
			w.Handlers[guarded.Resource+guarded.Endpoint+" echo"] = redirected(w.Elsewhere + "/mcp")
		}, func(v *view) {
			if !v.called("echo") {
				return
			}
			sent := ""
			for _, r := range v.All(func(r *guarded.Request) bool { return r.Host == guarded.Elsewhere }) {
				if r.Header.Get("Authorization") != "" {
					sent = r.Where() + " with Authorization"
				}
			}
			v.Check("C-AUTH-21/redirect", sent == "", "no token", sent)
		}),
	}
}

// many is how many calls are in flight when a token expires.
const many = 8

func atOnce() login {
	s := newLogin("C-REFRESH-ONCE", func(w *guarded.World, _ *trial.Login) { w.Before["write"] = w.Expire }, func(v *view) {
		calls := v.World.Calls("write")
		if len(calls) == 0 {
			v.Unknown("write was not called")
			return
		}
		renewals, logins := len(v.Tokens("refresh_token")), len(v.Logins())
		v.Check("C-AUTH-24/single", renewals+logins == 2, "one token request with the refresh token, or one more login",
			fmt.Sprintf("%s, %s", count(renewals, "token request"), count(logins-1, "login")))
		passed := 0
		for _, r := range calls {
			if !r.Refused() {
				passed++
			}
		}
		v.Check("C-AUTH-24/all", passed == many && v.result(1), "eight calls that pass, and their results", fmt.Sprintf("%d%s", passed, v.said(1)))
	}).calling("echo", "write")
	s.times = many
	return s
}

func judgeExpiry(v *view) {
	if !v.exchanged() {
		return
	}
	renewals := v.Tokens("refresh_token")
	if len(renewals) == 0 {
		v.Check("C-AUTH-24/refreshed", false, "two token requests with a refresh token", "none")
		for _, id := range []string{"C-AUTH-24/rotated", "C-AUTH-10/refresh"} {
			v.Skip(id, "the client does not renew tokens")
		}
	} else {
		n := len(v.Logins())
		v.Check("C-AUTH-24/refreshed", len(renewals) == 2 && n == 1, "two token requests with a refresh token, and one login", fmt.Sprintf("%s, %s", count(len(renewals), "token request"), count(n, "authorization request")))
		used := map[string]bool{}
		again := false
		for _, r := range renewals {
			value := r.Form.Get("refresh_token")
			again = again || used[value]
			used[value] = true
		}
		v.Check("C-AUTH-24/rotated", !again, "a refresh token that was not used before", "one that was")
		resource := v.Base + guarded.Endpoint
		v.Check("C-AUTH-10/refresh", renewals[0].Form.Get("resource") == resource, "resource="+resource, "resource="+renewals[0].Form.Get("resource"))
	}
	judgeResent(v, "C-AUTH-24/resent", 0, 1)
}

// judgeResent decides a check: calls that were refused once are sent again once.
func judgeResent(v *view, id string, calls ...int) {
	for _, i := range calls {
		sent := v.World.Calls(toolNames[i])
		switch {
		case len(sent) == 0:
			v.Unknown(toolNames[i] + " was not called")
			return
		case len(sent) != 2 || sent[0].ID != sent[1].ID || sent[1].Refused() || !v.result(i):
			ids := ""
			for _, r := range sent {
				ids += " " + r.ID
			}
			v.Check(id, false, "two requests with one id, and the result", fmt.Sprintf("%s, id%s%s", count(len(sent), "request"), ids, v.said(i)))
			return
		}
	}
	v.Check(id, true, "", "")
}

// judgeBounded decides a check: a client whose tokens are all refused stops.
func judgeBounded(v *view, id string) {
	if !v.hasLogin() {
		return
	}
	n := len(v.Logins())
	last := len(v.outcomes) - 1
	v.Check(id, n <= 3 && (v.failed(last) || !v.hasLines && v.exited), "at most three authorization requests, and an error", count(n, "authorization request")+v.said(last))
}

func judgeLate(v *view) {
	calls := v.World.Calls("echo")
	if len(calls) == 0 {
		v.Unknown("echo was not called")
		return
	}
	judgeResent(v, "C-AUTH-24/late", 0)
	opened, session := 0, true
	for _, r := range v.Messages() {
		if r.RPC == "initialize" {
			opened++
		}
	}
	if len(calls) > 1 {
		session = calls[0].Header.Get("Mcp-Session-Id") == calls[1].Header.Get("Mcp-Session-Id")
	}
	v.Check("C-AUTH-24/session", opened <= 1 && session, "one initialize, and the same session id", fmt.Sprintf("%d initialize, the same session id: %t", opened, session))
	if len(v.World.Calls("write")) > 0 {
		judgeHeader(v, "C-AUTH-02/after", calls[0])
	}
}

func judgeMove(v *view) {
	at := func(host string) []*guarded.Request {
		return v.All(func(r *guarded.Request) bool { return r.Host == host })
	}
	if !v.called("write") {
		return
	}
	v.served("C-AUTH-16/served", 1)
	if len(at(guarded.Second)) == 0 {
		v.Unknown("nothing was asked of the new authorization server")
		return
	}
	if len(v.At(guarded.First, "/register")) == 0 {
		v.Skip("C-AUTH-16/anew", "the client does not register")
	} else {
		v.Check("C-AUTH-16/anew", len(v.At(guarded.Second, "/register")) > 0, "POST /register there", "none")
	}
	ids := map[string]bool{}
	for _, r := range at(guarded.First) {
		if r.Path == "/authorize" {
			ids[r.Query.Get("client_id")] = true
		}
	}
	kept := ""
	for _, r := range at(guarded.Second) {
		if id := r.Query.Get("client_id"); ids[id] && len(v.At(guarded.First, "/register")) > 0 {
			kept = "the client id"
		}
		if token := r.Form.Get("refresh_token"); token != "" && v.From(token) != v.Second {
			kept = "the refresh token"
		}
	}
	v.Check("C-AUTH-16/kept", kept == "", "nothing of the first", kept)
}
