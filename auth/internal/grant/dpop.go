package grant

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	mostNonces   = 64   // origins whose nonce is kept
	longestNonce = 1024 // bytes
)

// Prover makes DPoP proofs (RFC 9449) with one key, of curve P-256 or Ed25519. It is safe for
// concurrent use.
type Prover struct {
	key *key
	jwk jose.JSONWebKey

	mu     sync.Mutex
	nonces map[string]string // by origin
}

// NewProver makes a new key pair.
func NewProver() (*Prover, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a DPoP key: %w", err)
	}
	return newProver(private, "")
}

// ParseProver reads the output of Export.
func ParseProver(exported Secret) (*Prover, error) {
	private, err := x509.ParsePKCS8PrivateKey([]byte(exported.Text()))
	if err != nil {
		return nil, errors.New("the stored DPoP key cannot be read")
	}
	return newProver(private, "")
}

// ReadProver reads the private key of the application: PEM or a JWK, of curve P-256 or Ed25519.
// The alg of a JWK selects the algorithm. Without it, an Ed25519 key signs as EdDSA.
func ReadProver(text []byte) (*Prover, error) {
	k, err := parseKey(text)
	if err != nil {
		return nil, err
	}
	return newProver(k.Key, k.Algorithm)
}

func newProver(private any, alg string) (*Prover, error) {
	k, err := newSigner(private, "", alg)
	if err != nil {
		return nil, fmt.Errorf("DPoP: %w", err)
	}
	if k.alg != jose.ES256 && !slices.Contains(edAlgs, k.alg) {
		return nil, fmt.Errorf("DPoP: the private key cannot sign with ES256 or EdDSA; it signs with %s", k.alg)
	}
	return &Prover{key: k, jwk: jose.JSONWebKey{Key: k.public}, nonces: map[string]string{}}, nil
}

// Export returns the private key, for a store of tokens that are bound to it.
func (p *Prover) Export() (Secret, error) {
	exported, err := x509.MarshalPKCS8PrivateKey(p.key.secret.private)
	return Hide(string(exported)), err
}

// Algorithm returns the algorithm of the proofs.
func (p *Prover) Algorithm() string { return p.key.Algorithm() }

// Thumbprint returns the JWK thumbprint of the public key: dpop_jkt of an authorization request.
func (p *Prover) Thumbprint() (string, error) {
	sum, err := p.jwk.Thumbprint(crypto.SHA256)
	if err != nil {
		return "", fmt.Errorf("DPoP: thumbprint: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(sum), nil
}

// Proof returns the value of the DPoP header of one request. The access token is empty at the
// token endpoint. An empty nonce is omitted. A proof ignores query and fragment of the URL.
func (p *Prover) Proof(method, rawURL, accessToken, nonce string) (string, error) {
	target, err := proofURL(rawURL)
	if err != nil {
		return "", err
	}
	claims := map[string]any{
		"jti": random(16),
		"htm": method,
		"htu": target,
		"iat": time.Now().Unix(),
	}
	if accessToken != "" {
		sum := sha256.Sum256([]byte(accessToken))
		claims["ath"] = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	if nonce != "" {
		claims["nonce"] = nonce
	}
	return p.key.Sign(claims, map[string]any{"typ": "dpop+jwt", "jwk": p.jwk})
}

// Nonce returns the latest nonce that the origin of rawURL gave, or "".
func (p *Prover) Nonce(rawURL string) string {
	origin := originOf(rawURL)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.nonces[origin]
}

// SetNonce keeps the nonce of a DPoP-Nonce header for the next request to the origin of rawURL.
// It ignores a value that is not a nonce. It reports whether the nonce is new.
func (p *Prover) SetNonce(rawURL, nonce string) bool {
	origin := originOf(rawURL)
	if origin == "" || !visible(nonce) || len(nonce) > longestNonce || strings.ContainsAny(nonce, `"\`) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.nonces[origin] == nonce {
		return false
	}
	if _, known := p.nonces[origin]; !known && len(p.nonces) >= mostNonces {
		for other := range p.nonces { // any: an origin without its nonce costs one more round trip
			delete(p.nonces, other)
			break
		}
	}
	p.nonces[origin] = nonce
	return true
}

// String describes the prover without its secrets.
func (p *Prover) String() string { return "DPoP key " + hidden }

// GoString is String, so that %#v shows no secrets either.
func (p *Prover) GoString() string { return p.String() }

// Format writes String for every verb.
func (p *Prover) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(p.String())) }

// LogValue implements [slog.LogValuer] with String.
func (p *Prover) LogValue() slog.Value { return slog.StringValue(p.String()) }

// MarshalText writes String.
func (p *Prover) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// proofURL returns the htu of a request, normalized for the comparison of RFC 9449 §4.3.
func proofURL(rawURL string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return "", errors.New("DPoP: the URL of the request is not absolute")
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	return origin(u) + path, nil
}

func originOf(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil || u.Host == "" {
		return ""
	}
	return origin(u)
}

var defaultPorts = map[string]string{"https": ":443", "http": ":80"}

func origin(u *url.URL) string {
	scheme := strings.ToLower(u.Scheme)
	return scheme + "://" + strings.TrimSuffix(strings.ToLower(u.Host), defaultPorts[scheme])
}
