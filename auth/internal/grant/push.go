package grant

import (
	"context"
	"net/url"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

// longestRequestURI bounds the name of a pushed request: some servers put the whole request into it.
const longestRequestURI = 4096

// Push sends an authorization request to the endpoint for pushed requests (RFC 9126), with the
// client's authentication and, where tokens are bound to a key, a proof of the key (RFC 9449 §10.1).
// requestURI takes the place of the request in the browser; it is a secret of this login. expiry is
// when the server forgets it, zero if it does not say. A refusal is an *Error.
func (e *Endpoint) Push(ctx context.Context, c *Client, to string, request url.Values) (requestURI string, expiry time.Time, err error) {
	answer, sent, err := e.post(ctx, c, to, copied(request))
	if err != nil {
		return "", time.Time{}, err
	}
	return parsePushed(to, answer, sent, time.Now())
}

func parsePushed(endpoint string, a *fetch.Answer, sent secrets, now time.Time) (requestURI string, expiry time.Time, err error) {
	m, err := granted(endpoint, a, sent)
	if err != nil {
		return "", time.Time{}, err
	}
	requestURI = m.text("request_uri")
	if !visible(requestURI) || len(requestURI) > longestRequestURI {
		return "", time.Time{}, wrongAt(endpoint)("it has no usable request_uri")
	}
	return requestURI, m.expiry(now), nil
}
