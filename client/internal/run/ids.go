package run

import (
	"crypto/rand"
	"encoding/hex"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// idSource makes request ids: UUID v4 strings, so that ids never repeat, even across reconnects
// and processes. Ids are made in blocks that share one read of random bytes and one string, so an
// id costs only a share of an allocation. uuid.EnableRandPool would change the random source of
// the whole process.
type idSource struct{ block atomic.Pointer[tokenBlock] }

type tokenBlock struct {
	tokens string // ids in JSON, one after the other
	taken  atomic.Int32
}

// idBlock is the number of ids in a block; tokenSize is the length of an id in JSON.
const (
	idBlock   = 32
	tokenSize = 38
)

// requestIDs serves all clients that have no generator of their own.
var requestIDs idSource

// NextID returns a new request id. It may be called from many goroutines at once.
func NextID() jsonrpc.ID { return requestIDs.next() }

// next returns a new id. It may be called from many goroutines at once.
func (s *idSource) next() jsonrpc.ID {
	for {
		b := s.block.Load()
		if b != nil {
			if n := int(b.taken.Add(1)); n <= idBlock {
				// The text is a valid JSON string: hexadecimal digits and hyphens.
				id, _ := jsonrpc.ParseID(b.tokens[(n-1)*tokenSize : n*tokenSize])
				return id
			}
		}
		s.block.CompareAndSwap(b, &tokenBlock{tokens: freshTokens()})
	}
}

func freshTokens() string {
	var random [idBlock * len(uuid.UUID{})]byte
	_, _ = rand.Read(random[:]) // never fails: it crashes the program instead
	tokens := make([]byte, 0, idBlock*tokenSize)
	for raw := random[:]; len(raw) > 0; raw = raw[len(uuid.UUID{}):] {
		u := uuid.UUID(raw[:len(uuid.UUID{})])
		u[6] = u[6]&0x0f | 0x40 // version 4
		u[8] = u[8]&0x3f | 0x80 // the variant of RFC 9562
		var text [36]byte
		hex.Encode(text[0:8], u[0:4])
		hex.Encode(text[9:13], u[4:6])
		hex.Encode(text[14:18], u[6:8])
		hex.Encode(text[19:23], u[8:10])
		hex.Encode(text[24:36], u[10:16])
		text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
		tokens = append(append(append(tokens, '"'), text[:]...), '"')
	}
	return string(tokens)
}
