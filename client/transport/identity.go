package transport

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Identity returns a digest of the program, its arguments, its directory and the
// added environment.
func (c *Command) Identity() string {
	head := fmt.Sprintf("command %v %d", c.Inherit, len(c.Argv)) // the count separates arguments from variables
	parts := append(append([]string{head, c.Dir}, c.Argv...), c.Env...)
	return digest(strings.Join(parts, "\x00"))
}

// Identity returns a digest of the whole URL.
func (h *HTTP) Identity() string { return digest("http\x00" + h.URL) }

// Identity returns a digest of the whole URL.
func (s *SSE) Identity() string { return digest("sse\x00" + s.URL) }

// Identity returns a name for this stream: each one is a different server.
func (s *Stream) Identity() string { return fmt.Sprintf("stream %p", s) }

// Scope returns a digest of Header, which separates callers in a shared cache; it is empty
// without credentials. known is false if a RoundTripper, a HeaderFunc or an Authorizer is set,
// because each may add credentials.
func (h *HTTP) Scope() (scope string, known bool) {
	if h.HeaderFunc != nil || h.Authorizer != nil {
		return "", false
	}
	return scopeOf(h.Header, h.RoundTripper)
}

// Scope returns a digest of Header; see [HTTP.Scope].
func (s *SSE) Scope() (scope string, known bool) {
	if s.HeaderFunc != nil || s.Authorizer != nil {
		return "", false
	}
	return scopeOf(s.Header, s.RoundTripper)
}

func scopeOf(header http.Header, rt http.RoundTripper) (scope string, known bool) {
	if rt != nil {
		return "", false
	}
	if len(header) == 0 {
		return "", true
	}
	return digestOf(header), true
}

func digestOf(header http.Header) string {
	var lines []string
	for name, values := range header {
		lines = append(lines, fmt.Sprintf("%q %q", http.CanonicalHeaderKey(name), values))
	}
	slices.Sort(lines)
	return digest(strings.Join(lines, "\n"))
}

// digest keeps the secrets in arguments and addresses out of maps and dumps.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
