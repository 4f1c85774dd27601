package suitetest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance"
	httpchecks "github.com/mainstay-mcp/mainstay/conformance/checks/http"
	"github.com/mainstay-mcp/mainstay/conformance/internal/rawjson"
	"github.com/mainstay-mcp/mainstay/conformance/internal/wire"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The tokens that the guard of the fakes knows.
const (
	ownToken      = "of-the-test"
	credential    = "Bearer " + ownToken
	weakToken     = "of-the-test-and-weak"
	audienceToken = "of-the-test-for-another"
)

// refusal is how the guard answers a request.
type refusal struct {
	status    int
	challenge string // of WWW-Authenticate; "" for none
	metadata  reply
	media     string // of the metadata
}

// guarded lets through who has the credential, and tells others what to get. change
// plants a defect into the answers, open into the decision who may pass.
func guarded(change func(r *http.Request, no *refusal), open ...func(r *http.Request) bool) func(next http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			at := "http://" + r.Host
			given := r.Header.Values("Authorization")
			scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			about := `resource_metadata="` + at + httpchecks.WellKnownResource + `/mcp", scope="all"`
			no := refusal{status: http.StatusUnauthorized, challenge: "Bearer " + about, media: wire.MediaJSON, metadata: reply{
				"resource": at + "/mcp", "authorization_servers": []any{"https://login.example"}, "scopes_supported": []any{"all"},
			}}
			lets := len(given) == 1 && strings.EqualFold(scheme, "Bearer") && token == ownToken
			switch {
			case token == weakToken:
				no.status, no.challenge = http.StatusForbidden, `Bearer error="insufficient_scope", `+about
			case len(given) > 0:
				no.challenge = `Bearer error="invalid_token", error_description="nobody issued it", ` + about
			}
			change(r, &no)
			isMetadata := strings.HasPrefix(r.URL.Path, httpchecks.WellKnownResource) && len(no.metadata) > 0
			for _, f := range open {
				lets = lets || !isMetadata && f(r)
			}
			switch {
			case lets:
				r.Header["Authorization"] = []string{credential} // a guard behind this one lets it through, too
				next.ServeHTTP(w, r)
			case isMetadata:
				w.Header().Set("Content-Type", no.media)
				_, _ = w.Write(rawjson.Encode(no.metadata)) // a client that has gone reads nothing
			default:
				if no.challenge != "" {
					w.Header().Set("Www-Authenticate", no.challenge)
				}
				w.WriteHeader(no.status)
			}
		})
	}
}

// sound is the guard without a defect.
func sound(*http.Request, *refusal) {}

// behind is the reference server behind a guard, which is sound beside its defect.
func behind(guard func(next http.Handler) http.Handler) rewritten {
	return rewritten{
		http: guard, base: guarded(sound), header: http.Header{"Authorization": {credential}},
		opts: func(o *conformance.Options) {
			o.Fixtures = map[string]any{conformance.WeakToken: weakToken, conformance.WrongAudienceToken: audienceToken}
		},
	}
}

func authorizationRewrites() map[string]rewritten {
	wrong := func(change func(no *refusal)) rewritten {
		return behind(guarded(func(_ *http.Request, no *refusal) { change(no) }))
	}
	set := func(member string, value any) rewritten {
		return wrong(func(no *refusal) { no.metadata[member] = value })
	}
	challenge := func(text string) rewritten { return wrong(func(no *refusal) { no.challenge = text }) }
	without := func(text string) rewritten {
		return wrong(func(no *refusal) { no.challenge = strings.ReplaceAll(no.challenge, text, "") })
	}
	// status is the answer to requests that come with what fits.
	status := func(code int, fits func(given []string) bool) rewritten {
		return behind(guarded(func(r *http.Request, no *refusal) {
			if fits(r.Header.Values("Authorization")) {
				no.status = code
			}
		}))
	}
	opened := func(open func(r *http.Request) bool) rewritten { return behind(guarded(sound, open)) }
	has := func(text string) func([]string) bool {
		return func(given []string) bool { return strings.Contains(strings.Join(given, " "), text) }
	}
	// jwt finds those with a signature, or those without one.
	jwt := func(signed bool) func(r *http.Request) bool {
		return func(r *http.Request) bool {
			parts := strings.Split(r.Header.Get("Authorization"), ".")
			return len(parts) == 3 && (parts[2] != "") == signed
		}
	}
	early := challenge("Bearer")
	early.revision = mcp.Version2025_06_18
	get := opened(func(r *http.Request) bool { return r.Method == http.MethodGet })
	get.revision = mcp.LatestSession
	exact := behind(func(next http.Handler) http.Handler {
		guard := guarded(sound)(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.Header.Get("Authorization"), "bearer") {
				r.Header.Del("Authorization")
			}
			guard.ServeHTTP(w, r)
		})
	})
	return map[string]rewritten{
		"AUTH-02/case":      exact,
		"AUTH-02/query":     opened(func(r *http.Request) bool { return r.URL.Query().Get("access_token") == ownToken }),
		"AUTH-02/get":       get,
		"AUTH-02/session":   opened(func(r *http.Request) bool { return r.Header.Get(wire.HeaderSession) != "" }),
		"AUTH-02/none":      status(http.StatusForbidden, func(given []string) bool { return len(given) == 0 }),
		"AUTH-02/invalid":   status(http.StatusForbidden, has("Bearer mainstay-conformance")),
		"AUTH-02/code":      without(`error="invalid_token", `),
		"AUTH-02/unsigned":  opened(jwt(false)),
		"AUTH-02/signature": opened(jwt(true)),
		"AUTH-02/malformed": status(http.StatusInternalServerError, func(given []string) bool { return len(given) == 1 && given[0] == "Bearer" }),
		"AUTH-03/header":    challenge(""),
		"AUTH-03/syntax":    challenge(`Bearer scope="all", scope="more"`),
		"AUTH-03/bearer":    challenge(`Basic realm="mcp"`),
		"AUTH-03/quiet":     challenge(`Bearer error="invalid_token"`),
		"AUTH-03/challenge": early,
		"AUTH-04/metadata":  wrong(func(no *refusal) { clear(no.metadata) }),
		"AUTH-04/told": wrong(func(no *refusal) {
			no.challenge = strings.ReplaceAll(no.challenge, httpchecks.WellKnownResource, "/nowhere")
		}),
		"AUTH-04/type":      wrong(func(no *refusal) { no.media = "text/html" }),
		"AUTH-05/resource":  set("resource", "mcp"),
		"AUTH-05/own":       set("resource", "https://elsewhere.example/mcp"),
		"AUTH-06/servers":   set("authorization_servers", []any{}),
		"AUTH-06/https":     set("authorization_servers", []any{"https://login.example", "http://login.example"}),
		"AUTH-17/supported": set("scopes_supported", "all more"),
		"AUTH-17/scope":     without(`, scope="all"`),
		"AUTH-19/offline":   set("scopes_supported", []any{"all", "offline_access"}),
		"AUTH-18/refused":   opened(func(r *http.Request) bool { return has(weakToken)(r.Header.Values("Authorization")) }),
		"AUTH-18/code":      without(`error="insufficient_scope", `),
		"AUTH-18/scope":     without(`, scope="all"`),
		"AUTH-18/metadata":  wrong(func(no *refusal) { no.challenge = `Bearer error="insufficient_scope", scope="all"` }),
		"AUTH-21/audience":  opened(func(r *http.Request) bool { return has(audienceToken)(r.Header.Values("Authorization")) }),
		"AUTH-21/status":    status(http.StatusForbidden, has(audienceToken)),
	}
}

// TestMoreOpenDoors: the same checks notice what is wrong in other ways, too.
func TestMoreOpenDoors(t *testing.T) {
	t.Parallel()
	type request = http.Request
	odd := func(text string) func(*request, *refusal) {
		return func(_ *request, no *refusal) { no.challenge = text }
	}
	to := func(status int, given ...string) func(*request, *refusal) {
		return func(r *request, no *refusal) {
			if strings.Join(r.Header.Values("Authorization"), "|") == strings.Join(given, "|") {
				no.status = status
			}
		}
	}
	const nobody = "mainstay-conformance-nobody-issued-this"
	member := func(name string, value any) func(*request, *refusal) {
		return func(_ *request, no *refusal) { no.metadata[name] = value }
	}
	for _, tt := range []struct {
		name, check string
		guard       func(next http.Handler) http.Handler
		want        conformance.Status
	}{
		{"a URL without quotes", "AUTH-03/syntax", guarded(odd("Bearer resource_metadata=http://127.0.0.1/x")), conformance.Fail},
		{"a description in German", "AUTH-03/syntax", guarded(odd("Bearer error_description=\"ung\u00fcltig\"")), conformance.Fail},
		{"a description with quotes", "AUTH-03/syntax", guarded(odd(`Bearer error_description="no \"x\""`)), conformance.Fail},
		{"scopes with a comma", "AUTH-03/syntax", guarded(odd(`Bearer scope="a,b"`)), conformance.Pass},
		{"scopes with spaces", "AUTH-03/syntax", guarded(odd(`Bearer scope=" a  b"`)), conformance.Fail},
		{"another scheme before", "AUTH-03/bearer", guarded(odd(`Negotiate abc==, DPoP algs="ES256", Basic realm="x"`)), conformance.Pass},
		{"a list of one server as a text", "AUTH-06/servers", guarded(member("authorization_servers", "https://login.example")), conformance.Fail},
		{"a server of this machine", "AUTH-06/https", guarded(member("authorization_servers", []any{"http://127.0.0.1:9000"})), conformance.Pass},
		{"scopes that are no texts", "AUTH-17/supported", guarded(member("scopes_supported", []any{1})), conformance.Fail},
		{"404 for a bad token", "AUTH-02/invalid", guarded(to(http.StatusNotFound, "Bearer "+nobody)), conformance.Fail},
		{"500 for a quoted token", "AUTH-02/malformed", guarded(to(http.StatusInternalServerError, `Bearer "`+nobody+`"`)), conformance.Fail},
		{"403 for another scheme", "AUTH-02/malformed", guarded(to(http.StatusForbidden, "Basic bWFpbnN0YXk6bWFpbnN0YXk=")), conformance.Fail},
		{"500 for two headers", "AUTH-02/malformed", guarded(to(http.StatusInternalServerError, "Bearer "+nobody, "Bearer "+nobody)), conformance.Fail},
		{"400 for all of that", "AUTH-02/malformed", guarded(func(_ *request, no *refusal) { no.status = http.StatusBadRequest }), conformance.Skip},
		{"a weak token is no token", "AUTH-18/refused", guarded(to(http.StatusUnauthorized, "Bearer "+weakToken)), conformance.Fail},
		{"too many bad tokens", "AUTH-02/malformed", guarded(to(http.StatusTooManyRequests, "Bearer")), conformance.Inconclusive},
		{"nobody to ask", "AUTH-02/signature", guarded(func(r *request, no *refusal) {
			if strings.Contains(r.Header.Get("Authorization"), ".") {
				no.status = http.StatusServiceUnavailable
			}
		}), conformance.Inconclusive},
		{"no guard", "AUTH-02/none", func(next http.Handler) http.Handler { return next }, conformance.Skip},
		{"no guard for a token", "AUTH-21/audience", func(next http.Handler) http.Handler { return next }, conformance.Skip},
		{"elsewhere by a redirect", "AUTH-04/metadata", redirected("http://localhost:1/"), conformance.Warn},
		{"below by a redirect", "AUTH-04/metadata", redirected(httpchecks.WellKnownResource), conformance.Pass},
		{"in a circle", "AUTH-04/metadata", redirected(httpchecks.WellKnownResource + "/mcp"), conformance.Warn},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := behind(tt.guard)
			r.base = nil
			got := r.judge(t, tt.check)
			require.Equal(t, tt.want, got.Status, "%+v", got)
		})
	}
}

// redirected has the metadata at another place than the challenge says, and nowhere else.
func redirected(to string) func(next http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		guard := guarded(sound)(next)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == httpchecks.WellKnownResource+"/mcp":
				http.Redirect(w, r, to, http.StatusFound)
			case r.URL.Path == httpchecks.WellKnownResource && to != httpchecks.WellKnownResource:
				http.NotFound(w, r)
			default:
				guard.ServeHTTP(w, r)
			}
		})
	}
}

// TestTokensOfAnotherKind: what cannot be judged is left out, with the reason.
func TestTokensOfAnotherKind(t *testing.T) {
	t.Parallel()
	r := behind(guarded(sound, func(r *http.Request) bool { return r.Header.Get("X-Key") == "k" }))
	r.base, r.header = nil, http.Header{"X-Key": {"k"}}
	got := r.judge(t, "AUTH-02/query")
	require.Equal(t, conformance.Skip, got.Status)
	require.Equal(t, conformance.SkipControl, got.Reason)
	r.opts = nil
	for id, option := range map[string]string{"AUTH-18/refused": "--weak-token", "AUTH-21/audience": "--wrong-audience-token"} {
		got := r.judge(t, id)
		require.Equal(t, conformance.SkipControl, got.Reason)
		require.Contains(t, got.Detail, option)
	}
}

// TestWeakForOneTool: a scope that only a call needs is found by calling tools, with
// permission.
func TestWeakForOneTool(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
		r := behind(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					return
				}
				r.Body = io.NopCloser(bytes.NewReader(body))
				guarded(sound, func(r *http.Request) bool {
					return r.Header.Get("Authorization") == "Bearer "+weakToken && !bytes.Contains(body, []byte(mcp.MethodToolsCall))
				})(next).ServeHTTP(w, r)
			})
		})
		r.base, r.revision = nil, revision
		require.Equal(t, conformance.Pass, r.judge(t, "AUTH-18/refused").Status, revision)
	}
}
