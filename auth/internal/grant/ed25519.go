package grant

import (
	"crypto/ed25519"
	"errors"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// algEd25519 is the name that RFC 9864 gives to EdDSA with an Ed25519 key. Servers list the one, the
// other or both; the signatures are the same. It is not in package jose.
const algEd25519 = jose.SignatureAlgorithm("Ed25519")

// edAlgs are both names, the older first: more servers know it.
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

// signingKey is the key as package jose takes it.
func (k *key) signingKey() jose.SigningKey {
	if private, ok := k.secret.private.(ed25519.PrivateKey); ok {
		return jose.SigningKey{Algorithm: k.alg, Key: edSigner{private}}
	}
	return jose.SigningKey{Algorithm: k.alg, Key: k.secret.private}
}

// edSigner signs under both names. It lives for one signature.
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
