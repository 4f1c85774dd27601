// Package grant calls the endpoints of an authorization server: for tokens, registration,
// revocation, devices and pushed requests. It also makes what those requests carry: client
// authentication, PKCE, JWT assertions and DPoP proofs.
//
// Types with secrets hide them in every fmt verb, in log/slog and in JSON. In unexported fields fmt
// calls no methods. A [Secret] stays hidden there, too. A type with other secrets in unexported
// fields needs its own Format.
package grant

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// hidden is shown in place of a secret.
const hidden = "[hidden]"

// Token is the answer of a token endpoint.
type Token struct {
	Access     Secret
	Type       string // "Bearer", "DPoP", or "N_A" from a token exchange
	Refresh    Secret // empty: none was issued
	IDToken    Secret
	IssuedType string    // issued_token_type of a token exchange
	Scope      string    // space-separated; empty: the scopes that were requested
	Expiry     time.Time // zero: unknown
}

// String describes the token without its secrets.
func (t Token) String() string {
	if t.Access.Empty() {
		return "no token"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s token %s", printable(t.Type, 32), hidden)
	if t.Scope != "" {
		fmt.Fprintf(&b, ", scope %q", printable(t.Scope, 200))
	}
	if !t.Expiry.IsZero() {
		fmt.Fprintf(&b, ", expires %s", t.Expiry.UTC().Format(time.RFC3339))
	}
	if !t.Refresh.Empty() {
		b.WriteString(", refreshable")
	}
	return b.String()
}

// GoString is String, so that %#v shows no secrets either.
func (t Token) GoString() string { return t.String() }

// Format writes String for every verb.
func (t Token) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(t.String())) }

// LogValue implements [slog.LogValuer] with String.
func (t Token) LogValue() slog.Value { return slog.StringValue(t.String()) }

// MarshalText writes String, so that JSON and YAML never have the token itself. Stores write tokens
// with the encoding of their records.
func (t Token) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Client is how this program identifies and authenticates itself to one authorization server.
type Client struct {
	ID     string
	Secret string
	// Method is how the client authenticates: client_secret_basic, client_secret_post, none or
	// private_key_jwt. Empty: the strongest that the server supports and the client has.
	Method string
	Key    Signer // for private_key_jwt
}

// String describes the client without its secrets.
func (c Client) String() string {
	s := fmt.Sprintf("client %q", printable(c.ID, 200))
	if c.Method != "" {
		s += ", " + printable(c.Method, 64)
	}
	if c.Secret != "" {
		s += ", secret " + hidden
	}
	if c.Key != nil {
		s += ", key " + hidden
	}
	return s
}

// GoString is String, so that %#v shows no secrets either.
func (c Client) GoString() string { return c.String() }

// Format writes String for every verb.
func (c Client) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(c.String())) }

// LogValue implements [slog.LogValuer] with String.
func (c Client) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalText writes String.
func (c Client) MarshalText() ([]byte, error) { return []byte(c.String()), nil }
