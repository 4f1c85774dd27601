package main

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"time"

	sdkauth "github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// zitadelProvider is the library's provider with the storage of its example. It issues
// opaque tokens and refresh tokens that are good once.
type zitadelProvider struct {
	http.Handler

	oidc  *op.Provider
	store *zitadelStore
}

func newZitadel(_ context.Context, issuer string) (provider, error) {
	storage.RegisterClients(storage.NativeClient(clientID, redirect))
	store := &zitadelStore{Storage: storage.NewStorage(zitadelUsers{}), lifetime: defaultLifetime, expires: map[string]time.Time{}}
	config := &op.Config{
		CodeMethodS256: true, GrantTypeRefreshToken: true,
		SupportedScopes: []string{oidc.ScopeOpenID, scopeRead, scopeWrite, scopeOffline},
	}
	_, _ = rand.Read(config.CryptoKey[:])
	p, err := op.NewProvider(config, store, op.StaticIssuer(issuer), op.WithAllowInsecure())
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	callback := op.AuthCallbackURL(p)
	mux.HandleFunc("/login/username", op.NewIssuerInterceptor(p.IssuerFromRequest).HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !asked(w, r) {
			return
		}
		id := r.FormValue("authRequestID")
		if err := store.CheckUsernamePassword(userName, userPassword, id); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		http.Redirect(w, r, callback(r.Context(), id), http.StatusFound)
	}))
	mux.Handle("/", p)
	return &zitadelProvider{Handler: mux, oidc: p, store: store}, nil
}

func (p *zitadelProvider) verify(ctx context.Context, token string) (*sdkauth.TokenInfo, error) {
	text, err := p.oidc.Crypto().Decrypt(token)
	id, subject, ok := strings.Cut(text, ":")
	if err != nil || !ok {
		return nil, errors.New("it is no token of this server")
	}
	var about oidc.IntrospectionResponse
	if err := p.store.SetIntrospectionFromToken(ctx, &about, id, subject, clientID); err != nil {
		return nil, err
	}
	return &sdkauth.TokenInfo{Scopes: about.Scope, Expiration: p.store.expires[id], UserID: subject}, nil
}

func (p *zitadelProvider) setLifetime(d time.Duration) { p.store.lifetime = d }

func (p *zitadelProvider) endLogins(ctx context.Context) error {
	return p.store.TerminateSession(ctx, userName, clientID)
}

// zitadelStore is the storage of the example with lifetimes that can be set, and with
// our scopes.
type zitadelStore struct {
	*storage.Storage

	lifetime time.Duration
	expires  map[string]time.Time // by the id of the access token
}

// CreateAccessAndRefreshTokens implements [op.Storage].
func (s *zitadelStore) CreateAccessAndRefreshTokens(ctx context.Context, request op.TokenRequest, current string) (access, refresh string, expires time.Time, err error) {
	access, refresh, _, err = s.Storage.CreateAccessAndRefreshTokens(ctx, request, current)
	s.expires[access] = time.Now().Add(s.lifetime)
	return access, refresh, s.expires[access], err
}

// GetClientByClientID implements [op.Storage].
func (s *zitadelStore) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	client, err := s.Storage.GetClientByClientID(ctx, id)
	if err != nil {
		return nil, err
	}
	return zitadelClient{client}, nil
}

// zitadelClient is a client that may ask for our scopes.
type zitadelClient struct{ op.Client }

func (zitadelClient) IsScopeAllowed(scope string) bool {
	return scope == scopeRead || scope == scopeWrite
}

// zitadelUsers has one user.
type zitadelUsers struct{}

func (zitadelUsers) ExampleClientID() string { return storage.ServiceUserID }

func (zitadelUsers) GetUserByID(id string) *storage.User {
	if id != userName {
		return nil
	}
	return &storage.User{ID: userName, Username: userName, Password: userPassword}
}

func (u zitadelUsers) GetUserByUsername(name string) *storage.User { return u.GetUserByID(name) }
