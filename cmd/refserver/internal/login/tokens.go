package login

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/go-oauth2/oauth2/v4"
	"github.com/go-oauth2/oauth2/v4/models"
)

// mostTokens bounds the memory. Spent tokens are forgotten before a login is refused.
const mostTokens = 1000

var errFull = errors.New("there are too many logins: start the server again")

// tokens keeps codes and refresh tokens for the library, by their text. Access tokens are
// not kept: they prove themselves.
type tokens struct {
	mu   sync.Mutex
	kept map[string]kept
}

// kept is a code or a refresh token.
type kept struct {
	models.Token
	spent bool // it was used
	until time.Time
}

func newTokens() *tokens { return &tokens{kept: map[string]kept{}} }

// login is the name of the login that a token is of.
func login(t oauth2.TokenInfo) string {
	if named, ok := t.(oauth2.ExtendableTokenInfo); ok {
		return named.GetExtension().Get(loginName)
	}
	return ""
}

// Create implements [oauth2.TokenStore].
func (s *tokens) Create(_ context.Context, info oauth2.TokenInfo) error {
	t, ok := info.(*models.Token)
	if !ok {
		return errors.New("a token of an unknown kind")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(s.kept, func(_ string, k kept) bool { return now.After(k.until) })
	if len(s.kept) >= mostTokens {
		maps.DeleteFunc(s.kept, func(_ string, k kept) bool { return k.spent })
	}
	if len(s.kept) >= mostTokens {
		return errFull
	}
	// A code is kept as long as a refresh token: it is proof of theft when it is used again.
	s.kept[cmp.Or(t.Code, t.Refresh)] = kept{Token: *t, until: now.Add(refreshLife)}
	return nil
}

func (s *tokens) find(text string) (oauth2.TokenInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.kept[text]
	if !ok || k.spent {
		return nil, nil //nolint:nilnil // for the library this is an unknown token
	}
	return &k.Token, nil // a copy, which the library changes
}

// spend keeps what was used, to know it when it is used again.
func (s *tokens) spend(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.kept[text]; ok {
		k.spent, k.until = true, time.Now().Add(refreshLife)
		s.kept[text] = k
	}
	return nil
}

// stolen reports whether a code or a refresh token was used before, and ends its login.
func (s *tokens) stolen(text string) bool {
	s.mu.Lock()
	k := s.kept[text]
	s.mu.Unlock()
	if k.spent {
		s.end(login(&k.Token))
	}
	return k.spent
}

// end ends a login: what is left of it is spent.
func (s *tokens) end(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for text, k := range s.kept {
		if login(&k.Token) == name {
			k.spent = true
			s.kept[text] = k
		}
	}
}

// GetByCode implements [oauth2.TokenStore].
func (s *tokens) GetByCode(_ context.Context, code string) (oauth2.TokenInfo, error) {
	return s.find(code)
}

// GetByRefresh implements [oauth2.TokenStore].
func (s *tokens) GetByRefresh(_ context.Context, refresh string) (oauth2.TokenInfo, error) {
	return s.find(refresh)
}

// GetByAccess implements [oauth2.TokenStore].
func (s *tokens) GetByAccess(context.Context, string) (oauth2.TokenInfo, error) {
	return nil, nil //nolint:nilnil // access tokens are not kept
}

// RemoveByCode implements [oauth2.TokenStore].
func (s *tokens) RemoveByCode(_ context.Context, code string) error { return s.spend(code) }

// RemoveByRefresh implements [oauth2.TokenStore].
func (s *tokens) RemoveByRefresh(_ context.Context, refresh string) error { return s.spend(refresh) }

// RemoveByAccess implements [oauth2.TokenStore].
func (s *tokens) RemoveByAccess(context.Context, string) error { return nil }
