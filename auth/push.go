package auth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
)

// open sets the page for the browser: the authorization request itself, or the URI of a pushed one
// (RFC 9126).
func (p *person) open(ctx context.Context, s *site, b *begun, scopes []string) error {
	to, err := url.Parse(s.server.AuthorizationEndpoint)
	if err != nil || s.server.AuthorizationEndpoint == "" {
		return newError(ReasonDiscovery, "", fmt.Errorf("the authorization server %s has no page to log in", s.server.Issuer))
	}
	request, err := b.request(s, scopes)
	if err != nil {
		return err
	}
	if s.server.PushEndpoint != "" || s.server.PushRequired {
		if request, b.expires, err = p.push(ctx, s, b.h, request); err != nil {
			return err
		}
	}
	query := to.Query()
	maps.Copy(query, request)
	to.RawQuery = query.Encode()
	b.page = to.String()
	return nil
}

// push pushes an authorization request and returns the parameters for the browser. If the endpoint
// is not usable for this client and the server does not require pushed requests, it returns the
// request unchanged.
func (p *person) push(ctx context.Context, s *site, h *credentials, request url.Values) (url.Values, time.Time, error) {
	if err := s.pushes(); err != nil {
		return nil, time.Time{}, newError(ReasonDiscovery, helpPush, err)
	}
	who := p.cfg.client(h.record)
	requestURI, expires, err := s.tokens(h.prover).Push(ctx, who, s.server.PushEndpoint, request)
	h.record.Client.Method = who.Method
	switch {
	case err == nil:
		return url.Values{"client_id": {who.ID}, "request_uri": {requestURI}}, expires, nil
	case !s.server.PushRequired && unavailable(err, who):
		return request, time.Time{}, nil
	case errors.Is(err, ErrNoClientMethod):
		return nil, time.Time{}, newError(ReasonRegistration, helpNoMethod, err)
	}
	help := p.cfg.forgetIfUnknown(ctx, h, err)
	if help == "" {
		help = helpRefused(err)
	}
	return nil, time.Time{}, newError(ReasonLogin, help, fmt.Errorf("the authorization server did not accept the pushed request: %w", err))
}

const helpPush = "its operator must add pushed_authorization_request_endpoint, or not demand pushed requests"

// pushes reports why requests cannot be pushed to a server that requires it.
func (s *site) pushes() error {
	if s.server.PushRequired && s.server.PushEndpoint == "" {
		return fmt.Errorf("the authorization server %s demands pushed authorization requests, and names no endpoint for them", s.server.Issuer)
	}
	return nil
}

// unavailable reports whether an answer means that the endpoint does not exist, or is not for public
// clients. The answer comes over TLS from the server itself, which allows requests that are not
// pushed; state, PKCE and the issuer protect those.
func unavailable(err error, who *grant.Client) bool {
	var refused *grant.Error
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	}
	return who.Secret == "" && who.Key == nil && (refused.Code == "invalid_client" || refused.Code == "unauthorized_client")
}

// helpRefused returns the help for a login request that was refused before a person was asked.
func helpRefused(err error) string {
	var refused *grant.Error
	if !errors.As(err, &refused) {
		return "try again later"
	}
	switch {
	case refused.Status >= 500 && refused.Status != http.StatusNotImplemented, refused.Status == http.StatusTooManyRequests:
		return "try again later"
	case refused.Code == "invalid_scope":
		return "ask the operator which scopes this client may have"
	case refused.Code == "invalid_target":
		return "the operator of the authorization server must register the MCP server there"
	}
	return "ask the operator of the authorization server"
}
