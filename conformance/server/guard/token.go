package guard

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// algorithms are the signatures that are accepted. None is symmetric, and none is
// "none".
var algorithms = []jose.SignatureAlgorithm{
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
}

func algorithmNames() []string {
	names := make([]string, len(algorithms))
	for i, a := range algorithms {
		names[i] = string(a)
	}
	return names
}

// skew is how far the clock of another machine may be ahead. A token is refused
// from the second in which it expires, though: clients under test shall see it.
const skew = 5 * time.Second

// claims are the members of a token, by their exact names.
type claims map[string]json.RawMessage

// text returns a member that is a string, or "".
func (c claims) text(name string) string {
	var s string
	_ = json.Unmarshal(c[name], &s) // another type is no value
	return s
}

// list returns a member that is a string or an array of strings.
func (c claims) list(name string) []string {
	var many []string
	if json.Unmarshal(c[name], &many) == nil {
		return many
	}
	if one := c.text(name); one != "" {
		return []string{one}
	}
	return nil
}

// time returns a NumericDate (RFC 7519 §2), and whether there is one.
func (c claims) time(name string) (time.Time, bool) {
	var seconds float64
	if len(c[name]) == 0 || string(c[name]) == "null" || json.Unmarshal(c[name], &seconds) != nil || math.Abs(seconds) > 1<<40 {
		return time.Time{}, false
	}
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*float64(time.Second))), true
}

// check verifies an access token (RFC 9068 §4). Its errors are plain words about
// the rule that is broken, without anything of the token.
func (g *Guard) check(ctx context.Context, token, resource string) (*caller, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, errors.New("the access token is not a JWT with a signature that is accepted")
	}
	header := signed.Signatures[0].Protected
	typ, _ := header.ExtraHeaders[jose.HeaderType].(string)
	if typ = strings.ToLower(typ); typ != "at+jwt" && typ != "application/at+jwt" {
		return nil, errors.New("the access token has another typ than at+jwt")
	}
	payload, err := g.verified(ctx, signed, header.KeyID, header.Algorithm)
	if err != nil {
		return nil, err
	}
	var c claims
	if json.Unmarshal(payload, &c) != nil {
		return nil, errors.New("the access token holds no claims")
	}
	now := time.Now()
	expires, ok := c.time("exp")
	switch begin, later := c.time("nbf"); {
	case c.text("iss") != g.opts.Issuer:
		return nil, errors.New("the access token is of another issuer")
	case !slices.Contains(c.list("aud"), resource):
		return nil, errors.New("the access token is for another audience")
	case !ok:
		return nil, errors.New("the access token does not say when it expires")
	case !now.Before(expires):
		return nil, errors.New("the access token has expired")
	case len(c["nbf"]) > 0 && !later:
		return nil, errors.New("the access token does not say when it begins")
	case later && begin.After(now.Add(skew)):
		return nil, errors.New("the access token is not valid yet")
	}
	return c.caller(expires)
}

// verified returns the payload of a token that one of the keys of the issuer signed.
func (g *Guard) verified(ctx context.Context, signed *jose.JSONWebSignature, kid, algorithm string) ([]byte, error) {
	found, err := g.keys.find(ctx, kid, algorithm)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errors.New("the access token is signed with a key that its issuer does not have")
	}
	for _, key := range found {
		if payload, err := signed.Verify(key); err == nil {
			return payload, nil
		}
	}
	return nil, errors.New("the signature of the access token is wrong")
}

// caller reads who the token is of and what it is good for.
func (c claims) caller(expires time.Time) (*caller, error) {
	who := &caller{user: c.text("sub"), client: c.text("client_id"), expires: expires}
	if who.user == "" {
		who.user = who.client
	}
	for _, text := range append(c.list("scope"), c.list("scp")...) { // some servers write scp, as an array
		who.scopes = append(who.scopes, strings.Fields(text)...)
	}
	if bound, ok := c["cnf"]; ok { // RFC 7800
		var confirm struct {
			Thumbprint string `json:"jkt"`
		}
		if json.Unmarshal(bound, &confirm) != nil || confirm.Thumbprint == "" {
			return nil, errors.New("the access token is bound in a way that this server cannot check")
		}
		who.key = confirm.Thumbprint
	}
	return who, nil
}
