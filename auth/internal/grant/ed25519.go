package grant

import (
	"crypto/ed25519"
	"errors"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// algEd25519 is the name of RFC 9864 for EdDSA with an Ed25519 key. Servers list one of the names
// or both. The signatures are the same. Package jose does not have it.
const algEd25519 = jose.SignatureAlgorithm("Ed25519")

// edAlgs are both names. The older is first, because more servers know it.
var edAlgs = []jose.SignatureAlgorithm{jose.EdDSA, algEd25519}

// Listed implements [Signer].
func (k *key) Listed(algs []string) Signer {
	if len(algs) == 0 || slices.Contains(algs, string(k.alg)) {
		return k
	}
	if !slices.Contains(edAlgs, k.alg) {
		return nil
	}
	for _, alg := range edAlgs {
		if slices.Contains(algs, string(alg)) {
			renamed := *k
			renamed.alg = alg
			return &renamed
		}
	}
	return nil
}

// signingKey returns the key in the form of package jose.
func (k *key) signingKey() jose.SigningKey {
	if private, ok := k.secret.private.(ed25519.PrivateKey); ok {
		return jose.SigningKey{Algorithm: k.alg, Key: edSigner{private}}
	}
	return jose.SigningKey{Algorithm: k.alg, Key: k.secret.private}
}

// edSigner signs under both names.
type edSigner struct{ private ed25519.PrivateKey }

// Public implements [jose.OpaqueSigner].
func (s edSigner) Public() *jose.JSONWebKey { return &jose.JSONWebKey{Key: s.private.Public()} }

// Algs implements [jose.OpaqueSigner].
func (edSigner) Algs() []jose.SignatureAlgorithm { return edAlgs }

// SignPayload implements [jose.OpaqueSigner].
func (s edSigner) SignPayload(payload []byte, _ jose.SignatureAlgorithm) ([]byte, error) {
	if len(s.private) != ed25519.PrivateKeySize {
		return nil, errors.New("the Ed25519 key has a wrong length")
	}
	return ed25519.Sign(s.private, payload), nil
}
