package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-oauth2/oauth2/v4"
	"github.com/go-oauth2/oauth2/v4/manage"
	"github.com/go-oauth2/oauth2/v4/models"
	"github.com/go-oauth2/oauth2/v4/server"
	"github.com/go-oauth2/oauth2/v4/store"
	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
)

// goOAuth2 issues opaque tokens and refresh tokens that are good once. The library has
// no endpoint for revocation.
type goOAuth2 struct {
	http.Handler

	manager *manage.Manager
}

func newGoOAuth2(ctx context.Context, issuer string) (provider, error) {
	p := &goOAuth2{manager: manage.NewDefaultManager()}
	p.setLifetime(defaultLifetime)
	if err := p.endLogins(ctx); err != nil {
		return nil, err
	}
	clients := store.NewClientStore()
	if err := clients.Set(clientID, &models.Client{ID: clientID, Domain: redirect, Public: true}); err != nil {
		return nil, err
	}
	p.manager.MapClientStorage(clients)
	p.manager.SetValidateURIHandler(sameButPort)
	s := server.NewServer(&server.Config{
		TokenType: "Bearer", AllowedResponseTypes: []oauth2.ResponseType{oauth2.Code},
		AllowedGrantTypes:           []oauth2.GrantType{oauth2.AuthorizationCode, oauth2.Refreshing},
		AllowedCodeChallengeMethods: []oauth2.CodeChallengeMethod{oauth2.CodeChallengeS256}, ForcePKCE: true,
	}, p.manager)
	s.SetClientInfoHandler(server.ClientFormHandler)
	s.SetUserAuthorizationHandler(func(w http.ResponseWriter, r *http.Request) (string, error) {
		if asked(w, r) {
			return userName, nil
		}
		return "", nil // the page is answered
	})
	mux := http.NewServeMux()
	mux.Handle("GET /.well-known/oauth-authorization-server", describe(issuer, map[string]any{"scopes_supported": []string{scopeRead, scopeWrite}}))
	mux.HandleFunc(authorizePath, func(w http.ResponseWriter, r *http.Request) {
		if err := s.HandleAuthorizeRequest(w, r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	})
	mux.HandleFunc("POST "+tokenPath, func(w http.ResponseWriter, r *http.Request) {
		if err := s.HandleTokenRequest(w, r); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	p.Handler = mux
	return p, nil
}

// sameButPort allows a loopback redirect at any port.
func sameButPort(registered, wanted string) error {
	u, err := url.Parse(wanted)
	if err != nil {
		return err
	}
	u.Host = u.Hostname()
	if u.String() != registered {
		return errors.New("the redirect is not registered")
	}
	return nil
}

func (p *goOAuth2) verify(ctx context.Context, token string) (*sdkauth.TokenInfo, error) {
	info, err := p.manager.LoadAccessToken(ctx, token)
	if err != nil {
		return nil, err
	}
	return &sdkauth.TokenInfo{
		Scopes: strings.Fields(info.GetScope()), Expiration: info.GetAccessCreateAt().Add(info.GetAccessExpiresIn()), UserID: info.GetUserID(),
	}, nil
}

func (p *goOAuth2) setLifetime(d time.Duration) {
	p.manager.SetAuthorizeCodeTokenCfg(&manage.Config{AccessTokenExp: d, RefreshTokenExp: time.Hour, IsGenerateRefresh: true})
	p.manager.SetRefreshTokenCfg(&manage.RefreshingConfig{
		AccessTokenExp: d, RefreshTokenExp: time.Hour, IsGenerateRefresh: true, IsRemoveAccess: true, IsRemoveRefreshing: true,
	})
}

// endLogins begins with an empty store.
func (p *goOAuth2) endLogins(context.Context) error {
	tokens, err := store.NewMemoryTokenStore()
	if err != nil {
		return err
	}
	p.manager.MapTokenStorage(tokens)
	return nil
}
