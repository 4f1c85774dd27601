package grant

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

const (
	grantTokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeAccessToken    = "urn:ietf:params:oauth:token-type:access_token"
	typeNotApplicable  = "N_A" // RFC 8693 §2.2.1: the issued token is not an access token
	typeBearer         = "Bearer"
	typeDPoP           = "DPoP"
	nonceWanted        = "use_dpop_nonce"
	formType           = "application/x-www-form-urlencoded"

	// longestLife limits expires_in: a larger number is a mistake, and would overflow.
	longestLife = 10 * 365 * 24 * time.Hour
)

// Endpoint is the token endpoint of one authorization server. It is safe for concurrent use.
type Endpoint struct {
	HTTP     *fetch.Client
	TokenURL string
	Issuer   string   // audience of client assertions; empty: TokenURL
	Methods  []string // token_endpoint_auth_methods_supported
	Algs     []string // token_endpoint_auth_signing_alg_values_supported
	Proof    *Prover  // nil: no DPoP
}

func (e *Endpoint) audience() string {
	if e.Issuer != "" {
		return e.Issuer
	}
	return e.TokenURL
}

// Exchange requests a token with any grant. params are those of the grant; Exchange adds the
// client's own. A refusal is an *Error.
//
// Exchange repeats the request once if the server requires a nonce in DPoP proofs, and once if the
// server refuses a secret whose method was assumed. Then c keeps the method that worked. It
// repeats nothing else.
func (e *Endpoint) Exchange(ctx context.Context, c *Client, grantType string, params url.Values) (*Token, error) {
	form := copied(params)
	form.Set("grant_type", grantType)
	answer, sent, err := e.post(ctx, c, e.TokenURL, form)
	if err != nil {
		return nil, err
	}
	want := wanted{dpop: e.Proof != nil, other: grantType == grantTokenExchange && form.Get("requested_token_type") != typeAccessToken}
	return parseToken(e.TokenURL, answer, sent, want, time.Now())
}

// copied returns a copy of params, to which the client's authentication is added.
func copied(params url.Values) url.Values {
	form := url.Values{}
	maps.Copy(form, params)
	return form
}

// post sends a form with the client's authentication, which it adds to the form. If the server
// lists no methods of authentication and refuses the secret in the header, post sends it once more
// in the form, because many servers accept it only there. c keeps the method that worked.
func (e *Endpoint) post(ctx context.Context, c *Client, to string, form url.Values) (*fetch.Answer, secrets, error) {
	method, err := e.method(c)
	if err != nil {
		return nil, nil, err
	}
	answer, sent, err := e.send(ctx, c, method, to, form)
	assumed := c.Method == "" && len(e.Methods) == 0 && method == MethodBasic
	if err != nil || !assumed || !refusedClient(to, answer, sent) {
		return answer, sent, err
	}
	// The server has not used the grant: a code in the form is still valid (RFC 6749 §4.1.3).
	answer, sent, err = e.send(ctx, c, MethodPost, to, form)
	if err == nil && !refusedClient(to, answer, sent) {
		c.Method = MethodPost
	}
	return answer, sent, err
}

func refusedClient(endpoint string, a *fetch.Answer, sent secrets) bool {
	return refusal(endpoint, a, sent).Code == "invalid_client"
}

// send makes one request of post, and another if the server sets a new nonce for the DPoP proof.
func (e *Endpoint) send(ctx context.Context, c *Client, method, to string, form url.Values) (*fetch.Answer, secrets, error) {
	for again := false; ; again = true {
		header := http.Header{"Accept": {"application/json"}}
		added, err := e.identify(c, method, form, header)
		if err != nil {
			return nil, nil, err
		}
		sent := append(secretsOf(form), added...)
		nonce := ""
		if e.Proof != nil {
			nonce = e.Proof.Nonce(to)
			proof, err := e.Proof.Proof(http.MethodPost, to, "", nonce)
			if err != nil {
				return nil, nil, err
			}
			header.Set("DPoP", proof)
			sent = append(sent, proof)
		}
		answer, err := e.HTTP.Post(ctx, to, formType, []byte(form.Encode()), header)
		if err != nil {
			return nil, nil, err
		}
		if e.Proof == nil {
			return answer, sent, nil
		}
		e.Proof.SetNonce(to, answer.Header.Get("DPoP-Nonce"))
		if again || e.Proof.Nonce(to) == nonce || good(answer) || refusal(to, answer, sent).Code != nonceWanted {
			return answer, sent, nil
		}
	}
}

func good(a *fetch.Answer) bool { return a.Status >= 200 && a.Status <= 299 }

// granted returns the members of a successful answer. A refusal, which may have status
// 200, is an *Error.
func granted(endpoint string, a *fetch.Answer, sent secrets) (members, error) {
	if !good(a) {
		return nil, refusal(endpoint, a, sent)
	}
	m, ok := readMembers(a)
	switch {
	case !ok:
		return nil, wrongAt(endpoint)("it is not a JSON object")
	case m.text("error") != "":
		return nil, refusal(endpoint, a, sent)
	}
	return m, nil
}

// wrongAt returns a function that makes the error of an unusable answer.
func wrongAt(endpoint string) func(reason string) error {
	return func(reason string) error { return &AnswerError{Endpoint: reduce(endpoint), Reason: reason} }
}

// wanted is the kind of token that was requested.
type wanted struct {
	dpop  bool // bound to a key
	other bool // a token exchange requested another type than an access token
}

// tokenType checks the token_type of an answer. A token of a type that was not requested must not
// be used (RFC 6749 §7.1, RFC 9449 §5). The type is required, but some servers omit it. Then the
// token is a Bearer token, and not bound to a key.
func (w wanted) tokenType(kind string) (is, wrong string) {
	switch {
	case w.other && strings.EqualFold(kind, typeNotApplicable):
		return typeNotApplicable, ""
	case strings.EqualFold(kind, typeNotApplicable):
		return "", "its token_type is N_A: what it issued is no access token"
	case !w.dpop && (kind == "" || strings.EqualFold(kind, typeBearer)):
		return typeBearer, ""
	case w.dpop && strings.EqualFold(kind, typeDPoP):
		return typeDPoP, ""
	case w.dpop && (kind == "" || strings.EqualFold(kind, typeBearer)):
		return "", "its token_type is not DPoP, and a token that is bound to a key was asked for"
	case strings.EqualFold(kind, typeDPoP):
		return "", "its token_type is DPoP, and a token that is bound to no key was asked for"
	}
	return "", "its token_type is one that no client of MCP can use"
}

// parseToken reads the answer of a token endpoint. It accepts what real servers send: no lifetime,
// numbers as strings, and scopes as a list.
func parseToken(endpoint string, a *fetch.Answer, sent secrets, want wanted, now time.Time) (*Token, error) {
	wrong := wrongAt(endpoint)
	m, err := granted(endpoint, a, sent)
	if err != nil {
		return nil, err
	}
	t := &Token{
		Access:     Hide(m.text("access_token")),
		Refresh:    Hide(m.text("refresh_token")),
		IDToken:    Hide(m.text("id_token")),
		IssuedType: printable(m.text("issued_token_type"), longestDescription),
		Scope:      m.words("scope"),
	}
	if t.Access.Empty() {
		return nil, wrong("it has no access_token")
	}
	for _, secret := range []Secret{t.Access, t.Refresh, t.IDToken} {
		if !secret.Empty() && !visible(secret.Text()) {
			return nil, wrong("a token has characters that no header can carry")
		}
	}
	var mismatch string
	if t.Type, mismatch = want.tokenType(m.text("token_type")); mismatch != "" {
		return nil, wrong(mismatch)
	}
	t.Expiry = m.expiry(now)
	return t, nil
}

// Revoke revokes a token (RFC 7009). The hint is "access_token", "refresh_token" or empty. Servers
// also report success for an unknown token. It is not an error if the server cannot revoke tokens
// of this kind: they expire, as with a server without the endpoint.
func Revoke(ctx context.Context, e *Endpoint, c *Client, revocationURL, token, hint string) error {
	form := url.Values{"token": {token}}
	if hint != "" {
		form.Set("token_type_hint", hint)
	}
	answer, sent, err := e.post(ctx, c, revocationURL, form)
	if err != nil {
		return err
	}
	if good(answer) {
		return nil
	}
	refused := refusal(revocationURL, answer, sent)
	if refused.Code == "unsupported_token_type" && refused.Status == http.StatusBadRequest {
		return nil // §2.2.1: mostly for JWTs, which the server does not store
	}
	return refused
}
