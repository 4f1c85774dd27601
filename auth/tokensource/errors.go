package tokensource

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"golang.org/x/oauth2"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
	"github.com/mainstay-mcp/mainstay/internal/callback"
)

// RefusedError reports that the authorization server of a TokenSource issued no token. It
// replaces an oauth2.RetrieveError, whose text has the answer of the server, which may repeat
// secrets.
type RefusedError struct {
	// Status is the HTTP status, 0 if unknown.
	Status int
	// Code is the error code of the server, such as invalid_grant, "" for none and for
	// non-standard codes.
	Code string
}

func (e *RefusedError) Error() string {
	switch {
	case e.Code == "" && e.Status == 0:
		return "the authorization server of the token source gave no token"
	case e.Code == "":
		return fmt.Sprintf("the authorization server of the token source gave no token (HTTP status %d)", e.Status)
	case e.Status == 0:
		return "the authorization server of the token source refused: " + e.Code
	}
	return fmt.Sprintf("the authorization server of the token source refused: %s (HTTP status %d)", e.Code, e.Status)
}

// codes are the standard error codes. Others are not shown, because a server could send a
// secret as a code.
var codes = []string{ // RFC 6749 sections 4.1.2.1 and 5.2, RFC 8628, RFC 8707, RFC 9449, OpenID Connect
	"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
	"access_denied", "server_error", "temporarily_unavailable", "authorization_pending", "slow_down", "expired_token",
	"invalid_target", "invalid_dpop_proof", "use_dpop_nonce", "interaction_required", "login_required", "consent_required",
}

// explained returns an [*auth.Error] without secrets for an error of the source.
func explained(ctx context.Context, err error, endpoint *url.URL) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var typed *auth.Error
	if errors.As(err, &typed) {
		return err // of [Of]
	}
	e := &auth.Error{Reason: auth.ReasonToken, Server: shown(endpoint), Err: err}
	var broken *callback.Error
	var refused *oauth2.RetrieveError
	var request *url.Error
	switch {
	case errors.As(err, &broken):
		return broken // the client reports it as a fault of the application
	case errors.As(err, &refused):
		own := &RefusedError{}
		if refused.Response != nil {
			own.Status = refused.Response.StatusCode
		}
		if slices.Contains(codes, refused.ErrorCode) {
			own.Code = refused.ErrorCode
		}
		if e.Err = own; own.Code == "invalid_grant" {
			e.Help = "the login of the token source has ended: log in again"
		}
	case errors.Is(err, context.Canceled):
		// The context of the call has not ended, so its error would be misleading.
		e.Err, e.Help = errors.New("the context of the token source has ended"), "make the token source with a context that lives as long as the client"
	case errors.As(err, &request):
		e.Err = fmt.Errorf("the request of the token source failed: %w", fetch.CauseOf(ctx, request.Err))
	}
	return e
}
