package grant

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Methods of client authentication at a token endpoint.
const (
	MethodNone   = "none"
	MethodBasic  = "client_secret_basic"
	MethodPost   = "client_secret_post"
	MethodKeyJWT = "private_key_jwt"
)

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// ErrNoMethod reports that the server supports none of the client's methods of authentication.
var ErrNoMethod = errors.New("no common method of client authentication")

// ChooseMethod returns the strongest method of authentication that both sides support. A server
// that lists none supports client_secret_basic (RFC 8414 §2). A client without credentials uses
// "none", which many servers accept although they do not list it.
func ChooseMethod(supported []string, hasSecret, hasKey bool) (string, error) {
	switch {
	case hasKey && (len(supported) == 0 || slices.Contains(supported, MethodKeyJWT)):
		return MethodKeyJWT, nil
	case hasSecret && (len(supported) == 0 || slices.Contains(supported, MethodBasic)):
		return MethodBasic, nil
	case hasSecret && slices.Contains(supported, MethodPost):
		return MethodPost, nil
	case !hasSecret && !hasKey, slices.Contains(supported, MethodNone):
		return MethodNone, nil
	}
	return "", fmt.Errorf("%w: the server supports %s", ErrNoMethod, printable(fmt.Sprint(supported), longestDescription))
}

// method returns how the client authenticates itself at the endpoint.
func (e *Endpoint) method(c *Client) (string, error) {
	if c.Method != "" {
		return c.Method, nil
	}
	return ChooseMethod(e.Methods, c.Secret != "", c.Key != nil)
}

// identify adds the client's authentication to the form or the header. It returns the secrets that
// it added.
func (e *Endpoint) identify(c *Client, method string, form url.Values, header http.Header) (secrets, error) {
	if c.ID == "" {
		return nil, errors.New("the client has no id")
	}
	switch method {
	case MethodNone:
		form.Set("client_id", c.ID)
		return nil, nil
	case MethodBasic, MethodPost:
		if c.Secret == "" {
			return nil, fmt.Errorf("%w: %s needs a client secret", ErrNoMethod, method)
		}
		if method == MethodPost {
			form.Set("client_id", c.ID)
			form.Set("client_secret", c.Secret)
			return secretsOf(nil, c.Secret), nil
		}
		// RFC 6749 §2.3.1: form-encoded inside Basic.
		r := http.Request{Header: header}
		r.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(c.Secret))
		return secretsOf(nil, c.Secret, header.Get("Authorization")), nil
	case MethodKeyJWT:
		if c.Key == nil {
			return nil, fmt.Errorf("%w: %s needs a private key", ErrNoMethod, method)
		}
		signer := c.Key.Listed(e.Algs)
		if signer == nil {
			return nil, fmt.Errorf("%w: the key signs with %s, the server supports %s", ErrNoMethod,
				c.Key.Algorithm(), printable(fmt.Sprint(e.Algs), longestDescription))
		}
		assertion, err := Assertion(signer, c.ID, e.audience(), time.Now())
		if err != nil {
			return nil, err
		}
		form.Set("client_id", c.ID)
		form.Set("client_assertion_type", assertionType)
		form.Set("client_assertion", assertion)
		return secretsOf(nil, assertion), nil
	}
	return nil, fmt.Errorf("%w: %q is not supported", ErrNoMethod, printable(method, longestCode))
}
