package transport

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Identified is an optional interface of a [Transport] that returns a unique
// name of its server. The client stores what it learns about a server, such as
// its tools, under this name. String is for people, and two servers may share
// it.
type Identified interface{ Identity() string }

// Identity implements [Identified]. It returns a digest of the program, its
// arguments, its directory and the added environment.
func (c *Command) Identity() string {
	head := fmt.Sprintf("command %v %d", c.Inherit, len(c.Argv)) // or an argument may pass for a variable
	parts := append(append([]string{head, c.Dir}, c.Argv...), c.Env...)
	return digest(strings.Join(parts, "\x00"))
}

// Identity implements [Identified]. It returns a digest of the whole URL.
func (h *HTTP) Identity() string { return digest("http\x00" + h.URL) }

// Identity implements [Identified] in the same way as [HTTP].
func (s *SSE) Identity() string { return digest("sse\x00" + s.URL) }

// Identity implements [Identified]. Each stream is a different server.
func (s *Stream) Identity() string { return fmt.Sprintf("stream %p", s) }

// CredentialScoped is a [Transport] that knows which credentials its requests
// carry. A shared cache keeps the answers for one scope apart from those for
// another.
//
// Scope returns a name that does not reveal the credentials: "" means that the
// requests carry none. known is false if the transport cannot tell, for example
// because a RoundTripper may add credentials.
type CredentialScoped interface {
	Scope() (scope string, known bool)
}

// Scope implements [CredentialScoped]. It returns a digest of Header. known is
// false if a RoundTripper or a HeaderFunc is set, because both may add credentials.
func (h *HTTP) Scope() (scope string, known bool) {
	if h.HeaderFunc != nil {
		return "", false
	}
	return scopeOf(h.Header, h.RoundTripper)
}

// Scope implements [CredentialScoped] in the same way as [HTTP].
func (s *SSE) Scope() (scope string, known bool) {
	if s.HeaderFunc != nil {
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

// digest keeps the secrets that arguments and addresses may hold out of maps
// and dumps.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
