package guard

import (
	"crypto"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	proofAge   = time.Minute // how old a proof may be
	maxProof   = 8 << 10     // bytes
	maxProofID = 256         // bytes
	maxProofs  = 1 << 17     // of proofAge+skew
)

// proofs checks DPoP proofs, and remembers those it has seen.
type proofs struct {
	mu            sync.Mutex
	recent, older map[[sha256.Size]byte]struct{} // older is of the window before
	turned        time.Time
}

func unproven(reason string) *refusal {
	return &refusal{status: http.StatusUnauthorized, code: "invalid_dpop_proof", reason: reason, dpop: true}
}

// check verifies the proof of a request with a token, which is bound to a key
// (RFC 9449 §4.3).
func (p *proofs) check(r *http.Request, resource *url.URL, token [sha256.Size]byte, bound string) *refusal {
	given := r.Header.Values("DPoP")
	if len(given) != 1 || len(given[0]) > maxProof {
		return unproven("there must be one DPoP header")
	}
	signed, err := jose.ParseSignedCompact(given[0], algorithms)
	if err != nil {
		return unproven("the proof is not a JWT with a signature that is accepted")
	}
	header := signed.Signatures[0].Protected
	key := header.JSONWebKey
	if typ, _ := header.ExtraHeaders[jose.HeaderType].(string); !strings.EqualFold(typ, "dpop+jwt") {
		return unproven("the proof has another typ than dpop+jwt")
	}
	if key == nil || !key.Valid() || !key.IsPublic() {
		return unproven("the proof has no public key")
	}
	payload, err := signed.Verify(key)
	if err != nil {
		return unproven("the signature of the proof is wrong")
	}
	var c claims
	if json.Unmarshal(payload, &c) != nil {
		return unproven("the proof holds no claims")
	}
	thumbprint, err := key.Thumbprint(crypto.SHA256)
	if err != nil || !same(base64.RawURLEncoding.EncodeToString(thumbprint), bound) {
		return invalid(true, "the access token is bound to another key than that of the proof")
	}
	made, dated := c.time("iat")
	id := c.text("jti")
	now := time.Now()
	switch {
	case c.text("htm") != r.Method:
		return unproven("the proof is for another method")
	case !sameTarget(c.text("htu"), resource, r.URL.EscapedPath()):
		return unproven("the proof is for another URL")
	case !same(c.text("ath"), base64.RawURLEncoding.EncodeToString(token[:])):
		return unproven("the proof is for another access token")
	case id == "" || len(id) > maxProofID:
		return unproven("the proof has no usable jti")
	case !dated || made.After(now.Add(skew)) || now.Sub(made) > proofAge:
		return unproven("the proof is too old or from the future")
	}
	return p.remember(sha256.Sum256([]byte(bound+" "+id)), now)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// sameTarget compares an htu with the URL of the request: without query and
// fragment, and normalized (RFC 9449 §4.3). The origin is that of the resource, as
// clients see it before any proxy.
func sameTarget(htu string, resource *url.URL, path string) bool {
	u, err := url.Parse(htu)
	if err != nil || u.Host == "" {
		return false
	}
	return origin(u) == origin(resource) && orSlash(u.EscapedPath()) == orSlash(path)
}

func origin(u *url.URL) string {
	scheme, host := strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	return scheme + "://" + strings.TrimSuffix(host, map[string]string{"https": ":443", "http": ":80"}[scheme])
}

func orSlash(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

// remember refuses a proof that came before (RFC 9449 §11.1). Two windows are
// kept, so each proof is known for as long as its iat is good.
func (p *proofs) remember(id [sha256.Size]byte, now time.Time) *refusal {
	const window = proofAge + skew
	p.mu.Lock()
	defer p.mu.Unlock()
	if past := now.Sub(p.turned); p.recent == nil || past > window {
		p.older = p.recent
		if past > 2*window {
			p.older = nil
		}
		p.recent, p.turned = map[[sha256.Size]byte]struct{}{}, now
	}
	_, again := p.recent[id]
	if !again {
		_, again = p.older[id]
	}
	switch {
	case again:
		return unproven("the proof was used before")
	case len(p.recent) >= maxProofs: // to forget one would be to accept it twice
		return unavailable("too many proofs at a time; try again")
	}
	p.recent[id] = struct{}{}
	return nil
}
