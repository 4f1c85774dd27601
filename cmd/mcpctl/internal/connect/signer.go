package connect

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/secret"
)

// Signer gives the requests of a driver that is not the client the credentials of an
// authorizer. It carries them, too, and sends a request again whose token the server
// does not take any more. Requests with other credentials, or with none, pass unchanged.
type Signer struct {
	by       transport.Authorizer
	endpoint string
	base     http.RoundTripper
	secrets  *secret.Keeper
	// Pause is how long a request waits before it is sent again.
	Pause  time.Duration
	issued sync.Map // the *transport.Credentials of this run by their Authorization
}

// NewSigner returns a signer for the server at an endpoint. It makes the tokens known
// as secrets: a server may repeat them.
func NewSigner(by transport.Authorizer, endpoint string, base http.RoundTripper, secrets *secret.Keeper) *Signer {
	return &Signer{by: by, endpoint: endpoint, base: base, secrets: secrets}
}

// Credentials returns the headers for a request, nil while there are none.
func (s *Signer) Credentials(ctx context.Context, method string, to *url.URL) (http.Header, error) {
	about, err := s.about(method, to)
	if err != nil {
		return nil, err
	}
	c, err := s.by.Authorize(ctx, about)
	if err != nil || c == nil {
		return nil, err
	}
	return s.issue(c), nil
}

// issue notes credentials that a request gets, and returns their headers.
func (s *Signer) issue(c *transport.Credentials) http.Header {
	authorization := c.Header.Get("Authorization")
	if _, known := s.issued.Swap(authorization, c); !known {
		_, token, _ := strings.Cut(authorization, " ")
		s.secrets.Keep("token", token)
	}
	return c.Header
}

func (s *Signer) about(method string, to *url.URL) (transport.AuthorizedRequest, error) {
	endpoint, err := url.Parse(s.endpoint)
	if err != nil {
		return transport.AuthorizedRequest{}, err
	}
	clean := *to
	endpoint.User, clean.User = nil, nil
	// A person is not asked in the middle of a run.
	return transport.AuthorizedRequest{Method: method, Endpoint: endpoint, URL: &clean, Background: true}, nil
}

// maxAgain bounds how often a request is sent again.
const maxAgain = 3

// RoundTrip implements [http.RoundTripper].
func (s *Signer) RoundTrip(req *http.Request) (*http.Response, error) {
	for tries := 0; ; tries++ {
		resp, err := s.base.RoundTrip(req)
		refused := err == nil && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden)
		value, ours := s.issued.Load(req.Header.Get("Authorization"))
		if !refused || tries == maxAgain || !ours || req.GetBody == nil {
			return resp, err
		}
		sent, _ := value.(*transport.Credentials)
		about, err := s.about(req.Method, req.URL)
		if err != nil {
			return resp, nil //nolint:nilerr // the caller judges the answer
		}
		other, err := s.by.Challenged(req.Context(), transport.Challenge{
			AuthorizedRequest: about, Sent: sent, Status: resp.StatusCode, Header: resp.Header, Tries: tries,
		})
		if err != nil || other == nil {
			return resp, nil //nolint:nilerr // the suite judges the answer
		}
		next := req.Clone(req.Context())
		for name, values := range s.issue(other) {
			next.Header[name] = values
		}
		if next.Body, err = req.GetBody(); err != nil {
			return resp, nil //nolint:nilerr // as above
		}
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // the connection is used again
		_ = resp.Body.Close()
		select {
		case <-time.After(s.Pause):
		case <-req.Context().Done():
			return nil, context.Cause(req.Context())
		}
		req = next
	}
}

// CloseIdleConnections lets an [http.Client] close those below.
func (s *Signer) CloseIdleConnections() {
	if c, ok := s.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
