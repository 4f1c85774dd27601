package auth

import (
	"net/http"
	"slices"

	"github.com/mainstay-mcp/mainstay/auth/internal/challenge"
	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// dpopCredentials returns the headers of a request with a DPoP token (RFC 9449 section 7.1).
func dpopCredentials(p *grant.Prover, r transport.AuthorizedRequest, token, scope string) (*transport.Credentials, error) {
	at := r.URL.String()
	proof, err := p.Proof(r.Method, at, token, p.Nonce(at))
	if err != nil {
		return nil, &Error{Reason: ReasonToken, Err: err}
	}
	return &transport.Credentials{
		Header: http.Header{"Authorization": {"DPoP " + token}, "Dpop": {proof}},
		Scope:  scope,
		Once:   true,
	}, nil
}

// maxNonces bounds how often a request is sent again with a new nonce.
const maxNonces = 3

// noteNonce stores the nonce of an answer, and reports whether the server wants it in the
// proof (RFC 9449 section 9).
func noteNonce(p *grant.Prover, c transport.Challenge) bool {
	nonce := c.Header.Get("DPoP-Nonce")
	p.SetNonce(c.URL.String(), nonce)
	return nonce != "" && slices.ContainsFunc(challenge.Parse(c.Header.Values("WWW-Authenticate")), func(c challenge.Challenge) bool {
		return c.Get("error") == "use_dpop_nonce"
	})
}
