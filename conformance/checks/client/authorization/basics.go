package authorization

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/checks/client/authorization/internal/guarded"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// basics judges one login. It also shows whether a client logs in at all.
func basics() []login {
	return []login{newLogin("C-LOGIN", nil, judgeLogin)}
}

func judgeLogin(v *view) {
	v.served("C-AUTH-03/served", 0)
	judgeHeader(v, "C-AUTH-02/header", nil)
	judgeQuery(v)
	logins, tokens := v.Logins(), v.Tokens("authorization_code")
	v.Check("C-AUTH-24/login", len(logins) <= 1, "one authorization request", count(len(logins), "authorization request"))
	if paths := v.Paths(guarded.First); len(paths) > 0 {
		v.Check("C-AUTH-08/paths", paths[0] == "/.well-known/oauth-authorization-server", "GET /.well-known/oauth-authorization-server first", paths[0])
	}
	judgeRegistration(v)
	if !v.hasLogin() {
		return
	}
	asked := logins[0].Query
	challenge := asked.Get("code_challenge")
	v.Check("C-AUTH-09/challenge", challenge != "" && asked.Get("code_challenge_method") == "S256", "code_challenge_method S256", "code_challenge_method "+asked.Get("code_challenge_method"))
	resource := v.Base + guarded.Endpoint
	v.Check("C-AUTH-10/authorization", slices.Equal(asked["resource"], []string{resource}), "resource="+resource, names(asked["resource"]))
	v.Check("C-AUTH-11/state", len(asked.Get("state")) >= 16, "a state of 16 characters or more", count(len(asked.Get("state")), "character"))
	redirect := asked.Get("redirect_uri")
	v.Check("C-AUTH-22/redirect", safeRedirect(redirect), "https, or http on this machine", redirect)
	v.Check("C-AUTH-19/offline", !slices.Contains(strings.Fields(asked.Get("scope")), "offline_access"), "no offline_access", asked.Get("scope"))
	judgeSentAgain(v)
	if len(tokens) == 0 {
		v.Unknown("no code was exchanged")
		return
	}
	form := tokens[0].Form
	verifier := form.Get("code_verifier")
	v.Check("C-AUTH-09/verifier", unreserved(verifier) && guarded.Challenge(verifier) == challenge,
		"43 to 128 unreserved characters whose SHA-256 is the challenge", fmt.Sprintf("a verifier of %d characters for the challenge %s", len(verifier), challenge))
	v.Check("C-AUTH-10/token", slices.Equal(form["resource"], []string{resource}), "resource="+resource, names(form["resource"]))
	v.Check("C-AUTH-22/same", !form.Has("redirect_uri") || form.Get("redirect_uri") == redirect, redirect, form.Get("redirect_uri"))
}

// unreserved reports whether a verifier has the form of RFC 7636 section 4.1.
func unreserved(verifier string) bool {
	return len(verifier) >= 43 && len(verifier) <= 128 && strings.Trim(verifier, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~") == ""
}

func safeRedirect(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname())
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// judgeHeader decides a check: every request to the server has a token, after the first
// one that was accepted after start.
func judgeHeader(v *view, id string, start *guarded.Request) {
	in := false
	for _, r := range v.All(func(r *guarded.Request) bool { return r.Host == guarded.Resource && r.Path == guarded.Endpoint }) {
		if start != nil && r.Seq <= start.Seq {
			continue
		}
		_, token := r.Bearer()
		if in && v.Issued(token) == nil {
			v.Check(id, false, "Authorization: Bearer with the token", r.Method+" "+r.RPC+" without it")
			return
		}
		in = in || token != "" && !r.Refused()
	}
	if in {
		v.Check(id, true, "", "")
	}
}

func judgeQuery(v *view) {
	logged := false
	for _, r := range v.All(nil) {
		for name, values := range r.Query {
			if name == "access_token" || slices.ContainsFunc(values, func(s string) bool { return v.Issued(s) != nil }) {
				v.Check("C-AUTH-02/query", false, "no token in the query", r.Where()+" has one in "+name)
				return
			}
		}
		_, token := r.Bearer()
		logged = logged || v.Issued(token) != nil
	}
	if logged {
		v.Check("C-AUTH-02/query", true, "", "")
	}
}

func judgeRegistration(v *view) {
	made := v.At(guarded.First, "/register")
	if len(made) == 0 {
		for _, id := range []string{"C-AUTH-15/redirects", "C-AUTH-15/type", "C-AUTH-15/refresh"} {
			v.Skip(id, "the client does not register")
		}
		return
	}
	var body struct {
		Redirects []string `json:"redirect_uris"`
		Type      string   `json:"application_type"`
		Grants    []string `json:"grant_types"`
	}
	_ = json.Unmarshal(made[0].Body, &body) // not JSON: nothing in it
	redirect := ""
	if logins := v.Logins(); len(logins) > 0 {
		redirect = logins[0].Query.Get("redirect_uri")
	}
	v.Check("C-AUTH-15/redirects", len(body.Redirects) > 0 && (redirect == "" || slices.ContainsFunc(body.Redirects, func(s string) bool { return sameRedirect(s, redirect) })), redirect, names(body.Redirects))
	want := "native"
	if !slices.ContainsFunc(body.Redirects, func(s string) bool { u, err := url.Parse(s); return err == nil && loopback(u.Hostname()) }) {
		want = body.Type // a web application has its own type
	}
	v.Check("C-AUTH-15/type", body.Type != "" && body.Type == want, "application_type native", "application_type "+body.Type)
	v.Check("C-AUTH-15/refresh", slices.Contains(body.Grants, "refresh_token"), "refresh_token in grant_types", names(body.Grants))
}

// sameRedirect reports whether a registered redirect URI allows another: the port of one
// on this machine is free (RFC 8252 section 7.3).
func sameRedirect(registered, used string) bool {
	a, err := url.Parse(registered)
	b, err2 := url.Parse(used)
	if err != nil || err2 != nil {
		return false
	}
	if loopback(a.Hostname()) && a.Scheme == "http" {
		return a.Scheme == b.Scheme && a.Hostname() == b.Hostname() && a.Path == b.Path
	}
	return registered == used
}

// judgeSentAgain judges the request that got 401, and the requests after the login.
func judgeSentAgain(v *view) {
	all := v.Messages()
	i := slices.IndexFunc(all, (*guarded.Request).Refused)
	if i < 0 {
		return
	}
	var again []*guarded.Request
	for _, r := range all[i+1:] {
		if r.RPC == all[i].RPC && r.Tool == all[i].Tool && !r.Refused() {
			again = append(again, r)
		}
	}
	v.Check("C-AUTH-24/once", len(again) == 1, "one "+all[i].RPC+" with the token", fmt.Sprint(len(again)))
	if len(again) > 0 {
		v.Check("C-AUTH-24/same", again[0].ID == all[i].ID, "id "+all[i].ID, "id "+again[0].ID)
	}
	passed := slices.DeleteFunc(all, (*guarded.Request).Refused)
	var order []string
	for _, r := range passed {
		if v.Revision.Era() == mcp.EraSession && r.RPC == mcp.MethodDiscover {
			continue // a client of both eras probes for the era
		}
		order = append(order, r.RPC)
	}
	if len(order) == 0 {
		return
	}
	ok := true
	if slices.Contains(order, "initialize") {
		ok = order[0] == "initialize" && len(order) > 1 && order[1] == "notifications/initialized" && !slices.Contains(order[1:], "initialize")
	}
	v.Check("C-AUTH-24/order", ok, "initialize, notifications/initialized, then the rest", names(order))
}

// judgeOutput looks for secrets in the output of all logins, and at hosts that must not get
// them.
func judgeOutput(t *trial.Trial, all []*trial.Trial) {
	if t.NoLogin != "" {
		t.SkipAll(t.NoLogin)
		return
	}
	printed, sent, hasTokens := "", "", false
	for _, other := range all {
		v, is := other.View.(*view)
		if !is {
			continue
		}
		hasTokens = hasTokens || len(v.Tokens("")) > 0
		if out := v.Leaked(v.output); len(out) > 0 && printed == "" {
			slices.Sort(out)
			printed = names(out)
		}
		for _, r := range v.All(func(r *guarded.Request) bool { return r.Host == guarded.Elsewhere }) {
			if what := v.Leaked(text(r)); len(what) > 0 && sent == "" {
				sent = names(what) + " at " + r.Where()
			}
		}
	}
	if t.Needs(hasTokens, "the client got no token") {
		t.Check("C-AUTH-25/printed", printed == "", "no secret in the output", printed)
		t.Check("C-AUTH-21/elsewhere", sent == "", "no secret", sent)
	}
}

// text returns the whole request as text.
func text(r *guarded.Request) string {
	var b strings.Builder
	_ = r.Header.Write(&b) // a Builder does not fail
	return b.String() + r.Query.Encode() + r.Form.Encode() + string(r.Body)
}

// redirected answers with a redirect that keeps method and body.
func redirected(to string) http.HandlerFunc {
	return guarded.Redirect(to, http.StatusTemporaryRedirect)
}
