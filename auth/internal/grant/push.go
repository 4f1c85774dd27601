package grant

import (
	"context"
	"net/url"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/fetch"
)

// longestRequestURI limits a request_uri, into which some servers put the whole request.
const longestRequestURI = 4096

// Push sends an authorization request to the endpoint for pushed requests (RFC 9126), with the
// client's authentication. If tokens are bound to a key, it adds a proof of the key (RFC 9449
// §10.1). requestURI replaces the request in the browser; it is a secret of this login. expiry is
// when it expires, zero if that is unknown. A refusal is an *Error.
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
