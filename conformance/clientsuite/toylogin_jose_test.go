package clientsuite_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"time"
)

func encode(v any) string {
	raw, _ := json.Marshal(v)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// sign makes a compact JWS with ES256 (RFC 7518 section 3.4).
func sign(key *ecdsa.PrivateKey, header, claims map[string]any) string {
	header["alg"] = "ES256"
	text := encode(header) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return ""
	}
	var signature [64]byte
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + base64.RawURLEncoding.EncodeToString(signature[:])
}

// proof makes a DPoP proof (RFC 9449 section 4.2).
func (c *toyLogin) proof(method, at, access string) string {
	if c.is("login-reuses-proofs") && c.lastProof != "" && access != "" {
		return c.lastProof
	}
	if c.key == nil {
		c.key, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	point, err := c.key.PublicKey.Bytes()
	if err != nil {
		return ""
	}
	claims := map[string]any{"jti": random(), "htm": method, "htu": at, "iat": time.Now().Unix()}
	if access != "" {
		sum := sha256.Sum256([]byte(access))
		claims["ath"] = base64.RawURLEncoding.EncodeToString(sum[:])
	}
	if nonce := c.nonces[at]; nonce != "" {
		claims["nonce"] = nonce
	}
	jwk := map[string]string{"kty": "EC", "crv": "P-256", "x": base64.RawURLEncoding.EncodeToString(point[1:33]), "y": base64.RawURLEncoding.EncodeToString(point[33:])}
	out := sign(c.key, map[string]any{"typ": "dpop+jwt", "jwk": jwk}, claims)
	if access != "" {
		c.lastProof = out
	}
	return out
}

// nonce remembers the nonce that the server wants.
func (c *toyLogin) nonce(resp *http.Response) {
	if n := resp.Header.Get("DPoP-Nonce"); n != "" {
		c.turn <- struct{}{}
		c.nonces[c.Server] = n
		<-c.turn
	}
}

// assertion is a client assertion (RFC 7523 section 3).
func (c *toyLogin) assertion(s *server, id string) string {
	block, _ := pem.Decode([]byte(c.Way.PrivateKey))
	if block == nil {
		return ""
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(*ecdsa.PrivateKey)
	if err != nil || !ok {
		return ""
	}
	audience := s.Issuer
	if c.is("login-wrong-audience") {
		audience = s.Token
	}
	now := time.Now()
	return sign(key, map[string]any{"typ": "JWT"}, map[string]any{
		"iss": id, "sub": id, "aud": audience, "jti": random(), "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(),
	})
}
