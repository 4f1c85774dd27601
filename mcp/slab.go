package mcp

// slab allocates values in blocks that grow, so that a thousand values take few
// allocations and one value takes no extra memory. A block stays in memory as long
// as one of its values.
type slab[T any] struct {
	free []T
	last int // the size of the last block
}

const maxSlab = 64

func (s *slab[T]) next() *T {
	if len(s.free) == 0 {
		s.last = min(max(1, 2*s.last), maxSlab)
		s.free = make([]T, s.last)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}
