package login

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-oauth2/oauth2/v4"
	"github.com/go-oauth2/oauth2/v4/manage"

	autherrors "github.com/go-oauth2/oauth2/v4/errors"
)

// grants is the manager of the library with the rules that it leaves open: a code and a
// refresh token are good once, also for two requests at the same time, and for the client
// that they were issued to. If one is used twice, somebody has stolen it, and the login
// ends (RFC 9700 section 4.14.2).
type grants struct {
	*manage.Manager
	mu     sync.Mutex // for the turn of a request: the library reads first and deletes later
	tokens *tokens
}

func newGrants(lifetime time.Duration, signs *signer) *grants {
	g := &grants{Manager: manage.NewManager(), tokens: newTokens()}
	g.MapClientStorage(clients{})
	g.MapTokenStorage(g.tokens)
	g.MapAuthorizeGenerate(codes{})
	g.MapAccessGenerate(signs)
	g.SetValidateURIHandler(exact)
	g.SetExtractExtensionHandler(name)
	g.SetAuthorizeCodeExp(codeLife)
	g.SetAuthorizeCodeTokenCfg(&manage.Config{AccessTokenExp: lifetime, RefreshTokenExp: refreshLife, IsGenerateRefresh: true})
	g.SetRefreshTokenCfg(&manage.RefreshingConfig{
		AccessTokenExp: lifetime, RefreshTokenExp: refreshLife,
		IsGenerateRefresh: true, IsResetRefreshTime: true, IsRemoveRefreshing: true,
	})
	return g
}

// loginName is the member under which codes and tokens have the name of their login.
const loginName = "login"

// name gives a login a name, which its tokens keep.
func name(_ *oauth2.TokenGenerateRequest, token oauth2.ExtendableTokenInfo) {
	if token.GetExtension().Get(loginName) == "" {
		token.SetExtension(url.Values{loginName: {rand.Text()}})
	}
}

// codes makes authorization codes.
type codes struct{}

// Token implements [oauth2.AuthorizeGenerate].
func (codes) Token(context.Context, *oauth2.GenerateBasic) (string, error) { return rand.Text(), nil }

// GenerateAccessToken implements [oauth2.Manager].
func (g *grants) GenerateAccessToken(ctx context.Context, kind oauth2.GrantType, r *oauth2.TokenGenerateRequest) (oauth2.TokenInfo, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tokens.stolen(r.Code) {
		return nil, autherrors.ErrInvalidAuthorizeCode
	}
	return g.Manager.GenerateAccessToken(ctx, kind, r)
}

// RefreshAccessToken implements [oauth2.Manager].
func (g *grants) RefreshAccessToken(ctx context.Context, r *oauth2.TokenGenerateRequest) (oauth2.TokenInfo, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tokens.stolen(r.Refresh) {
		return nil, autherrors.ErrInvalidRefreshToken
	}
	token, err := g.LoadRefreshToken(ctx, r.Refresh)
	if err != nil {
		return nil, err
	}
	if token.GetClientID() != r.ClientID {
		return nil, autherrors.ErrInvalidRefreshToken
	}
	return g.Manager.RefreshAccessToken(ctx, r)
}

// narrows reports whether a refresh asks for no more scopes than the login has.
func narrows(r *oauth2.TokenGenerateRequest, had string) (bool, error) {
	all := strings.Fields(had)
	return !slices.ContainsFunc(strings.Fields(r.Scope), func(scope string) bool { return !slices.Contains(all, scope) }), nil
}

// token is the token endpoint.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.ParseForm() != nil:
		refuse(w, autherrors.ErrInvalidRequest.Error(), "the form cannot be read")
	case !s.meant(r):
		refuse(w, invalidTarget, "tokens are for "+s.opts.Resource)
	default:
		_ = s.core.HandleTokenRequest(w, r) // fails only when the reader has gone
	}
}

// revoke takes a refresh token back, and with it the login (RFC 7009). An access token is
// good until it expires: the server that takes it asks nobody.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil || r.PostForm.Get("token") == "" {
		refuse(w, autherrors.ErrInvalidRequest.Error(), "there is no token")
		return
	}
	text := r.PostForm.Get("token")
	if s.signer.issued(text) {
		refuse(w, unsupportedType, "access tokens are good until they expire")
		return
	}
	s.grants.mu.Lock()
	defer s.grants.mu.Unlock()
	token, err := s.grants.LoadRefreshToken(r.Context(), text)
	if err == nil && token.GetClientID() == r.PostForm.Get("client_id") {
		s.grants.tokens.end(login(token))
	}
	answer(w, http.StatusOK, struct{}{}) // an unknown token is none (section 2.2)
}
