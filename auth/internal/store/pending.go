package store

import (
	"fmt"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
)

// Pending is a login that was begun, with the values that exchange its code for a token. Its record
// may also have the tokens of an earlier login. It hides its secrets in every fmt verb.
type Pending struct {
	Page grant.Secret // where the person logs in, at the authorization server; it has the State
	// OpenBefore is when the page can no longer be opened; zero: unknown.
	OpenBefore time.Time
	State      grant.Secret // of the answer that ends the login
	Verifier   grant.Secret // of PKCE
	Redirect   string
	// IssuerSent is set if the answers of the authorization server have its issuer (RFC 9207).
	IssuerSent bool
	Asked      string // a digest of what the login requests; a login with another one begins again
	Expires    time.Time

	// The values of the record after the login.
	Client grant.Registered
	Server Server
	Scopes []string
	Proof  grant.Secret
}

// String describes the login without its secrets.
func (p Pending) String() string {
	return "a login that ends at " + p.Redirect + " until " + p.Expires.UTC().Format(time.RFC3339)
}

// GoString is String, so that %#v shows no secrets either.
func (p Pending) GoString() string { return p.String() }

// Format writes String for every verb.
func (p Pending) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(p.String())) }

// MarshalText writes String: only Encode writes the secrets.
func (p Pending) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// pending is a Pending as text.
type pending struct {
	Page       string    `json:"page,omitempty"`
	OpenBefore time.Time `json:"open_before,omitzero"`
	State      string    `json:"state"`
	Verifier   string    `json:"code_verifier"`
	Redirect   string    `json:"redirect_uri"`
	IssuerSent bool      `json:"issuer_sent,omitempty"`
	Asked      string    `json:"asked,omitempty"`
	Expires    time.Time `json:"expires"`

	Client client   `json:"client"`
	Server Server   `json:"server"`
	Scopes []string `json:"scopes,omitempty"`
	Proof  []byte   `json:"dpop_key,omitempty"`
}

func (p *Pending) form() *pending {
	if p == nil {
		return nil
	}
	return &pending{
		Page: p.Page.Text(), OpenBefore: p.OpenBefore, State: p.State.Text(), Verifier: p.Verifier.Text(), Redirect: p.Redirect, IssuerSent: p.IssuerSent,
		Asked: p.Asked, Expires: p.Expires,
		Client: clientForm(p.Client), Server: p.Server, Scopes: p.Scopes, Proof: []byte(p.Proof.Text()),
	}
}

func (p *pending) read() *Pending {
	if p == nil {
		return nil
	}
	return &Pending{
		Page: grant.Hide(p.Page), OpenBefore: p.OpenBefore, State: grant.Hide(p.State), Verifier: grant.Hide(p.Verifier), Redirect: p.Redirect, IssuerSent: p.IssuerSent,
		Asked: p.Asked, Expires: p.Expires,
		Client: p.Client.read(), Server: p.Server, Scopes: p.Scopes, Proof: grant.Hide(string(p.Proof)),
	}
}
