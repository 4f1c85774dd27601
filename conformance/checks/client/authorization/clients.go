package authorization

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/checks/client/authorization/internal/guarded"
	"github.com/mainstay-mcp/mainstay/conformance/internal/client/trial"
)

const (
	knownID  = "registered-before"
	document = "https://client.example/mcp/client.json"
)

// clients judges how the client registers.
func clients() []login {
	return []login{
		newLogin("C-REGISTERED-BEFORE", func(w *guarded.World, way *trial.Login) {
			way.ClientID, way.Issuer = knownID, w.First.Issuer
			w.First.Know(guarded.Client{ID: knownID})
		}, func(v *view) { judgeKnown(v, "C-AUTH-13/before", knownID) }),
		newLogin("C-REGISTERED-ELSEWHERE", func(w *guarded.World, way *trial.Login) {
			way.ClientID, way.Issuer, way.ClientSecret = knownID, w.Second.Issuer, w.Secret("client secret")
			w.First.Know(guarded.Client{ID: knownID, Secret: way.ClientSecret})
		}, func(v *view) {
			used := ""
			for _, r := range v.All(func(r *guarded.Request) bool { return r.Host == guarded.First }) {
				if r.Query.Get("client_id") == knownID || r.Form.Get("client_id") == knownID || r.Header.Get("Authorization") != "" {
					used = r.Where()
				}
			}
			v.Check("C-AUTH-16/elsewhere", used == "" && v.refused(), "an error, and no request with the id", used+v.said(0))
		}),
		newLogin("C-CLIENT-DOCUMENT", func(w *guarded.World, way *trial.Login) {
			way.ClientMetadata = document
			w.First.Metadata["client_id_metadata_document_supported"] = true
		}, func(v *view) { judgeKnown(v, "C-AUTH-13/document", document) }),
		newLogin("C-NOT-REGISTERED", func(w *guarded.World, _ *trial.Login) {
			w.Handlers[guarded.First+"/register"] = func(out http.ResponseWriter, _ *http.Request) {
				guarded.Document(out, http.StatusBadRequest, map[string]any{"error": "invalid_redirect_uri"})
			}
		}, func(v *view) {
			tries := len(v.At(guarded.First, "/register"))
			if tries == 0 {
				v.Unknown("the client does not register")
				return
			}
			v.toldError("C-AUTH-15/refused")
			n := len(v.Logins())
			v.Check("C-AUTH-15/bounded", n == 0 && tries <= 3, "no authorization request, and at most three of registration", fmt.Sprintf("%d, and %d", n, tries))
		}),
		newLogin("C-NO-REGISTRATION", func(w *guarded.World, _ *trial.Login) {
			delete(w.First.Metadata, "registration_endpoint")
		}, func(v *view) {
			n := len(v.Logins())
			v.Check("C-AUTH-13/none", n == 0 && v.refused(), "an error, and no authorization request", count(n, "authorization request")+v.said(0))
		}),
	}
}

func judgeKnown(v *view, id, want string) {
	logins := v.Logins()
	if !v.hasLogin() {
		return
	}
	n := len(v.At(guarded.First, "/register"))
	got := logins[0].Query.Get("client_id")
	v.Check(id, n == 0 && got == want, "client_id "+want+", and no registration", fmt.Sprintf("client_id %s, and %s", got, count(n, "registration")))
}

// programs judges clients without a person, and tokens that are bound to a key.
func programs() []login {
	machine := func(w *guarded.World, way *trial.Login) {
		way.ClientID, way.Issuer = knownID, w.First.Issuer
		delete(w.First.Metadata, "registration_endpoint")
		w.First.Metadata["grant_types_supported"] = []string{"client_credentials"}
	}
	bound := func(w *guarded.World, way *trial.Login) {
		way.DPoP = true
		w.First.Metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
		w.Metadata["dpop_bound_access_tokens_required"] = true
	}
	return []login{
		newLogin("C-MACHINE-SECRET", func(w *guarded.World, way *trial.Login) {
			machine(w, way)
			way.Flow, way.ClientSecret = trial.FlowSecret, w.Secret("client secret")+"/+%"
			w.First.Know(guarded.Client{ID: knownID, Secret: way.ClientSecret})
			w.First.Metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
		}, func(v *view) { judgeMachine(v, "C-XAUTH-01/secret", "client_secret_basic") }),
		newLogin("C-MACHINE-KEY", func(w *guarded.World, way *trial.Login) {
			machine(w, way)
			key, private := newKey()
			way.Flow, way.PrivateKey = trial.FlowKey, private
			w.First.Key = key
			w.First.Know(guarded.Client{ID: knownID})
			w.First.Metadata["token_endpoint_auth_methods_supported"] = []string{"private_key_jwt"}
			w.First.Metadata["token_endpoint_auth_signing_alg_values_supported"] = []string{"ES256"}
		}, func(v *view) { judgeMachine(v, "C-XAUTH-01/key", "private_key_jwt") }),
		newLogin("C-DPOP", bound, func(v *view) {
			if !v.exchanged() {
				return
			}
			judgeProofs(v, "C-XAUTH-03/proofs")
			wrong := ""
			for _, r := range v.Messages() {
				if scheme, token := r.Bearer(); token != "" && scheme != "dpop" {
					wrong = scheme
				}
			}
			v.Check("C-XAUTH-03/scheme", wrong == "", "DPoP", wrong)
		}),
		newLogin("C-DPOP-NONCE", func(w *guarded.World, way *trial.Login) {
			bound(w, way)
			w.Nonce, w.First.Nonce = "nonce-of-the-server", "nonce-of-the-authorization-server"
		}, func(v *view) {
			if v.exchanged() {
				judgeProofs(v, "C-XAUTH-03/nonce")
			}
		}),
	}
}

// newKey makes a key pair; the private one is PEM, PKCS #8.
func newKey() (*ecdsa.PublicKey, string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, "" // crypto/rand does not fail
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, ""
	}
	return &key.PublicKey, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func judgeMachine(v *view, id, want string) {
	asked := v.Tokens("client_credentials")
	if len(asked) == 0 {
		v.Check(id, false, "a token request with client_credentials", "none")
		return
	}
	got, _, _ := guarded.Used(asked[0])
	resource := v.Base + guarded.Endpoint
	ok := got == want && asked[0].Form.Get("resource") == resource && len(v.Problems()) == 0 && v.result(0)
	v.Check(id, ok, want+", resource="+resource+", and the result",
		fmt.Sprintf("%s, resource=%s, %s%s", got, asked[0].Form.Get("resource"), names(v.Problems()), v.said(0)))
}

func judgeProofs(v *view, id string) {
	passed := 0
	for _, r := range v.Messages() {
		if r.Header.Get("DPoP") != "" && !r.Refused() {
			passed++
		}
	}
	calls := v.World.Calls("echo")
	served := slices.ContainsFunc(calls, func(r *guarded.Request) bool { return !r.Refused() }) && v.result(0)
	v.Check(id, served && passed > 0 && len(v.Problems()) == 0 && len(calls) <= 2, "right proofs, and the result",
		fmt.Sprintf("%s with a proof, %s, %s%s", count(passed, "request"), count(len(calls), "call"), names(v.Problems()), v.said(0)))
}
