package guarded

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
	"time"
)

// proof is a DPoP proof that was verified (RFC 9449 section 4.3).
type proof struct{ key, nonce string }

type jwk struct {
	Kty string `json:"kty"`
	Crv string `json:"crv"`
	X   string `json:"x"`
	Y   string `json:"y"`
	D   string `json:"d"`
}

type claims struct {
	Htm, Htu, Jti, Ath, Nonce, Iss, Sub string
	Aud                                 any
	Iat, Exp                            float64
}

// proof verifies the DPoP header of a request to a URL; token is empty at the token
// endpoint.
func (w *World) proof(r *Request, at, token string) (proof, string) {
	values := r.Header.Values("DPoP")
	if len(values) != 1 {
		return proof{}, "there is not one DPoP header"
	}
	var header struct {
		Typ, Alg string
		Jwk      jwk
	}
	var c claims
	signed, signature, ok := split(values[0], &header, &c)
	if !ok {
		return proof{}, "the DPoP header is no JWT"
	}
	key := header.Jwk.public()
	sum := ""
	if token != "" {
		hash := sha256.Sum256([]byte(token))
		sum = base64.RawURLEncoding.EncodeToString(hash[:])
	}
	target, _, _ := strings.Cut(c.Htu, "?")
	w.mu.Lock()
	again := w.proofs[c.Jti]
	w.proofs[c.Jti] = true
	w.mu.Unlock()
	switch {
	case header.Typ != "dpop+jwt" || header.Alg != "ES256" || key == nil || header.Jwk.D != "":
		return proof{}, "the header of the proof is not that of an ES256 proof with a public key"
	case !verify(key, signed, signature):
		return proof{}, "the signature of the proof is wrong"
	case c.Htm != r.Method || target != at:
		return proof{}, "the proof is for " + c.Htm + " " + c.Htu
	case c.Jti == "" || again:
		return proof{}, "a proof was used twice"
	case c.Ath != sum:
		return proof{}, "ath is not the hash of the token"
	case time.Since(time.Unix(int64(c.Iat), 0)).Abs() > 5*time.Minute:
		return proof{}, "iat is not now"
	}
	return proof{header.Jwk.thumbprint(), c.Nonce}, ""
}

// assertion verifies the client assertion of a token request (RFC 7523 section 3).
func (s *Server) assertion(r *Request) (id, problem string) {
	var header struct{ Alg string }
	var c claims
	signed, signature, ok := split(r.Form.Get("client_assertion"), &header, &c)
	audience := false
	switch aud := c.Aud.(type) {
	case string:
		audience = aud == s.Issuer
	case []any:
		audience = len(aud) == 1 && aud[0] == s.Issuer
	}
	switch {
	case !ok:
		return "", "the assertion is no JWT"
	case r.Form.Get("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer":
		return "", "client_assertion_type is " + r.Form.Get("client_assertion_type")
	case header.Alg != "ES256" || s.Key == nil || !verify(s.Key, signed, signature):
		return "", "the signature of the assertion is wrong"
	case c.Iss == "" || c.Iss != c.Sub:
		return "", "iss and sub of the assertion are not both the client id"
	case !audience:
		return "", "aud of the assertion is not the issuer of the authorization server"
	case time.Unix(int64(c.Exp), 0).Before(time.Now()):
		return "", "the assertion has expired"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.clients[c.Iss]; !known {
		return "", "the assertion is of an unknown client"
	}
	return c.Iss, ""
}

// split takes a compact JWS apart.
func split(text string, header, payload any) (signed string, signature []byte, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return "", nil, false
	}
	for i, to := range []any{header, payload} {
		raw, err := base64.RawURLEncoding.DecodeString(parts[i])
		if err != nil || json.Unmarshal(raw, to) != nil {
			return "", nil, false
		}
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	return parts[0] + "." + parts[1], signature, err == nil
}

// verify checks an ES256 signature (RFC 7518 section 3.4).
func verify(key *ecdsa.PublicKey, signed string, signature []byte) bool {
	const half = 32
	if len(signature) != 2*half {
		return false
	}
	sum := sha256.Sum256([]byte(signed))
	return ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(signature[:half]), new(big.Int).SetBytes(signature[half:]))
}

// public is the key of a JWK, nil if it is not one on the curve P-256.
func (k jwk) public() *ecdsa.PublicKey {
	x, err := base64.RawURLEncoding.DecodeString(k.X)
	y, err2 := base64.RawURLEncoding.DecodeString(k.Y)
	if err != nil || err2 != nil || k.Kty != "EC" || k.Crv != "P-256" || len(x) != 32 || len(y) != 32 {
		return nil
	}
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, x...), y...))
	if err != nil {
		return nil
	}
	return key
}

// thumbprint is that of RFC 7638.
func (k jwk) thumbprint() string {
	sum := sha256.Sum256([]byte(`{"crv":"` + k.Crv + `","kty":"` + k.Kty + `","x":"` + k.X + `","y":"` + k.Y + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
