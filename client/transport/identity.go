package transport

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Identified is a [Transport] that can be told from every other one: what is
// learnt from a server, such as its tools, is kept by this. String is for
// people, and two servers may share it.
type Identified interface{ Identity() string }

// Identity implements [Identified]: a digest of the program, its arguments, its
// folder and what is added to its environment.
func (c *Command) Identity() string {
	head := fmt.Sprintf("command %v %d", c.Inherit, len(c.Argv)) // or an argument may pass for a variable
	parts := append(append([]string{head, c.Dir}, c.Argv...), c.Env...)
	return digest(strings.Join(parts, "\x00"))
}

// Identity implements [Identified]: a digest of the whole URL.
func (h *HTTP) Identity() string { return digest("http\x00" + h.URL) }

// Identity implements [Identified], as that of [HTTP].
func (s *SSE) Identity() string { return digest("sse\x00" + s.URL) }

// Identity implements [Identified]: every stream is a server of its own.
func (s *Stream) Identity() string { return fmt.Sprintf("stream %p", s) }

// Called is a [Transport] that can tell callers apart, without telling who they
// are: what a server said to one is not for another. caller is "" for
// nobody in particular; known is false where it cannot be told.
type Called interface {
	Caller() (caller string, known bool)
}

// Caller implements [Called]: a digest of Header, all of which may say who asks.
// It is not known where a RoundTripper or a HeaderFunc may add what it likes.
func (h *HTTP) Caller() (caller string, known bool) {
	if h.HeaderFunc != nil {
		return "", false
	}
	return callerOf(h.Header, h.RoundTripper)
}

// Caller implements [Called], as that of [HTTP].
func (s *SSE) Caller() (caller string, known bool) {
	if s.HeaderFunc != nil {
		return "", false
	}
	return callerOf(s.Header, s.RoundTripper)
}

func callerOf(header http.Header, rt http.RoundTripper) (caller string, known bool) {
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
