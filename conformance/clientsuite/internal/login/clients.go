package login

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/clientsuite/internal/guarded"
)

const (
	knownID  = "registered-before"
	document = "https://client.example/mcp/client.json"
)

// clients look at how the client becomes known.
func clients() []Scenario {
	return []Scenario{
		scenario("C-REGISTERED-BEFORE", func(w *guarded.World, way *Way) {
			way.ClientID, way.Issuer = knownID, w.First.Issuer
			w.First.Know(guarded.Client{ID: knownID})
		}, func(v *View) { judgeKnown(v, "C-AUTH-13/before", knownID) }).optional(),
		scenario("C-REGISTERED-ELSEWHERE", func(w *guarded.World, way *Way) {
			way.ClientID, way.Issuer, way.ClientSecret = knownID, w.Second.Issuer, w.Secret("client secret")
			w.First.Know(guarded.Client{ID: knownID, Secret: way.ClientSecret})
		}, func(v *View) {
			used := ""
			for _, r := range v.All(func(r *guarded.Request) bool { return r.Host == guarded.First }) {
				if r.Query.Get("client_id") == knownID || r.Form.Get("client_id") == knownID || r.Header.Get("Authorization") != "" {
					used = r.Where()
				}
			}
			v.Check("C-AUTH-16/elsewhere", used == "" && (v.failed(0) || !v.Tells), "an error, and no request with the id", used+said(v.outcome(0))+v.stopped())
		}).optional(),
		scenario("C-CLIENT-DOCUMENT", func(w *guarded.World, way *Way) {
			way.ClientMetadata = document
			w.First.Metadata["client_id_metadata_document_supported"] = true
		}, func(v *View) { judgeKnown(v, "C-AUTH-13/document", document) }).optional(),
		scenario("C-NOT-REGISTERED", func(w *guarded.World, _ *Way) {
			w.Handlers[guarded.First+"/register"] = func(out http.ResponseWriter, _ *http.Request) {
				guarded.Document(out, http.StatusBadRequest, map[string]any{"error": "invalid_redirect_uri"})
			}
		}, func(v *View) {
			tries := len(v.At(guarded.First, "/register"))
			if tries == 0 {
				v.Unknown("the client does not register")
				return
			}
			v.toldError("C-AUTH-15/refused")
			n := len(v.Logins())
			v.Check("C-AUTH-15/bounded", n == 0 && tries <= 3, "no authorization request, and at most three of registration", fmt.Sprintf("%d, and %d", n, tries))
		}),
		scenario("C-NO-REGISTRATION", func(w *guarded.World, _ *Way) {
			delete(w.First.Metadata, "registration_endpoint")
		}, func(v *View) {
			n := len(v.Logins())
			v.Check("C-AUTH-13/none", n == 0 && (v.failed(0) || !v.Tells), "an error, and no authorization request", count(n, "authorization request")+said(v.outcome(0))+v.stopped())
		}),
	}
}

func judgeKnown(v *View, id, want string) {
	logins := v.Logins()
	if len(logins) == 0 {
		v.Unknown("no login began")
		return
	}
	n := len(v.At(guarded.First, "/register"))
	got := logins[0].Query.Get("client_id")
	v.Check(id, n == 0 && got == want, "client_id "+want+", and no registration", fmt.Sprintf("client_id %s, and %s", got, count(n, "registration")))
}

// programs look at clients without a person, and at tokens that are bound to a key.
func programs() []Scenario {
	machine := func(w *guarded.World, way *Way) {
		way.ClientID, way.Issuer = knownID, w.First.Issuer
		delete(w.First.Metadata, "registration_endpoint")
		w.First.Metadata["grant_types_supported"] = []string{"client_credentials"}
	}
	bound := func(w *guarded.World, way *Way) {
		way.DPoP = true
		w.First.Metadata["dpop_signing_alg_values_supported"] = []string{"ES256"}
		w.Metadata["dpop_bound_access_tokens_required"] = true
	}
	return []Scenario{
		scenario("C-MACHINE-SECRET", func(w *guarded.World, way *Way) {
			machine(w, way)
			way.Flow, way.ClientSecret = FlowSecret, w.Secret("client secret")+"/+%"
			w.First.Know(guarded.Client{ID: knownID, Secret: way.ClientSecret})
			w.First.Metadata["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
		}, func(v *View) { judgeMachine(v, "C-XAUTH-01/secret", "client_secret_basic") }).optional(),
		scenario("C-MACHINE-KEY", func(w *guarded.World, way *Way) {
			machine(w, way)
			key, private := newKey()
			way.Flow, way.PrivateKey = FlowKey, private
			w.First.Key = key
			w.First.Know(guarded.Client{ID: knownID})
			w.First.Metadata["token_endpoint_auth_methods_supported"] = []string{"private_key_jwt"}
			w.First.Metadata["token_endpoint_auth_signing_alg_values_supported"] = []string{"ES256"}
		}, func(v *View) { judgeMachine(v, "C-XAUTH-01/key", "private_key_jwt") }).optional(),
		scenario("C-DPOP", bound, func(v *View) {
			if !exchanged(v) {
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
		}).optional(),
		scenario("C-DPOP-NONCE", func(w *guarded.World, way *Way) {
			bound(w, way)
			w.Nonce, w.First.Nonce = "nonce-of-the-server", "nonce-of-the-authorization-server"
		}, func(v *View) {
			if exchanged(v) {
				judgeProofs(v, "C-XAUTH-03/nonce")
			}
		}).optional(),
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

func judgeMachine(v *View, id, want string) {
	asked := v.Tokens("client_credentials")
	if len(asked) == 0 {
		v.Check(id, false, "a token request with client_credentials", "none")
		return
	}
	got, _, _ := guarded.Used(asked[0])
	resource := v.Base + guarded.Endpoint
	ok := got == want && asked[0].Form.Get("resource") == resource && len(v.Problems()) == 0 && (v.outcome(0) == "result" || !v.Tells)
	v.Check(id, ok, want+", resource="+resource+", and the result",
		fmt.Sprintf("%s, resource=%s, %s%s", got, asked[0].Form.Get("resource"), names(v.Problems()), said(v.outcome(0))))
}

func judgeProofs(v *View, id string) {
	passed := 0
	for _, r := range v.Messages() {
		if r.Header.Get("DPoP") != "" && !r.Refused() {
			passed++
		}
	}
	calls := v.Calls("echo")
	served := slices.ContainsFunc(calls, func(r *guarded.Request) bool { return !r.Refused() }) && (v.outcome(0) == "result" || !v.Tells)
	v.Check(id, served && passed > 0 && len(v.Problems()) == 0 && len(calls) <= 2, "right proofs, and the result",
		fmt.Sprintf("%s with a proof, %s, %s%s", count(passed, "request"), count(len(calls), "call"), names(v.Problems()), said(v.outcome(0))))
}
