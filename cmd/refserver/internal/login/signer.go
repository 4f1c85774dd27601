package login

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-oauth2/oauth2/v4"
)

// signer makes access tokens as JWTs of RFC 9068, and refresh tokens as random text.
type signer struct {
	issuer, resource string
	key              jose.JSONWebKey
	sign             jose.Signer
}

func newSigner(issuer, resource string) (*signer, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	s := &signer{issuer: issuer, resource: resource}
	s.key = jose.JSONWebKey{Key: private, KeyID: rand.Text(), Algorithm: string(jose.ES256), Use: "sig"}
	s.sign, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: s.key}, (&jose.SignerOptions{}).WithType("at+jwt"))
	return s, err
}

// public are the keys with which others check tokens.
func (s *signer) public() jose.JSONWebKeySet {
	return jose.JSONWebKeySet{Keys: []jose.JSONWebKey{s.key.Public()}}
}

// claims are those of RFC 9068 section 2.2.
type claims struct {
	Issuer   string `json:"iss"`
	Audience string `json:"aud"`
	Subject  string `json:"sub"`
	Client   string `json:"client_id"`
	ID       string `json:"jti"`
	Scope    string `json:"scope,omitempty"`
	Issued   int64  `json:"iat"`
	Expires  int64  `json:"exp"`
}

// Token implements [oauth2.AccessGenerate].
func (s *signer) Token(_ context.Context, about *oauth2.GenerateBasic, refreshable bool) (access, refresh string, err error) {
	t := about.TokenInfo
	end := t.GetAccessCreateAt().Add(t.GetAccessExpiresIn())
	text, err := json.Marshal(claims{
		Issuer: s.issuer, Audience: s.resource, Subject: about.UserID, Client: about.Client.GetID(), ID: rand.Text(), Scope: t.GetScope(),
		Issued: about.CreateAt.Unix(), Expires: end.Add(time.Second - 1).Unix(), // rounded up: expires_in must not promise more
	})
	if err != nil {
		return "", "", err
	}
	signed, err := s.sign.Sign(text)
	if err != nil {
		return "", "", err
	}
	if refreshable {
		refresh = rand.Text()
	}
	access, err = signed.CompactSerialize()
	return access, refresh, err
}

// issued reports whether a text is an access token of this server.
func (s *signer) issued(text string) bool {
	signed, err := jose.ParseSignedCompact(text, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil {
		return false
	}
	_, err = signed.Verify(s.key.Public())
	return err == nil
}
