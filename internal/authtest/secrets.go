package authtest

import (
	"net/http"
	"os"
	"slices"
	"strings"
)

// SecretsVariable is the variable of the environment that names a file for the secrets
// that programs send, a line each: a test scans the output of others for them.
const SecretsVariable = "MAINSTAY_TEST_SECRETS"

// secret notes what is secret in a request for a token. What the servers give out has
// "planted-secret" in it already.
func (w *World) secret(r *http.Request) {
	var found []string
	for _, name := range [...]string{"code_verifier", "assertion", "client_assertion", "subject_token"} {
		if value := r.PostForm.Get(name); value != "" {
			found = append(found, value)
		}
	}
	w.secrets = append(w.secrets, found...)
	Tell(found...)
}

// Tell writes secrets to the file of [SecretsVariable], if there is one.
func Tell(secrets ...string) {
	name := os.Getenv(SecretsVariable)
	if name == "" || len(secrets) == 0 {
		return
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err) //nolint:forbidigo // a scan for too little would find nothing
	}
	if _, err := file.WriteString(strings.Join(secrets, "\n") + "\n"); err != nil {
		panic(err) //nolint:forbidigo // the same
	}
	_ = file.Close() // its writes are not buffered
}

// Secrets are the verifiers and assertions that programs sent.
func (w *World) Secrets() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.secrets)
}
