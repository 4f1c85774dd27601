package grant

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Signer signs JWTs with a private key.
type Signer interface {
	// Sign returns the claims as a signed compact JWT. It sets alg in the header, and typ "JWT"
	// unless header has another.
	Sign(claims any, header map[string]any) (string, error)
	Algorithm() string // "ES256", "RS256", …
	// Listed returns the signer with a name of its algorithm that is in a server's list, or nil.
	// An empty list allows all names.
	Listed(algs []string) Signer
	Public() any // the public key, of a type of package crypto
}

// fewestRSABits is the minimum of RFC 7518 §3.3 for an RSA key.
const fewestRSABits = 2048

// NewSigner reads a private key. The text is PEM (PKCS #8, PKCS #1 or SEC 1) or one JWK, whose kid
// is sent in headers. An empty alg selects the usual algorithm of the key: ES256, ES384 or ES512 by
// curve, RS256, or EdDSA, of which Ed25519 is another name.
func NewSigner(text []byte, alg string) (Signer, error) {
	k, err := parseKey(text)
	if err != nil {
		return nil, err
	}
	return newSigner(k.Key, k.KeyID, cmp.Or(alg, k.Algorithm))
}

// key is a private key in memory.
type key struct {
	secret *secretKey // fmt does not follow pointers at this depth
	public any
	alg    jose.SignatureAlgorithm
	kid    string
}

type secretKey struct{ private any }

func newSigner(private any, kid, alg string) (*key, error) {
	k := &key{secret: &secretKey{private}, kid: kid}
	var fit []jose.SignatureAlgorithm
	switch p := private.(type) {
	case *ecdsa.PrivateKey:
		k.public = &p.PublicKey
		switch bits := p.Curve.Params().BitSize; bits {
		case 256:
			fit = []jose.SignatureAlgorithm{jose.ES256}
		case 384:
			fit = []jose.SignatureAlgorithm{jose.ES384}
		case 521:
			fit = []jose.SignatureAlgorithm{jose.ES512}
		default:
			return nil, fmt.Errorf("the private key has a curve of %d bits; use P-256, P-384 or P-521", bits)
		}
	case *rsa.PrivateKey:
		k.public = &p.PublicKey
		if bits := p.N.BitLen(); bits < fewestRSABits {
			return nil, fmt.Errorf("the RSA key has %d bits; at least %d are needed", bits, fewestRSABits)
		}
		fit = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512}
	case ed25519.PrivateKey:
		k.public = p.Public()
		fit = edAlgs
	default:
		return nil, errors.New("the private key is neither EC, RSA nor Ed25519")
	}
	k.alg = fit[0]
	if alg != "" {
		k.alg = jose.SignatureAlgorithm(alg)
	}
	if !slices.Contains(fit, k.alg) {
		return nil, fmt.Errorf("the private key cannot sign with %q; it can with %v", printable(alg, 32), fit)
	}
	return k, nil
}

// parseKey reads a private key. Its errors never quote the text, which is a secret.
func parseKey(text []byte) (k jose.JSONWebKey, err error) {
	text = bytes.TrimSpace(text)
	if bytes.HasPrefix(text, []byte("{")) {
		if json.Unmarshal(text, &k) != nil || !k.Valid() || k.IsPublic() {
			return jose.JSONWebKey{}, errors.New("the JWK is not a valid private key")
		}
		return k, nil
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		switch block.Type {
		case "PRIVATE KEY":
			k.Key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			k.Key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			k.Key, err = x509.ParseECPrivateKey(block.Bytes)
		case "ENCRYPTED PRIVATE KEY":
			return jose.JSONWebKey{}, errors.New("the private key is encrypted; decrypt it first")
		default: // files with keys also have certificates and curve parameters
			continue
		}
		if err != nil {
			return jose.JSONWebKey{}, fmt.Errorf("the %s in the PEM text cannot be read", block.Type)
		}
		return k, nil
	}
	return jose.JSONWebKey{}, errors.New("there is no private key in the text: neither PEM nor JWK")
}

// Sign implements [Signer].
func (k *key) Sign(claims any, header map[string]any) (string, error) {
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", errors.New("sign a JWT: the claims cannot be encoded as JSON")
	}
	opts := (&jose.SignerOptions{}).WithType("JWT")
	if k.kid != "" {
		opts.WithHeader("kid", k.kid)
	}
	for name, value := range header {
		if name == "alg" {
			continue
		}
		opts.WithHeader(jose.HeaderKey(name), value)
	}
	signer, err := jose.NewSigner(k.signingKey(), opts)
	if err != nil {
		return "", fmt.Errorf("sign a JWT: %w", err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("sign a JWT: %w", err)
	}
	return signed.CompactSerialize()
}

// Algorithm implements [Signer].
func (k *key) Algorithm() string { return string(k.alg) }

// Public implements [Signer].
func (k *key) Public() any { return k.public }

func (k *key) String() string { return "private key " + hidden + " for " + string(k.alg) }

// GoString is String, so that %#v shows no secrets either.
func (k *key) GoString() string { return k.String() }

// Format writes String for every verb.
func (k *key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(k.String())) }

// assertionLife is how long a client assertion is valid: long enough for clocks that
// differ, and short in case it leaks.
const assertionLife = 2 * time.Minute

// Assertion returns a JWT with which a client authenticates itself (RFC 7523 §3). The audience is
// the issuer identifier of the authorization server. Use it for one request.
func Assertion(s Signer, clientID, audience string, now time.Time) (string, error) {
	return s.Sign(map[string]any{
		"iss": clientID,
		"sub": clientID,
		"aud": audience,
		"jti": random(16),
		"iat": now.Unix(),
		"exp": now.Add(assertionLife).Unix(),
	}, nil)
}
