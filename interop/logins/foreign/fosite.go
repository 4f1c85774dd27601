package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/ory/fosite"
	"github.com/ory/fosite/compose"
	"github.com/ory/fosite/storage"
)

// fositeProvider issues opaque tokens and refresh tokens that are good once.
type fositeProvider struct {
	http.Handler

	config *fosite.Config
	store  *storage.MemoryStore
	oauth2 fosite.OAuth2Provider
}

func newFosite(_ context.Context, issuer string) (provider, error) {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	p := &fositeProvider{
		config: &fosite.Config{
			GlobalSecret: secret, AccessTokenLifespan: defaultLifetime, EnforcePKCE: true,
			ScopeStrategy: fosite.ExactScopeStrategy, RefreshTokenScopes: []string{scopeOffline},
		},
		store: storage.NewMemoryStore(),
	}
	p.store.Clients[clientID] = &fosite.DefaultClient{
		ID: clientID, Public: true, RedirectURIs: []string{redirect}, ResponseTypes: []string{"code"},
		GrantTypes: []string{"authorization_code", "refresh_token"}, Scopes: []string{scopeRead, scopeWrite, scopeOffline},
	}
	p.oauth2 = compose.Compose(p.config, p.store, compose.NewOAuth2HMACStrategy(p.config),
		compose.OAuth2AuthorizeExplicitFactory, compose.OAuth2RefreshTokenGrantFactory, compose.OAuth2PKCEFactory,
		compose.OAuth2TokenRevocationFactory, compose.OAuth2TokenIntrospectionFactory)
	mux := http.NewServeMux()
	mux.Handle("GET /.well-known/oauth-authorization-server", describe(issuer, map[string]any{
		"revocation_endpoint": issuer + revokePath, "scopes_supported": []string{scopeRead, scopeWrite, scopeOffline},
	}))
	mux.HandleFunc(authorizePath, p.authorize)
	mux.HandleFunc("POST "+tokenPath, p.token)
	mux.HandleFunc("POST "+revokePath, func(w http.ResponseWriter, r *http.Request) {
		p.oauth2.WriteRevocationResponse(r.Context(), w, p.oauth2.NewRevocationRequest(r.Context(), r))
	})
	p.Handler = mux
	return p, nil
}

func (p *fositeProvider) authorize(w http.ResponseWriter, r *http.Request) {
	request, err := p.oauth2.NewAuthorizeRequest(r.Context(), r)
	if err != nil {
		p.oauth2.WriteAuthorizeError(r.Context(), w, request, err)
		return
	}
	if !asked(w, r) {
		return
	}
	for _, scope := range request.GetRequestedScopes() {
		request.GrantScope(scope)
	}
	response, err := p.oauth2.NewAuthorizeResponse(r.Context(), request, &fosite.DefaultSession{Subject: userName})
	if err != nil {
		p.oauth2.WriteAuthorizeError(r.Context(), w, request, err)
		return
	}
	p.oauth2.WriteAuthorizeResponse(r.Context(), w, request, response)
}

func (p *fositeProvider) token(w http.ResponseWriter, r *http.Request) {
	request, err := p.oauth2.NewAccessRequest(r.Context(), r, &fosite.DefaultSession{})
	if err != nil {
		p.oauth2.WriteAccessError(r.Context(), w, request, err)
		return
	}
	response, err := p.oauth2.NewAccessResponse(r.Context(), request)
	if err != nil {
		p.oauth2.WriteAccessError(r.Context(), w, request, err)
		return
	}
	p.oauth2.WriteAccessResponse(r.Context(), w, request, response)
}

func (p *fositeProvider) verify(ctx context.Context, token string) (*sdkauth.TokenInfo, error) {
	use, request, err := p.oauth2.IntrospectToken(ctx, token, fosite.AccessToken, &fosite.DefaultSession{})
	if err != nil {
		return nil, err
	}
	if use != fosite.AccessToken {
		return nil, fmt.Errorf("it is a %s", use)
	}
	return &sdkauth.TokenInfo{
		Scopes: request.GetGrantedScopes(), Expiration: request.GetSession().GetExpiresAt(fosite.AccessToken),
		UserID: request.GetSession().GetSubject(),
	}, nil
}

func (p *fositeProvider) setLifetime(d time.Duration) { p.config.AccessTokenLifespan = d }

func (p *fositeProvider) endLogins(context.Context) error {
	clear(p.store.RefreshTokens)
	clear(p.store.AccessTokens)
	return nil
}
