package client

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"sync"

	"github.com/google/uuid"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// idSource makes request ids: UUID v4 strings (AC-001.5, decisions 9), so that
// ids never repeat, not even across reconnects and processes. Randomness is
// read in blocks, which makes an id cheap; uuid.EnableRandPool would do the
// same for the whole process, which is not ours to decide.
type idSource struct {
	mu     sync.Mutex
	random *bufio.Reader
}

func newIDSource() *idSource {
	const block = 64 * len(uuid.UUID{})
	return &idSource{random: bufio.NewReaderSize(rand.Reader, block)}
}

// next returns a fresh id. Safe for concurrent use.
func (s *idSource) next() jsonrpc.ID {
	s.mu.Lock()
	u, err := uuid.NewRandomFromReader(s.random)
	s.mu.Unlock()
	if err != nil {
		// crypto/rand never fails: it ends the program instead.
		return jsonrpc.StringID(uuid.NewString())
	}
	var text [36]byte
	hex.Encode(text[0:8], u[0:4])
	hex.Encode(text[9:13], u[4:6])
	hex.Encode(text[14:18], u[6:8])
	hex.Encode(text[19:23], u[8:10])
	hex.Encode(text[24:36], u[10:16])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return jsonrpc.StringID(text[:])
}
