package clientsuite_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// registration is how the client is known at one authorization server.
type registration struct {
	ID     string `json:"client_id"`
	Secret string `json:"client_secret"`
	Method string `json:"token_endpoint_auth_method"`
}

// registered returns who this client is there.
func (c *toyLogin) registered(ctx context.Context, s *server, redirect string) (registration, error) {
	w := c.Way
	switch {
	case c.is("login-always-registers"):
	case w.ClientID != "" && (w.Issuer == s.Issuer || c.is("login-any-client")):
		return registration{w.ClientID, w.ClientSecret, ""}, nil
	case w.ClientID != "":
		return registration{}, errors.New("the client is registered elsewhere")
	case w.ClientMetadata != "" && s.Documents:
		return registration{w.ClientMetadata, "", "none"}, nil
	}
	issuer := s.Issuer
	if c.is("login-keeps-client") {
		issuer = ""
	}
	if r, ok := c.clients[issuer]; ok {
		return r, nil
	}
	if s.Registration == "" {
		if c.is("login-without-client") {
			return registration{"somebody", "", "none"}, nil
		}
		return registration{}, errors.New("the authorization server registers nobody")
	}
	body := map[string]any{
		"client_name": "toy", "redirect_uris": []string{redirect}, "application_type": "native",
		"grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
	}
	switch {
	case c.is("login-no-redirects"):
		delete(body, "redirect_uris")
	case c.is("login-no-type"):
		delete(body, "application_type")
	case c.is("login-no-refresh-grant"):
		body["grant_types"] = []string{"authorization_code"}
	}
	raw, _ := json.Marshal(body)
	tries := 1
	if c.is("login-registers-forever") {
		tries = 10
	}
	var r registration
	for range tries {
		a, err := c.exchange(ctx, http.MethodPost, s.Registration, raw, http.Header{"Content-Type": {"application/json"}}, 0)
		if err != nil {
			return registration{}, err
		}
		if a.status == http.StatusCreated && json.Unmarshal(a.body, &r) == nil && r.ID != "" {
			c.clients[issuer] = r
			return r, nil
		}
	}
	return registration{}, errors.New("the registration was refused")
}

func random() string {
	var b [32]byte
	_, _ = rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// person is the authorization code flow with PKCE.
func (c *toyLogin) person(ctx context.Context, at *place, scopes []string) error {
	s := at.server
	redirect := "http://127.0.0.1:7/callback"
	if c.is("login-foreign-redirect") {
		redirect = "http://client.example/callback"
	}
	r, err := c.registered(ctx, s, redirect)
	if err != nil {
		return err
	}
	if len(s.Proofs) == 0 && c.Way.DPoP {
		return errors.New("there is no DPoP")
	}
	verifier := random()
	if c.is("login-short-verifier") {
		verifier = verifier[:20]
	}
	sum := sha256.Sum256([]byte(verifier))
	q := url.Values{
		"response_type": {"code"}, "client_id": {r.ID}, "redirect_uri": {redirect}, "state": {random()}, "resource": {at.resource},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	if len(scopes) > 0 {
		q.Set("scope", strings.Join(scopes, " "))
	}
	switch {
	case c.is("login-plain-pkce"):
		q.Set("code_challenge", verifier)
		q.Set("code_challenge_method", "plain")
	case c.is("login-no-resource"):
		q.Del("resource")
	case c.is("login-short-state"):
		q.Set("state", "1")
	case c.is("login-same-state"):
		if c.state == "" {
			c.state = q.Get("state")
		}
		q.Set("state", c.state)
	}
	code, err := c.visit(ctx, s, q)
	if err != nil {
		return err
	}
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirect}, "code_verifier": {verifier}}
	if c.is("login-other-redirect") {
		form.Set("redirect_uri", redirect+"/other")
	}
	return c.obtain(ctx, at, r, form)
}

// visit is the browser: it returns the code.
func (c *toyLogin) visit(ctx context.Context, s *server, q url.Values) (string, error) {
	if err := c.allowed(s.Authorization); err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Authorization+"?"+q.Encode(), nil)
	if err != nil {
		return "", err
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return "", err
	}
	_ = resp.Body.Close()
	back, err := resp.Location()
	if err != nil || !strings.HasPrefix(back.String(), q.Get("redirect_uri")) {
		return "", errors.New("the login page did not come back")
	}
	a := back.Query()
	if a.Get("state") != q.Get("state") && !c.is("login-any-state") {
		return "", errors.New("the answer is of another login")
	}
	slash := c.is("login-any-slash") && strings.TrimSuffix(a.Get("iss"), "/") == strings.TrimSuffix(s.Issuer, "/")
	switch {
	case c.is("login-any-iss"):
	case a.Has("iss") && a.Get("iss") != s.Issuer && !slash, !a.Has("iss") && (s.Iss || c.is("login-wants-iss")):
		return "", errors.New("the answer is not of this authorization server") // RFC 9207 section 2.4
	}
	if a.Get("error") != "" {
		c.Print(a.Get("error") + ": " + a.Get("error_description"))
		return "", errDenied
	}
	return a.Get("code"), nil
}

// machine is the client credentials flow.
func (c *toyLogin) machine(ctx context.Context, at *place, scopes []string) error {
	if c.Way.Issuer != at.server.Issuer {
		return errors.New("the client is registered elsewhere")
	}
	form := url.Values{"grant_type": {"client_credentials"}}
	if len(scopes) > 0 {
		form.Set("scope", strings.Join(scopes, " "))
	}
	r := registration{c.Way.ClientID, c.Way.ClientSecret, "client_secret_basic"}
	if c.Way.Flow == "private-key-jwt" {
		r.Method = "private_key_jwt"
	}
	return c.obtain(ctx, at, r, form)
}

// refresh renews the token.
func (c *toyLogin) refresh(ctx context.Context) error {
	t := c.token
	at := &place{resource: t.resource, server: t.server}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {t.refresh}}
	err := c.obtain(ctx, at, t.client, form)
	if err == nil && (c.is("login-keeps-refresh") || c.token.refresh == "" && !c.is("login-drops-refresh")) {
		c.token.refresh = t.refresh
	}
	return err
}

// obtain makes a token request.
func (c *toyLogin) obtain(ctx context.Context, at *place, r registration, form url.Values) error {
	form.Set("resource", at.resource)
	if c.is("login-no-resource") {
		form.Del("resource")
	}
	for again := 0; ; again++ {
		h := c.authenticate(at.server, r, form)
		if c.Way.DPoP {
			h.Set("DPoP", c.proof(http.MethodPost, at.server.Token, ""))
		}
		a, err := c.exchange(ctx, http.MethodPost, at.server.Token, []byte(form.Encode()), h, 1)
		if err != nil {
			return err
		}
		var got struct {
			Access  string `json:"access_token"`
			Kind    string `json:"token_type"`
			Refresh string `json:"refresh_token"`
			Expires *int   `json:"expires_in"`
			Error   string
		}
		err = json.Unmarshal(a.body, &got)
		if nonce := a.header.Get("DPoP-Nonce"); nonce != "" {
			c.nonces[at.server.Token] = nonce
		}
		if got.Error == "use_dpop_nonce" && again == 0 && !c.is("login-no-nonce") {
			continue
		}
		if c.is("login-any-answer") && got.Access == "" {
			got.Access, got.Kind, err = string(a.body[:min(len(a.body), 10)]), "Bearer", nil
		}
		known := strings.EqualFold(got.Kind, "Bearer") || strings.EqualFold(got.Kind, "DPoP") && c.Way.DPoP
		switch {
		case err != nil || a.status != http.StatusOK || got.Access == "":
			return errors.New("the authorization server gave no token")
		case !known && !c.is("login-any-type"):
			return errors.New("a token of an unknown type")
		case got.Expires == nil && c.is("login-wants-expiry"):
			return errors.New("a token without an end")
		}
		c.token = token{got.Access, got.Refresh, got.Kind, r, at.server, at.resource}
		return nil
	}
}

// authenticate adds who the client is (RFC 6749 section 2.3.1).
func (c *toyLogin) authenticate(s *server, r registration, form url.Values) http.Header {
	h := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	method := r.Method
	if c.is("login-no-secret") && method != "private_key_jwt" {
		method = "none"
	}
	switch method {
	case "client_secret_basic":
		id, secret := url.QueryEscape(r.ID), url.QueryEscape(r.Secret)
		if c.is("login-raw-basic") {
			id, secret = r.ID, r.Secret
		}
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(id+":"+secret)))
	case "client_secret_post":
		form.Set("client_id", r.ID)
		form.Set("client_secret", r.Secret)
	case "private_key_jwt":
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", c.assertion(s, r.ID))
	default:
		form.Set("client_id", r.ID)
	}
	return h
}
