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

// open makes the page that the browser opens: the authorization request itself, or the name of one
// that was pushed (RFC 9126).
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

// push pushes an authorization request, and returns what the browser sends in its place. Where the
// server announces pushed requests and does not demand them, an endpoint that is not usable for this
// client leaves the request as it was.
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
	help := p.cfg.unknown(ctx, h, err)
	if help == "" {
		help = helpRefused(err)
	}
	return nil, time.Time{}, newError(ReasonLogin, help, fmt.Errorf("the authorization server did not take the pushed request: %w", err))
}

const helpPush = "its operator must add pushed_authorization_request_endpoint, or not demand pushed requests"

// pushes reports why a server that demands pushed requests cannot get one.
func (s *site) pushes() error {
	if s.server.PushRequired && s.server.PushEndpoint == "" {
		return fmt.Errorf("the authorization server %s demands pushed authorization requests, and names no endpoint for them", s.server.Issuer)
	}
	return nil
}

// unavailable reports whether an answer means that the endpoint is not there, or not for public
// clients: some servers push only for those that authenticate. The server itself says so, over TLS,
// and allows requests that are not pushed; state, PKCE and the issuer protect those.
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

// helpRefused is what to do about a request for a login that was refused before a person saw it.
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
