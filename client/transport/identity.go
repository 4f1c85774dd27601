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
	parts := append(append([]string{"command", c.Dir, fmt.Sprint(c.Inherit)}, c.Argv...), c.Env...)
	return digest(strings.Join(parts, "\x00"))
}

// Identity implements [Identified]: a digest of the whole URL.
func (h *HTTP) Identity() string { return digest("http\x00" + h.URL) }

// Identity implements [Identified]: every stream is a server of its own.
func (s *Stream) Identity() string { return fmt.Sprintf("stream %p", s) }

// digest keeps the secrets that arguments and addresses may hold out of maps
// and dumps.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
