package grant

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
)

// PKCE is a code verifier and its S256 challenge (RFC 7636).
type PKCE struct {
	Verifier  string // secret until the code is exchanged
	Challenge string // sent with the authorization request
}

// NewPKCE returns a pair with a verifier of 256 random bits. The method is always S256.
func NewPKCE() PKCE {
	verifier := random(32)
	sum := sha256.Sum256([]byte(verifier))
	return PKCE{Verifier: verifier, Challenge: base64.RawURLEncoding.EncodeToString(sum[:])}
}

// String shows the challenge only.
func (p PKCE) String() string { return fmt.Sprintf("PKCE S256 %s", p.Challenge) }

// GoString is String, so that %#v shows no secrets either.
func (p PKCE) GoString() string { return p.String() }

// Format writes String for every verb.
func (p PKCE) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(p.String())) }

// LogValue implements [slog.LogValuer] with String.
func (p PKCE) LogValue() slog.Value { return slog.StringValue(p.String()) }

// MarshalText writes String.
func (p PKCE) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// random returns n random bytes as base64url text. The reader of crypto/rand never fails.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}
