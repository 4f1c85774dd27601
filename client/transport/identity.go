package transport

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
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

// digest keeps the secrets that arguments and addresses may hold out of maps
// and dumps.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
