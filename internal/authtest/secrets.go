package authtest

import (
	"net/http"
	"os"
	"slices"
	"strings"
)

// SecretsVariable is the environment variable with the path of a file for the secrets that
// programs send, one in each line. A test scans the output of other tests for them.
const SecretsVariable = "MAINSTAY_TEST_SECRETS"

// secret records the secrets of a token request. The secrets of the servers contain
// "planted-secret" already.
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

// Secrets returns the verifiers and assertions that programs sent.
func (w *World) Secrets() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.secrets)
}
