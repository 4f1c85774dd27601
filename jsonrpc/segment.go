package jsonrpc

import (
	"cmp"
	"slices"
)

// span is the position of a frame in the stream of a [writer].
type span struct{ from, to uint64 }

// segment is a run of bytes to write: many small frames, or one large one.
type segment struct {
	span
	small []byte
	large [3][]byte
	sent  int    // bytes from the start that were written or skipped
	begun bool   // no more frames may be added
	holes []span // frames taken back, in order, without those that were skipped
}

// drop removes a frame of which nothing was written.
func (s *segment) drop(at span) {
	s.large = [3][]byte{} // a single frame, whose memory belongs to the caller again
	i, there := slices.BinarySearchFunc(s.holes, at, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	if !there {
		s.holes = slices.Insert(s.holes, i, at)
	}
}

// rest skips holes and returns the bytes up to the next one.
func (s *segment) rest() []byte {
	for len(s.holes) > 0 && s.holes[0].from == s.from+uint64(s.sent) {
		s.sent = int(s.holes[0].to - s.from)
		s.holes = s.holes[1:]
	}
	if s.small != nil {
		end := len(s.small)
		if len(s.holes) > 0 {
			end = int(s.holes[0].from - s.from)
		}
		return s.small[s.sent:end]
	}
	skip := s.sent
	for _, part := range s.large {
		if skip < len(part) {
			return part[skip:]
		}
		skip -= len(part)
	}
	return nil
}
